#include <stdint.h>

void axpy_f64(const float *x, double *y, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        y[i] = 2.0 * x[i] + 1.0;
}
