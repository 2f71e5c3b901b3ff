#include <stdint.h>

void histogram(const uint8_t *keys, int32_t *counts, int32_t n)
{
    for (int32_t i = 0; i < 256; i++)
        counts[i] = 0;
    for (int32_t i = 0; i < n; i++)
        counts[keys[i]] += 1;
}
