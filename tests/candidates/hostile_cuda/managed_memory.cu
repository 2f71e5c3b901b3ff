// expect: cheated. Unified memory is state, and the host sees it. Seen: tensara PR 238.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

__managed__ int calls;

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 2 * x[i] + 1;
    if (i == 0)
        calls++;
}
