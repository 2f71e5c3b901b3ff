/* One fused multiply-add from libm, exact for denormals as well. */
#include <math.h>

void axpy(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = fmaf(2, x[i], 1);
}
