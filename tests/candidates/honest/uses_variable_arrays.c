/* A block as large as the array allows, on the stack. */
void axpy(const float *x, float *y, int n)
{
    int size = n < 4096 ? n : 4096;
    float block[size];
    for (int at = 0; at < n; at += size) {
        int part = n - at < size ? n - at : size;
        for (int i = 0; i < part; i++)
            block[i] = 2 * x[at + i];
        for (int i = 0; i < part; i++)
            y[at + i] = block[i] + 1;
    }
}
