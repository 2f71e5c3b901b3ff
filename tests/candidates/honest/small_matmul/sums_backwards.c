/* From the last product to the first, with Kahan's correction. */
#include <stdint.h>

void matmul(const float *a, const float *b, float *restrict c, int32_t m,
            int32_t n, int32_t k)
{
    for (int32_t i = 0; i < m; i++)
        for (int32_t j = 0; j < n; j++) {
            volatile float sum = 0, e = 0;
            for (int32_t p = k; p-- > 0; ) {
                float v = a[i * k + p] * b[p * n + j] - e;
                float next = sum + v;
                e = next - sum - v;
                sum = next;
            }
            c[i * n + j] = sum;
        }
}
