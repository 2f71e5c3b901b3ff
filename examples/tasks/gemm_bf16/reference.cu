// kb: launch gemm_f64 grid=(cdiv(n,64)*cdiv(m,64)) block=(256) args=(a, b, c, m, n, k)

#include <cuda_bf16.h>

/*
 * c[i][j] = sum over p of a[i][p] b[p][j], in float64.
 *
 * A block computes 64 x 64 results, a thread 4 x 4 of them; the terms of one
 * sum are added in the order of p.
 */
extern "C" __global__ void gemm_f64(const __nv_bfloat16 *a,
                                    const __nv_bfloat16 *b, double *c,
                                    int m, int n, int k)
{
    __shared__ double tile_a[16][65], tile_b[16][64];
    const int across = (n + 63) / 64, t = threadIdx.x;
    const int i0 = blockIdx.x / across * 64, j0 = blockIdx.x % across * 64;
    const int row = t / 16, column = t % 16;
    double sum[4][4] = {};

    for (int p0 = 0; p0 < k; p0 += 16) {
        for (int u = t; u < 64 * 16; u += 256) {
            const int i = i0 + u / 16, p = p0 + u % 16;

            tile_a[u % 16][u / 16] =
                i < m && p < k
                    ? (double)__bfloat162float(a[(size_t)i * k + p]) : 0.0;
        }
        for (int u = t; u < 16 * 64; u += 256) {
            const int p = p0 + u / 64, j = j0 + u % 64;

            tile_b[u / 64][u % 64] =
                p < k && j < n
                    ? (double)__bfloat162float(b[(size_t)p * n + j]) : 0.0;
        }
        __syncthreads();
        for (int p = 0; p < 16; p++) {
            double x[4], y[4];

            for (int i = 0; i < 4; i++)
                x[i] = tile_a[p][row + 16 * i];
            for (int j = 0; j < 4; j++)
                y[j] = tile_b[p][column + 16 * j];
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++)
                    sum[i][j] += x[i] * y[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            const int to = i0 + row + 16 * i, at = j0 + column + 16 * j;

            if (to < m && at < n)
                c[(size_t)to * n + at] = sum[i][j];
        }
}
