// expect: launch_failed. The plan passes two of three. Seen: our own.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y)

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 2 * x[i] + 1;
}
