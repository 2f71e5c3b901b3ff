/* expect: build_failed. Half a gigabyte of zeros in the object. Seen: our own. */
char bomb[1 << 29] = { 1 };

void axpy(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + bomb[0];
}
