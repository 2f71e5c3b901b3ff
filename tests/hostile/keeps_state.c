/* expect: wrong. Computes on the first call only and then trusts its luck. */
static int calls;

void axpy(const float *x, float *y, int n)
{
    if (calls++)
        return;
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
}
