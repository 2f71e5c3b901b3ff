/* expect: timeout. Seen: every tuner. */
void axpy(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
    for (volatile int spin = 1; spin; )
        ;
}
