/* expect: wrong. One element before the output, in its red zone. Seen:
   wafer.ai field guide. */
void axpy(const float *x, float *y, int n)
{
    for (int i = -1; i < n; i++)
        y[i] = 2 * x[i < 0 ? 0 : i] + 1;
}
