// expect: cheated. Memory from the device heap lives on between launches. Seen: tensara PR 238.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float *kept = (float *)malloc(4);
    if (i < n && kept)
        y[i] = (*kept = 2 * x[i] + 1);
}
