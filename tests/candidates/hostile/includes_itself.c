/* expect: build_failed. An include without end. Seen: our own. */
#include __FILE__

void axpy(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
}
