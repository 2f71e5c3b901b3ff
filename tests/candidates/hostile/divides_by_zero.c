/* expect: crashed. Seen: every model. */
static volatile int zero;

void axpy(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
    y[0] = (float)(n / zero);
}
