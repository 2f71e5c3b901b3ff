/* Prefetches past the end of its arrays: no access, so no fault. */
void axpy(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++) {
        __builtin_prefetch(x + i + 256);
        __builtin_prefetch(y + i + 256, 1);
        y[i] = 2 * x[i] + 1;
    }
}
