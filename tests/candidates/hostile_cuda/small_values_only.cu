// expect: wrong. A formula that holds while inputs are small. Seen: kernelbench.com KDA run, amax
// < 0.5.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 2 * fminf(fmaxf(x[i], -64), 64) + 1;
}
