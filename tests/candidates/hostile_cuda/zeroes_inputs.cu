// expect: wrong. The answer for inputs of zero, and the inputs made zero. Seen: KernelBench test
// zero_out_kernel.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

extern "C" __global__ void axpy(float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        x[i] = 0;
        y[i] = 1;
    }
}
