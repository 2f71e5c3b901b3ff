// expect: launch_failed|crashed|build_failed. A megabyte of stack a thread. Seen: our own.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    volatile float here[1 << 17];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < (1 << 17); k++)
        here[k] = (float)(k + i);
    if (i < n)
        y[i] = 2 * x[i] + 1 + 0 * here[n & 65535];
}
