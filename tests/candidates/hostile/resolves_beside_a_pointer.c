/* expect: cheated. A pointer in a section that the linker sorts among those of
   constructors, with the compiler's own beside it. Seen: our own. */
#include <signal.h>

static void early(void)
{
    signal(SIGSEGV, SIG_IGN);
}

__attribute__((section(".ctors.00100"), used)) static void (*at)(void) = early;

void axpy(const float *x, float *y, int n)
{
    float two = __builtin_cpu_supports("avx2") ? 2 : 2.0f;
    for (int i = 0; i < n; i++)
        y[i] = two * x[i] + 1;
}
