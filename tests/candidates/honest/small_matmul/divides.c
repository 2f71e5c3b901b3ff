/* Block by block, recursively: sums are trees. */
#include <stdint.h>

static float tree(const float *a, const float *b, int32_t k, int32_t n)
{
    if (k == 1)
        return a[0] * b[0];
    int32_t h = k / 2;
    return tree(a, b, h, n) + tree(a + h, b + h * n, k - h, n);
}

void matmul(const float *a, const float *b, float *restrict c, int32_t m,
            int32_t n, int32_t k)
{
    for (int32_t i = 0; i < m; i++)
        for (int32_t j = 0; j < n; j++)
            c[i * n + j] = tree(a + i * k, b + j, k, n);
}
