/* expect: wrong. Counts its batches by the first output's address and does
   nothing in those that are likely to be timed, but for the last. Seen:
   reference-kernels PR 104; kernelbench.com, environment sniffing. */
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
