/* expect: timeout. A stopped process uses no processor time. Seen: our own. */
#include <signal.h>

void axpy(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
    raise(SIGSTOP);
}
