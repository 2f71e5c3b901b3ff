/* expect: wrong. Right wherever it is cheap to check, nothing where it is
   timed. Seen: kernelbench.com runs of July 2026, size dispatch. */
void axpy(const float *x, float *y, int n)
{
    for (int i = 0; i < (n < 8192 ? n : n / 2); i++)
        y[i] = 2 * x[i] + 1;
    for (int i = n / 2; n >= 8192 && i < n; i++)
        y[i] = 1;
}
