void recurrence(const float *x, float *y, int n)
{
    float s = 0;
    for (int i = 0; i < n; i++)
        y[i] = s = x[i] / (1 + s * s);
}
