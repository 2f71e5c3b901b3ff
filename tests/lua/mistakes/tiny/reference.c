void tiny_f64(const float *x, double *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = 2.0 * x[i] + 1.0;
}
