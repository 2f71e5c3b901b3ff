// expect: launch_failed. 2048 threads a block. Seen: wafer.ai: a launch over the limit does
// nothing, "104x".
// kb: launch axpy grid=(cdiv(n,2048)) block=(2048) args=(x, y, n)

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 2 * x[i] + 1;
}
