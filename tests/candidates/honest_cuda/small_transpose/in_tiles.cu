// Through shared memory, bits as integers.
// kb: launch transpose grid=(cdiv(cols,32),cdiv(rows,32)) block=(32,8) args=(x, y, rows, cols)

extern "C" __global__ void transpose(const float *x, float *y, int rows, int cols)
{
    __shared__ unsigned tile[32][33];
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8)
        if (c < cols && r + k < rows)
            tile[threadIdx.y + k][threadIdx.x] = ((const unsigned *)x)[(r + k) * cols + c];
    __syncthreads();
    c = blockIdx.y * 32 + threadIdx.x, r = blockIdx.x * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8)
        if (c < rows && r + k < cols)
            ((unsigned *)y)[(r + k) * rows + c] = tile[threadIdx.x][threadIdx.y + k];
}
