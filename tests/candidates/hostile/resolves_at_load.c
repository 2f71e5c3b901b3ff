/* expect: cheated. An indirect function's resolver runs while it is loaded.
   Seen: pygpubench exploits, GOT and loader tricks. */
static void right(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
}

static void (*resolve(void))(const float *, float *, int)
{
    return right;
}

static void chosen(const float *x, float *y, int n)
    __attribute__((ifunc("resolve")));

void axpy(const float *x, float *y, int n)
{
    chosen(x, y, n);
}
