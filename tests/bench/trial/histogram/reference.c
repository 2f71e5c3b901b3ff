#include <stdint.h>

void histogram_f64(const uint8_t *keys, double *counts, int32_t n)
{
    for (int32_t i = 0; i < 256; i++)
        counts[i] = 0;
    for (int32_t i = 0; i < n; i++)
        counts[keys[i]] += 1;
}
