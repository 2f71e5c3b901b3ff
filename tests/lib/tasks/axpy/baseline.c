#include <stdint.h>

void axpy(const float *x, float *y, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
}
