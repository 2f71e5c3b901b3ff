// kb: scratch s f32[heads*seq*seq]
// kb: launch scores grid=(cdiv(seq,16),cdiv(seq,16),heads) block=(16,16) args=(q, k, s, seq)
// kb: launch softmax grid=(heads*seq) block=(128) args=(s, seq)
// kb: launch values grid=(heads*seq) block=(128) args=(s, v, o, seq)

#include <cuda_bf16.h>

typedef __nv_bfloat16 bf16;
typedef __nv_bfloat162 bf16x2;

/* 1 / sqrt(128) */
#define SCALE 0.088388347648318447f

/* One score a thread, for the keys up to the query. */
extern "C" __global__ void scores(const bf16 *q, const bf16 *k, float *s,
                                  int seq)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = blockIdx.y * blockDim.y + threadIdx.y;
    const size_t head = blockIdx.z;
    const bf16 *x = q + (head * seq + i) * 128, *y = k + (head * seq + j) * 128;
    float sum = 0.0f;

    if (i >= seq || j > i)
        return;
    for (int d = 0; d < 128; d++)
        sum += __bfloat162float(x[d]) * __bfloat162float(y[d]);
    s[(head * seq + i) * seq + j] = sum * SCALE;
}

/* One row a block of 128 threads. */
extern "C" __global__ void softmax(float *s, int seq)
{
    __shared__ float part[128];
    const size_t row = blockIdx.x;
    const int n = row % seq + 1, t = threadIdx.x;
    float *x = s + row * seq;
    float top = x[0], sum = 0.0f;

    for (int j = t; j < n; j += 128)
        top = fmaxf(top, x[j]);
    part[t] = top;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (t < half)
            part[t] = fmaxf(part[t], part[t + half]);
        __syncthreads();
    }
    top = part[0];
    __syncthreads();
    for (int j = t; j < n; j += 128)
        sum += expf(x[j] - top);
    part[t] = sum;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (t < half)
            part[t] += part[t + half];
        __syncthreads();
    }
    for (int j = t; j < n; j += 128)
        x[j] = expf(x[j] - top) / part[0];
}

/* One result a thread, 128 threads a query. */
extern "C" __global__ void values(const float *s, const bf16 *v, bf16 *o,
                                  int seq)
{
    const size_t row = blockIdx.x, head = row / seq;
    const int n = row % seq + 1, d = threadIdx.x;
    float sum = 0.0f;

    for (int j = 0; j < n; j++)
        sum += s[row * seq + j]
             * __bfloat162float(v[(head * seq + j) * 128 + d]);
    o[row * 128 + d] = __float2bfloat16(sum);
}
