/* expect: crashed. Seen: pygpubench exploits, signal tricks. */
#include <signal.h>

void axpy(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
    raise(SIGSEGV);
}
