/* longjmp and setjmp within one call. */
#include <setjmp.h>

void axpy(const float *x, float *y, int n)
{
    jmp_buf again;
    volatile int i = 0;
    if (setjmp(again) && i >= n)
        return;
    for (int end = i + 4096 < n ? i + 4096 : n; i < end; i++)
        y[i] = 2 * x[i] + 1;
    longjmp(again, 1);
}
