/* Runs with denormals flushed to zero, as GPUs and fast-math code do, and puts
   the mode back. */
#if defined __x86_64__
#include <xmmintrin.h>
#endif

void axpy(const float *x, float *y, int n)
{
#if defined __x86_64__
    unsigned mode = _mm_getcsr();
    _mm_setcsr(mode | 0x8040);
#endif
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
#if defined __x86_64__
    _mm_setcsr(mode);
#endif
}
