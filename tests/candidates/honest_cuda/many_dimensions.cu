// A grid and a block of three dimensions.
// kb: launch axpy grid=(cdiv(n,1024),2,2) block=(8,8,4) args=(x, y, n)

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int block = (blockIdx.x * 2 + blockIdx.y) * 2 + blockIdx.z;
    int i = block * 256 + (threadIdx.z * 8 + threadIdx.y) * 8 + threadIdx.x;
    if (i < n)
        y[i] = 2 * x[i] + 1;
}
