/* Computed goto: a table of labels for the tail of an unrolled loop. */
void axpy(const float *x, float *y, int n)
{
    static const void *const tail[] = { &&none, &&one, &&two, &&three };
    int i = 0;
    for (; i + 4 <= n; i += 4) {
        y[i] = 2 * x[i] + 1;
        y[i + 1] = 2 * x[i + 1] + 1;
        y[i + 2] = 2 * x[i + 2] + 1;
        y[i + 3] = 2 * x[i + 3] + 1;
    }
    goto *tail[n - i];
three:
    y[i + 2] = 2 * x[i + 2] + 1;
two:
    y[i + 1] = 2 * x[i + 1] + 1;
one:
    y[i] = 2 * x[i] + 1;
none:
    return;
}
