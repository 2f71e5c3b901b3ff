/* expect: cheated. The resolver of an exported indirect function is called by the
   loader; its relocation looks like that of any function. Seen: our own. */
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

void axpy(const float *x, float *y, int n) __attribute__((ifunc("resolve")));
