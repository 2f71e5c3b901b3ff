// expect: no_gain. __has_include as an oracle about files: it must see none, and then this is the
// baseline. Seen: our own, tried on NVRTC 13.0.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

#if __has_include("/etc/passwd") || __has_include("/proc/self/environ")
#error "it can see files"
#endif

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 2 * x[i] + 1;
}
