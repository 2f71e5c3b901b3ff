/* expect: no_gain. Looks whether the answer of an earlier call on the same
   output is still there, and would leave it: but no call meets an output of
   its sample again. Seen: kernelguard rule OUTPUT_REPLAY_CACHE. */
void axpy(const float *x, float *y, int n)
{
    int k = n / 2;
    if (y[0] == 2 * x[0] + 1 && y[k] == 2 * x[k] + 1
        && y[n - 1] == 2 * x[n - 1] + 1)
        return;
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
}
