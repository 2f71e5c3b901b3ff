/* expect: build_failed. A model's answer cut off in the middle. */
void axpy(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++) {
        y[i] = 2 * x[i] +
