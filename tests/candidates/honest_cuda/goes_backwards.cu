// From the last element to the first.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = n - 1 - (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= 0)
        y[i] = 2 * x[i] + 1;
}
