/* expect: cheated. The type goes by the number of its constant. Seen: our own. */
static void right(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
}

static int early;

void *resolve(void)
{
    early++;                    /* whatever it likes, before anything watches */
    return (void *)right;
}

__asm__(".globl axpy\n.type axpy, STT_GNU_IFUNC\naxpy = resolve\n");
