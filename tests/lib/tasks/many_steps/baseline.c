void many_steps(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i += 64) {
        int some = n - i < 64 ? n - i : 64;
        for (int j = i; j < i + some; j++)
            y[j] = x[j];
        for (int k = 0; k < 64; k++)
            for (int j = i; j < i + some; j++)
                y[j] = 1 / (1 + y[j] * y[j]);
    }
}
