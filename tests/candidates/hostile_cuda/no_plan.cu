// expect: launch_failed. Nothing says how to launch it. Seen: our own.

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 2 * x[i] + 1;
}
