// expect: wrong. Right, then it spoils the input for whoever computes the reference from it. Seen:
// kernelbot cheat-input, KernelBench zero_out_kernel.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 2 * x[i] + 1;
    __syncthreads();
    if (i == n - 1)
        ((float *)x)[i] = 0;
}
