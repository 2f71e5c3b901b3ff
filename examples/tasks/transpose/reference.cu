// kb: launch transpose_f64 grid=(cdiv(cols, 32)*cdiv(rows, 32)) block=(32, 8) args=(x, y, rows, cols)

extern "C" __global__ void transpose_f64(const float *x, double *y, int rows, int cols)
{
    __shared__ float tile[32][33];
    const int across = (cols + 31) / 32;
    const int c0 = blockIdx.x % across * 32, r0 = blockIdx.x / across * 32;

    for (int i = threadIdx.y; i < 32; i += 8)
        if (r0 + i < rows && c0 + threadIdx.x < cols)
            tile[i][threadIdx.x] = x[size_t(r0 + i) * cols + c0 + threadIdx.x];
    __syncthreads();
    for (int i = threadIdx.y; i < 32; i += 8)
        if (c0 + i < cols && r0 + threadIdx.x < rows)
            y[size_t(c0 + i) * rows + r0 + threadIdx.x] = tile[threadIdx.x][i];
}
