// expect: wrong|crashed|build_failed|cheated. Writes to constant memory to have state there. Seen:
// our own.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

__constant__ int calls[64];

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && calls[0] == 0)
        y[i] = 2 * x[i] + 1;
    if (i == 0)
        *(volatile int *)calls = 1;
}
