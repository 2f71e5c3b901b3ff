// Contiguous writes, strided reads.
// kb: launch transpose grid=(cdiv(rows*cols,256)) block=(256) args=(x, y, rows, cols)

extern "C" __global__ void transpose(const float *x, float *y, int rows, int cols)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < rows * cols)
        y[i] = x[i % rows * cols + i / rows];
}
