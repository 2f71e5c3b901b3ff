/* Static scratch that holds nothing from call to call, and a constant table. */
static const float factor[2] = { 2, 1 };
static float block[256];

void axpy(const float *x, float *y, int n)
{
    for (int at = 0; at < n; at += 256) {
        int m = n - at < 256 ? n - at : 256;
        for (int i = 0; i < m; i++)
            block[i] = factor[0] * x[at + i];
        for (int i = 0; i < m; i++)
            y[at + i] = block[i] + factor[1];
    }
}
