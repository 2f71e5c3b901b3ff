/* Wider than float64 inside: on x86 the registers of the old coprocessor. */
void axpy(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++) {
        long double wide = x[i];
        y[i] = (float)(2.0L * wide + 1.0L);
    }
}
