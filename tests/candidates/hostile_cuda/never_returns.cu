// expect: timeout. The GPU hangs; only a fresh process helps. Seen: every tuner.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    y[i] = 2 * x[i] + 1;
    while (((volatile float *)y)[i] != 1e30f)
        ;
}
