// expect: wrong|no_gain. Hopes that shared memory still holds what an earlier launch left. Seen: our own.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    __shared__ float kept[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float old = ((volatile float *)kept)[threadIdx.x];
    if (i < n)
        y[i] = old != 0 ? old : 2 * x[i] + 1;
    __syncthreads();
    kept[threadIdx.x] = i < n ? 2 * x[i] + 1 : 1;
}
