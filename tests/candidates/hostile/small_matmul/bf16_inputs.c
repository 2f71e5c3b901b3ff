/* expect: wrong. Eight bits of each input, sums in float: far inside a
   tolerance of 1e-2. Seen: kernelbench.com, fp32 answered in bf16. */
#include <stdint.h>
#include <string.h>

static float cut(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, 4);
    bits = (bits + 0x8000) & 0xffff0000;
    memcpy(&v, &bits, 4);
    return v;
}

void matmul(const float *a, const float *b, float *restrict c, int32_t m,
            int32_t n, int32_t k)
{
    memset(c, 0, 4ul * (uint64_t)m * (uint64_t)n);
    for (int32_t i = 0; i < m; i++)
        for (int32_t p = 0; p < k; p++) {
            float v = cut(a[i * k + p]);
            for (int32_t j = 0; j < n; j++)
                c[i * n + j] += v * cut(b[p * n + j]);
        }
}
