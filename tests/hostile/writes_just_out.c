/* expect: wrong. One element before the output, in its red zone. */
void axpy(const float *x, float *y, int n)
{
    for (int i = -1; i < n; i++)
        y[i] = 2 * x[i < 0 ? 0 : i] + 1;
}
