void axpy(const float *x, float *y, int n)
{
    for (int k = 0; k < 80; k++)
        for (int i = 0; i < n; i++)
            ((volatile float *)y)[i] = 2 * x[i] + 1;
}
