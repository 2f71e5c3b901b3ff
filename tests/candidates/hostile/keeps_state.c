/* expect: wrong. Computes on the first call only and then trusts its luck.
   Seen: reference-kernels PR 104, batch and skip. */
static int calls;

void axpy(const float *x, float *y, int n)
{
    if (calls++)
        return;
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
}
