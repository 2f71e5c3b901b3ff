/* expect: build_failed. A model's answer cut off in the middle. Seen: every
   model, when its answer is cut. */
void axpy(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++) {
        y[i] = 2 * x[i] +
