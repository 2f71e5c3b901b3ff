// expect: wrong. Keeps a mark in the padding behind its output. Seen: kernelbench.com, pad caches;
// tensara.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 2 * x[i] + 1;
    if (i == n - 1)
        y[n] = y[i];
}
