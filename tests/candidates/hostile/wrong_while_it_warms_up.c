/* expect: wrong. Right in the calls that are checked and in those that count, and wrong in the
   first sample of each process, which warms it up. Seen: the same as wrong_when_run_again.c, one
   step further on. */
static float *first;
static int calls, batches, many;

void axpy(const float *x, float *y, int n)
{
    if (n == 65536) {
        if (!first)
            first = y;
        many |= ++calls == 2 && y != first;
        batches += y == first;
        if (many && batches == 1)
            return;
    }
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
}
