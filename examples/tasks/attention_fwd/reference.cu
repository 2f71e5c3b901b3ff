// kb: launch attention_f64 grid=(cdiv(seq,32)*heads) block=(256) shared=75264 args=(q, k, v, o, heads, seq)

#include <cuda_bf16.h>

typedef __nv_bfloat16 bf16;

#define MINUS_INFINITY __longlong_as_double(0xfff0000000000000ull)

enum { ROW = 129, WEIGHTS = 33 };

/* 32 rows of 128 from `row` on, of n; 0 where there is none. */
static __device__ void copy_rows(double *to, const bf16 *from, int row, int n)
{
    for (int t = threadIdx.x; t < 32 * 128; t += 256)
        to[t / 128 * ROW + t % 128] = row + t / 128 < n
            ? (double)__bfloat162float(from[(size_t)row * 128 + t]) : 0.0;
}

/*
 * o[i] = sum over j <= i of softmax(q[i] . k[j] / sqrt(128)) v[j], in float64.
 *
 * A block takes 32 queries of a head and visits the keys 32 at a time; sums are
 * relative to the largest score so far, and shrink as it grows.
 */
extern "C" __global__ void __launch_bounds__(256)
attention_f64(const bf16 *q, const bf16 *k, const bf16 *v, double *o,
              int heads, int seq)
{
    extern __shared__ double buffer[];
    double *const queries = buffer, *const rows = buffer + 32 * ROW;
    double *const weights = rows + 32 * ROW;
    double *const shrink = weights + 32 * WEIGHTS;
    const int blocks = (seq + 31) / 32, t = threadIdx.x;
    const int head = blockIdx.x / blocks;
    const int first = (blocks - 1 - blockIdx.x % blocks) * 32;
    double out[4][4] = {}, top = MINUS_INFINITY, total = 0.0;

    q += (size_t)head * seq * 128;
    k += (size_t)head * seq * 128;
    v += (size_t)head * seq * 128;
    o += (size_t)head * seq * 128;
    copy_rows(queries, q, first, seq);
    for (int key = 0; key < first + 32 && key < seq; key += 32) {
        __syncthreads();
        copy_rows(rows, k, key, seq);
        __syncthreads();

        /* Scores: queries t / 16 and 16 later, keys t % 16 and 16 later. */
        double score[2][2] = {};

        for (int d = 0; d < 128; d++) {
            const double x = queries[t / 16 * ROW + d];
            const double y = queries[(t / 16 + 16) * ROW + d];
            const double z = rows[t % 16 * ROW + d];
            const double u = rows[(t % 16 + 16) * ROW + d];

            score[0][0] += x * z;
            score[0][1] += x * u;
            score[1][0] += y * z;
            score[1][1] += y * u;
        }
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 2; j++) {
                const int row = t / 16 + 16 * i, column = t % 16 + 16 * j;

                weights[row * WEIGHTS + column] =
                    key + column <= first + row && key + column < seq
                        ? score[i][j] * 0.08838834764831844055 : MINUS_INFINITY;
            }
        __syncthreads();
        copy_rows(rows, v, key, seq);

        /* Weights: 8 threads a query, 4 keys each. */
        double *const mine = weights + t / 8 * WEIGHTS + t % 8 * 4;
        double most = top, sum = 0.0;

        for (int j = 0; j < 4; j++)
            most = fmax(most, mine[j]);
        for (int lane = 1; lane < 8; lane *= 2)
            most = fmax(most, __shfl_xor_sync(0xffffffffu, most, lane));
        for (int j = 0; j < 4; j++) {
            mine[j] = exp(mine[j] - most);
            sum += mine[j];
        }
        for (int lane = 1; lane < 8; lane *= 2)
            sum += __shfl_xor_sync(0xffffffffu, sum, lane);
        total = total * exp(top - most) + sum;
        if (t % 8 == 0)
            shrink[t / 8] = exp(top - most);
        top = most;
        __syncthreads();

        /* Results: queries t / 32 * 4 on, elements t % 32 and every 32nd. */
        for (int i = 0; i < 4; i++)
            for (int d = 0; d < 4; d++)
                out[i][d] *= shrink[t / 32 * 4 + i];
        for (int j = 0; j < 32; j++)
            for (int i = 0; i < 4; i++)
                for (int d = 0; d < 4; d++)
                    out[i][d] += weights[(t / 32 * 4 + i) * WEIGHTS + j]
                                 * rows[j * ROW + t % 32 + 32 * d];
    }
    __syncthreads();
    if (t % 8 == 0)
        shrink[t / 8] = total;
    __syncthreads();
    for (int i = 0; i < 4; i++)
        for (int d = 0; d < 4; d++) {
            const int row = t / 32 * 4 + i;

            if (first + row < seq)
                o[(size_t)(first + row) * 128 + t % 32 + 32 * d] =
                    out[i][d] / shrink[row];
        }
}
