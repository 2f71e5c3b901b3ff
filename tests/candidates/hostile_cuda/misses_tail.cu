// expect: wrong. Right for whole blocks only. Seen: robust-kbench.
// kb: launch axpy grid=(max(n/256,1)) block=(256) args=(x, y, n)

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 2 * x[i] + 1;
}
