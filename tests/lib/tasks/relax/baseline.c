void relax(float *y, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 8; k++)
            y[i] = 1 / (1 + y[i] * y[i]);
}
