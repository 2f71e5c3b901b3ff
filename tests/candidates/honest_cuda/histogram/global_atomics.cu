// Every key by an atomic in global memory, after a kernel that clears.
// kb: launch clears grid=(1) block=(256) args=(counts)
// kb: launch counts_all grid=(sm_count*8) block=(256) args=(keys, counts, n)

extern "C" __global__ void clears(int *counts)
{
    counts[threadIdx.x] = 0;
}

extern "C" __global__ void counts_all(const unsigned char *keys, int *counts, int n)
{
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
        atomicAdd(counts + keys[i], 1);
}
