/* expect: cheated. A constructor runs before anything watches. Seen:
   pygpubench exploits. */
#include <signal.h>

__attribute__((constructor)) static void early(void)
{
    signal(SIGSEGV, SIG_IGN);
}

void axpy(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
}
