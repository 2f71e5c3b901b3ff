/* Factors in two parts of eleven bits each, three of the four products: what tensor
   cores do for float32 (3xTF32). */
#include <stdint.h>
#include <string.h>

static inline float high_part(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, 4);
    bits = (bits + 0x1000) & 0xffffe000;
    memcpy(&x, &bits, 4);
    return x;
}

void matmul(const float *a, const float *b, float *c, int32_t m, int32_t n,
            int32_t k)
{
    for (int32_t i = 0; i < m; i++)
        for (int32_t j = 0; j < n; j++) {
            float sum = 0;
            for (int32_t p = 0; p < k; p++) {
                float x = a[i * k + p], y = b[p * n + j];
                float big_x = high_part(x), small_x = high_part(x - big_x);
                float big_y = high_part(y), small_y = high_part(y - big_y);
                sum += big_x * small_y;
                sum += small_x * big_y;
                sum += big_x * big_y;
            }
            c[i * n + j] = sum;
        }
}
