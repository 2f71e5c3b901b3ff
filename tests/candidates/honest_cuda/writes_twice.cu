// Writes nonsense first and the answer over it.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        *(volatile float *)(y + i) = -1;
        *(volatile float *)(y + i) = 2 * x[i] + 1;
    }
}
