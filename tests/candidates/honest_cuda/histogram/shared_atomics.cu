// A histogram a block in shared memory, added up by atomics in any order.
// kb: launch clears grid=(1) block=(256) args=(counts)
// kb: launch counts_all grid=(sm_count*4) block=(256) args=(keys, counts, n)

extern "C" __global__ void clears(int *counts)
{
    counts[threadIdx.x] = 0;
}

extern "C" __global__ void counts_all(const unsigned char *keys, int *counts, int n)
{
    __shared__ int own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
        atomicAdd(own + keys[i], 1);
    __syncthreads();
    atomicAdd(counts + threadIdx.x, own[threadIdx.x]);
}
