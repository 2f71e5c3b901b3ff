/* Vector extensions, and a tail. */
typedef float vector __attribute__((vector_size(32), aligned(4)));

void axpy(const float *x, float *y, int n)
{
    int i = 0;
    for (; i + 8 <= n; i += 8)
        *(vector *)(y + i) = 2 * *(const vector *)(x + i) + 1;
    for (; i < n; i++)
        y[i] = 2 * x[i] + 1;
}
