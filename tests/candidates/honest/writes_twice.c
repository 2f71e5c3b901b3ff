/* Writes nonsense first and the answer over it. */
#include <string.h>

void axpy(const float *x, float *y, int n)
{
    memset(y, 0x7f, 4ul * (unsigned)n);
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
}
