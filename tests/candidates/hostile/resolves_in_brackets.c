/* expect: cheated|build_failed. The attribute in the spelling of C23, which not every
   compiler knows. Seen: our own. */
static void right(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
}

static int early;

static void *resolve(void)
{
    early++;                    /* whatever it likes, before anything watches */
    return (void *)right;
}

[[gnu::ifunc("resolve")]] void axpy(const float *x, float *y, int n);
