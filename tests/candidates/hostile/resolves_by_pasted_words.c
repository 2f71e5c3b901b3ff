/* expect: cheated. The attribute is pasted together by the preprocessor. Seen: our
   own. */
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

#define GLUE(a, b, c) a##b##c
#define ATTRIBUTE(name, value) __attribute__((name(value)))
void axpy(const float *x, float *y, int n)
    ATTRIBUTE(GLUE(__if, unc, __), "reso" "lve");
