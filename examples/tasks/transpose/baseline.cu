// kb: launch transpose grid=(cdiv(cols, 32)*cdiv(rows, 8)) block=(32, 8) args=(x, y, rows, cols)

extern "C" __global__ void transpose(const float *x, float *y, int rows, int cols)
{
    const int across = (cols + 31) / 32;
    const int c = blockIdx.x % across * 32 + threadIdx.x;
    const int r = blockIdx.x / across * 8 + threadIdx.y;

    if (r < rows && c < cols)
        y[size_t(c) * rows + r] = x[size_t(r) * cols + c];
}
