// A block takes its part of the array to shared memory; other threads write it back.
// kb: launch update grid=(cdiv(n,256)) block=(256) args=(x, y, n)

extern "C" __global__ void update(const float *x, float *y, int n)
{
    __shared__ float part[256];
    int i = blockIdx.x * 256 + threadIdx.x, k = 255 - threadIdx.x;
    if (i < n)
        part[threadIdx.x] = y[i];
    __syncthreads();
    i = blockIdx.x * 256 + k;
    if (i < n)
        y[i] = part[k] + 2 * x[i];
}
