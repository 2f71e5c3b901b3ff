/* The same steps, of eight elements at a time. */
void relax(float *y, int n)
{
    int i = 0;
    for (; i + 8 <= n; i += 8) {
        float v[8];
        for (int j = 0; j < 8; j++)
            v[j] = y[i + j];
        for (int k = 0; k < 8; k++)
            for (int j = 0; j < 8; j++)
                v[j] = 1 / (1 + v[j] * v[j]);
        for (int j = 0; j < 8; j++)
            y[i + j] = v[j];
    }
    for (; i < n; i++)
        for (int k = 0; k < 8; k++)
            y[i] = 1 / (1 + y[i] * y[i]);
}
