// A grid that does not depend on the size.
// kb: launch axpy grid=(sm_count*4) block=(512) args=(x, y, n)

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = 2 * x[i] + 1;
}
