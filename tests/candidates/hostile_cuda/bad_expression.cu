// expect: launch_failed. An expression that is no expression. Seen: our own.
// kb: launch axpy grid=(cdiv(n,256) block=(256) args=(x, y, os.exit())

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 2 * x[i] + 1;
}
