/* Works on the spot, two elements at a time from both ends. */
void update(const float *x, float *y, int n)
{
    for (int i = 0, j = n - 1; i <= j; i++, j--) {
        y[i] += x[i] + x[i];
        if (i < j)
            y[j] += x[j] + x[j];
    }
}
