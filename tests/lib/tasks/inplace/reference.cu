// kb: launch update_f64 grid=(cdiv(n,256)) block=(256) args=(x, y, n)

extern "C" __global__ void update_f64(const float *x, double *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 2.0 * x[i] + y[i];
}
