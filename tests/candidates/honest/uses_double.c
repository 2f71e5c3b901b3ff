/* Computes in double and rounds once. */
void axpy(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = (float)(2.0 * (double)x[i] + 1.0);
}
