// expect: wrong|crashed. A store a megabyte behind its output. Seen: robust-kbench.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 2 * x[i] + 1;
    if (i == 0)
        for (int k = 0; k < (1 << 18); k++)
            y[n + k] = 1;
}
