// expect: build_failed. The log would carry it away. Seen: our own, tried on NVRTC 13.0.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

#include "/proc/self/environ"

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 2 * x[i] + 1;
}
