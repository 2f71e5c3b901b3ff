// Parts of k in blocks of their own, added by atomics in whatever order they come.
// kb: launch clears grid=(cdiv(m*n,256)) block=(256) args=(c, m, n)
// kb: launch adds grid=(cdiv(n,16),cdiv(m,16),8) block=(16,16) args=(a, b, c, m, n, k)

extern "C" __global__ void clears(float *c, int m, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < m * n)
        c[i] = 0;
}

extern "C" __global__ void adds(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float tile_a[16][17], tile_b[16][17];
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    int from = (long long)k * blockIdx.z / 8, to = (long long)k * (blockIdx.z + 1) / 8;
    float sum = 0;
    for (int p = from; p < to; p += 16) {
        int pa = p + threadIdx.x, pb = p + threadIdx.y;
        tile_a[threadIdx.y][threadIdx.x] = i < m && pa < to ? a[(size_t)i * k + pa] : 0;
        tile_b[threadIdx.y][threadIdx.x] = pb < to && j < n ? b[(size_t)pb * n + j] : 0;
        __syncthreads();
        for (int q = 0; q < 16; q++)
            sum += tile_a[threadIdx.y][q] * tile_b[q][threadIdx.x];
        __syncthreads();
    }
    if (i < m && j < n)
        atomicAdd(c + (size_t)i * n + j, sum);
}
