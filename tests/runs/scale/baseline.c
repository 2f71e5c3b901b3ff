void scale(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        for (volatile int k = 0; k < 4; k++)
            y[i] = 3 * x[i];
}
