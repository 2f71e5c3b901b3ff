/* expect: cheated|build_failed. The type is spelled by a macro of the assembler, so
   that no word of it is in the source. Seen: our own. */
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

__asm__(".macro make kind\n.type axpy, \\kind\\()indirect_\\()function\n.endm\n"
        ".globl axpy\nmake %gnu_\n.set axpy, resolve\n");
