// expect: wrong. Right at the timed shape and nowhere else. Seen: FastKernels (arXiv 2605.23215).
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && n >= 65536)
        y[i] = 2 * x[i] + 1;
}
