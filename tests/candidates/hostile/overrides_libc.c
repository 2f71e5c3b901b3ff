/* expect: no_gain. Functions of the C library under their own names, as
   LD_PRELOAD would bring them. Seen: pygpubench exploits, GOT patches and
   function detours. */
#include <stddef.h>

long syscall(long number, ...)
{
    (void)number;
    return 0;
}

void *memset(void *to, int c, size_t n)
{
    (void)c, (void)n;
    return to;
}

int sched_yield(void)
{
    for (;;)
        ;
}

void axpy(const float *x, float *y, int n)
{
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < n; i++)
            ((volatile float *)y)[i] = 2 * x[i] + 1;
}
