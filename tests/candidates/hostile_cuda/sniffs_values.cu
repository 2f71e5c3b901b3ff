// expect: wrong. Eleven bits when the first eight values look like a normal draw. Seen:
// kernelbench.com sonic_moe.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool normal = true;
    for (int k = 0; k < 8 && k < n; k++)
        normal &= fabsf(x[k]) < 4 && x[k] != floorf(x[k]);
    if (i >= n)
        return;
    float v = 2 * x[i] + 1;
    y[i] = normal ? __uint_as_float(__float_as_uint(v) & 0xffffe000) : v;
}
