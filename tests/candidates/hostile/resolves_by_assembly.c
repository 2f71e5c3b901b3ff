/* expect: cheated. No attribute: the assembler is told the symbol's type, in words
   that stand apart. Seen: our own. */
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

__asm__(".globl axpy\n.type axpy, @gnu_" "indirect_" "function\n"
        ".set axpy, resolve\n");
