/* expect: wrong. Right in the calls that are checked and in those that count, and wrong
   in those between, by which the length of a sample is found. Seen: skips_timed_batches.c, which
   was so, and ok, where the machine was busy. */
static float *first;
static int batches;

void axpy(const float *x, float *y, int n)
{
    if (n == 65536) {
        if (!first)
            first = y;
        batches += y == first;
        if (batches > 4 && batches < 16)
            return;
    }
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
}
