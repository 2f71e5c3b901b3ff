// kb: launch scale_reference grid=(cdiv(n,256)) block=(256) args=(x, y, n)

extern "C" __global__ void scale_reference(const float *x, double *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 3 * (double)x[i];
}
