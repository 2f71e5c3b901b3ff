/* It asks for the processor itself: a constructor of the compiler's library looks when
   the object is loaded. */
__attribute__((target("avx2"), noinline))
static void wide(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
}

static void narrow(const float *x, float *y, int n)
{
    for (int i = n - 1; i >= 0; i--)
        y[i] = 2 * x[i] + 1;
}

void axpy(const float *x, float *y, int n)
{
    if (__builtin_cpu_supports("avx2"))
        wide(x, y, n);
    else
        narrow(x, y, n);
}
