/* Two passes over blocks: the output is first scratch, then result. */
void axpy(const float *x, float *y, int n)
{
    for (int at = 0; at < n; at += 512) {
        int end = at + 512 < n ? at + 512 : n;
        for (int i = at; i < end; i++)
            y[i] = x[i] + x[i];
        for (int i = at; i < end; i++)
            y[i] += 1;
    }
}
