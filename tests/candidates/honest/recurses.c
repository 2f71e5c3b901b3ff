/* Divides and conquers on the stack. */
static void half(const float *x, float *y, int n)
{
    if (n > 16) {
        half(x, y, n / 2);
        half(x + n / 2, y + n / 2, n - n / 2);
        return;
    }
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
}

void axpy(const float *x, float *y, int n)
{
    half(x, y, n);
}
