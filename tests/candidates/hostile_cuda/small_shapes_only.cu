// expect: wrong. Half of the work where it is timed. Seen: AgentKernelArena (arXiv 2605.16819).
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && (n < 8192 || i < n / 2))
        y[i] = 2 * x[i] + 1;
}
