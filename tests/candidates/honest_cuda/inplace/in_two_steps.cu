// The array is doubled up by one kernel after the other, on the spot.
// kb: launch adds grid=(cdiv(n,256)) block=(256) args=(x, y, n)
// kb: launch adds grid=(cdiv(n,128)) block=(128) args=(x, y, n)

extern "C" __global__ void adds(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] += x[i];
}
