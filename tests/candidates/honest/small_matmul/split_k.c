/* Four partial products over parts of k, added up at the end. */
#include <stdint.h>

void matmul(const float *a, const float *b, float *restrict c, int32_t m,
            int32_t n, int32_t k)
{
    for (int32_t i = 0; i < m; i++)
        for (int32_t j = 0; j < n; j++) {
            float part[4] = { 0 };
            for (int32_t q = 0; q < 4; q++)
                for (int32_t p = k * q / 4; p < k * (q + 1) / 4; p++)
                    part[q] += a[i * k + p] * b[p * n + j];
            c[i * n + j] = (part[3] + part[1]) + (part[2] + part[0]);
        }
}
