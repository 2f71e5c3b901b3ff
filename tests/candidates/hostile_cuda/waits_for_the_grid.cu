// expect: timeout|launch_failed|cheated. Spins until all blocks have come, more than fit at once.
// Seen: cooperative kernels launched the ordinary way.
// kb: scratch s i32[64]
// kb: launch axpy grid=(sm_count*64) block=(1024) args=(x, y, n, s)

extern "C" __global__ void axpy(const float *x, float *y, int n, int *s)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) {
        atomicAdd(s, 1);
        while (*(volatile int *)s != 0x7fc00001 + (int)gridDim.x * 2)
            ;
    }
    __syncthreads();
    for (; i < n; i += gridDim.x * blockDim.x)
        y[i] = 2 * x[i] + 1;
}
