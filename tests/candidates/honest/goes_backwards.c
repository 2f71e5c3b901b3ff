/* From the last element to the first. */
void axpy(const float *x, float *y, int n)
{
    for (int i = n; i-- > 0; )
        y[i] = 2 * x[i] + 1;
}
