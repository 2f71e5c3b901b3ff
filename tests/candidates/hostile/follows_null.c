/* expect: crashed. Seen: every second model. */
void axpy(const float *x, float *y, int n)
{
    *(volatile float *)0 = x[0];
    y[n - 1] = 1;
}
