// expect: cheated|build_failed. Work put on another stream from the device. Seen: KernelBench PR
// 82; CUDA-L1.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

__global__ void rest(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 2 * x[i] + 1;
}

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    if (blockIdx.x == 0 && threadIdx.x == 0)
        rest<<<(n + 255) / 256, 256>>>(x, y, n);
}
