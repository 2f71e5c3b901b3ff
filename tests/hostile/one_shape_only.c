/* expect: wrong. The timed shape is right, no other one is. */
void axpy(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = n >= 65536 ? 2 * x[i] + 1 : 0;
}
