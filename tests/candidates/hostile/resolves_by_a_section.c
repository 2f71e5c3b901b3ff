/* expect: cheated|build_failed. The name of a section carries directives, which gcc
   hands to the assembler as they are. Seen: our own. */
static void right(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
}

static int early;

__attribute__((used)) void *resolve(void)
{
    early++;
    return (void *)right;
}

__attribute__((section("kept,\"aw\"\n.globl axpy\n.type axpy, @gnu_indirect_function\n"
                       ".set axpy, resolve\n#"))) int unused = 1;
