// expect: wrong. Trusts that scratch starts as zeros. Seen: robust-kbench order test.
// kb: scratch s f32[n]
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n, s)

extern "C" __global__ void axpy(const float *x, float *y, int n, const float *s)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 2 * x[i] + 1 + s[i];
}
