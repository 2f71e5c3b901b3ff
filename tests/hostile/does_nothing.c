/* expect: wrong. Stale memory might hold the answer of an earlier run. */
void axpy(const float *x, float *y, int n)
{
    (void)x, (void)y, (void)n;
}
