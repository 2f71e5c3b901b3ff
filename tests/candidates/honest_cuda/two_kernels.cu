// Two kernels and scratch memory between them.
// kb: scratch s f32[n]
// kb: launch doubles grid=(cdiv(n,128)) block=(128) args=(x, s, n)
// kb: launch adds grid=(cdiv(n,64)) block=(64) args=(s, y, n)

extern "C" __global__ void doubles(const float *x, float *s, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        s[i] = 2 * x[i];
}

extern "C" __global__ void adds(const float *s, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = s[i] + 1;
}
