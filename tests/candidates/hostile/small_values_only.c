/* expect: wrong. A cheap formula that holds while inputs are small. Seen:
   kernelbench.com KDA run, a series cut when amax < 0.5; sonic_moe, FP8 when
   the first values are small. */
void axpy(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++) {
        float v = x[i] > 64 ? 64 : x[i] < -64 ? -64 : x[i];
        y[i] = 2 * v + 1;
    }
}
