/* Right, and several times slower than the baseline. */
void axpy(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++) {
        volatile float v = x[i];
        v = 2 * v;
        v = v + 1;
        y[i] = v;
    }
}
