/* expect: cheated. A resolver of its own under the name that target_clones gives to
   those of the compiler. Seen: our own. */
static void right(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
}

static int early;

void *resolve(void) __asm__("axpy.resolver");

__attribute__((used)) void *resolve(void)
{
    __builtin_cpu_init();
    early++;
    return (void *)right;
}

void axpy(const float *x, float *y, int n) __attribute__((ifunc("axpy.resolver")));
