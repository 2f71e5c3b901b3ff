// kb: launch histogram_clear grid=(1) block=(256) args=(counts)
// kb: launch histogram grid=(cdiv(n, 256)) block=(256) args=(keys, counts, n)

extern "C" __global__ void histogram_clear(int *counts)
{
    counts[threadIdx.x] = 0;
}

extern "C" __global__ void histogram(const unsigned char *keys, int *counts, int n)
{
    const long long i = blockIdx.x * 256LL + threadIdx.x;

    if (i < n)
        atomicAdd(counts + keys[i], 1);
}
