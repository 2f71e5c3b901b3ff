/* Compiled for several processors, with rows on the stack as long as they are. */
#include <stdint.h>

__attribute__((target_clones("default", "avx2")))
static void add_row(float *restrict sum, const float *restrict b, float a, int32_t n)
{
    for (int32_t j = 0; j < n; j++)
        sum[j] += a * b[j];
}

void matmul(const float *a, const float *b, float *c, int32_t m, int32_t n, int32_t k)
{
    float sum[n];
    for (int32_t i = 0; i < m; i++) {
        for (int32_t j = 0; j < n; j++)
            sum[j] = 0;
        for (int32_t p = 0; p < k; p++)
            add_row(sum, b + p * n, a[i * k + p], n);
        for (int32_t j = 0; j < n; j++)
            c[i * n + j] = sum[j];
    }
}
