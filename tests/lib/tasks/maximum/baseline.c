void maximum(const float *x, float *y, int n)
{
    float most = x[0];
    for (int i = 1; i < n; i++)
        most = x[i] > most ? x[i] : most;
    *y = most;
}
