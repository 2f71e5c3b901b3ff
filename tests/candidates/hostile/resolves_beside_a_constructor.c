/* expect: cheated. A constructor beside that of the compiler's library, which honest
   kernels that ask for the processor have. Seen: our own. */
#include <signal.h>

__attribute__((constructor)) static void early(void)
{
    signal(SIGSEGV, SIG_IGN);
}

void axpy(const float *x, float *y, int n)
{
    float two = __builtin_cpu_supports("avx2") ? 2 : 2.0f;
    for (int i = 0; i < n; i++)
        y[i] = two * x[i] + 1;
}
