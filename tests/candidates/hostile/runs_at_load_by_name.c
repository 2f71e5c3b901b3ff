/* expect: cheated. The linker takes a function of this name for one to run at
   load, and there is no section to see it by. Seen: our own. */
#include <signal.h>

void _init(void)
{
    raise(0);
}

void axpy(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
}
