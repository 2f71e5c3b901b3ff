// kb: launch histogram_f64_clear grid=(1) block=(256) args=(counts)
// kb: launch histogram_f64 grid=(4*sm_count) block=(256) args=(keys, counts, n)

extern "C" __global__ void histogram_f64_clear(double *counts)
{
    counts[threadIdx.x] = 0.0;
}

extern "C" __global__ void histogram_f64(const unsigned char *keys, double *counts, int n)
{
    __shared__ int table[256];

    table[threadIdx.x] = 0;
    __syncthreads();
    for (size_t i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
        atomicAdd(table + keys[i], 1);
    __syncthreads();
    atomicAdd(counts + threadIdx.x, double(table[threadIdx.x]));
}
