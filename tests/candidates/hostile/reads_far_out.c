/* expect: crashed. Reads its input a page too far. Seen: wafer.ai field guide. */
void axpy(const float *x, float *y, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
    for (int i = 0; i < 2048; i++)
        sum += ((const volatile float *)x)[n + i];
    if (sum == 12345)
        y[0] = 0;
}
