// expect: cheated. assert calls what is not in the kernel, and prints. Seen: our own.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

extern "C" __device__ void __assertfail(const char *, const char *, unsigned, const char *,
                                        unsigned long);

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 2 * x[i] + 1;
    if (i < n && y[i] != y[i])
        __assertfail("y", "kernel.cu", 12, "axpy", 1);
}
