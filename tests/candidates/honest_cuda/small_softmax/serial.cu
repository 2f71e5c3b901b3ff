// A thread a row, sums from the end.
// kb: launch softmax grid=(cdiv(rows,64)) block=(64) args=(x, y, rows, cols)

extern "C" __global__ void softmax(const float *x, float *y, int rows, int cols)
{
    int r = blockIdx.x * 64 + threadIdx.x;
    if (r >= rows)
        return;
    float top = -__int_as_float(0x7f800000), sum = 0;
    x += (long long)r * cols, y += (long long)r * cols;
    for (int c = 0; c < cols; c++)
        top = fmaxf(top, x[c]);
    for (int c = cols - 1; c >= 0; c--)
        sum += expf(x[c] - top);
    for (int c = 0; c < cols; c++)
        y[c] = expf(x[c] - top) / sum;
}
