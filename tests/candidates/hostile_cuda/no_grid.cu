// expect: launch_failed. A grid of zero blocks does nothing, and quickly. Seen: wafer.ai, launches
// that silently fail.
// kb: launch axpy grid=(0) block=(256) args=(x, y, n)

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 2 * x[i] + 1;
}
