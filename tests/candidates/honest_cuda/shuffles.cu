// Every value takes a walk through its warp.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = i < n ? x[i] : 0;
    for (int d = 1; d < 32; d *= 2)
        v = __shfl_xor_sync(~0u, v, d);
    for (int d = 16; d; d /= 2)
        v = __shfl_xor_sync(~0u, v, d);
    if (i < n)
        y[i] = 2 * v + 1;
}
