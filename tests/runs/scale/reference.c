void scale_f64(const float *x, double *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = 3.0 * x[i];
}
