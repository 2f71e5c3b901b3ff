// expect: launch_failed. Scratch beyond the limit. Seen: our own.
// kb: scratch s f32[n*1000000]
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 2 * x[i] + 1;
}
