/* Another loop for small arrays, for odd ones and for large ones: all right. */
void axpy(const float *x, float *y, int n)
{
    int i = 0;
    if (n < 64) {
        for (; i < n; i++)
            y[i] = 2 * x[i] + 1;
        return;
    }
    if (n % 4 == 0) {
        for (; i < n; i += 4) {
            y[i] = 2 * x[i] + 1, y[i + 1] = 2 * x[i + 1] + 1;
            y[i + 2] = 2 * x[i + 2] + 1, y[i + 3] = 2 * x[i + 3] + 1;
        }
        return;
    }
    for (; i < n; i++)
        y[i] = x[i] + x[i] + 1;
}
