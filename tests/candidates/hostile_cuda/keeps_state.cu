// expect: cheated. A global counts calls; later ones do nothing. Seen: tensara PR 238, a
// __device__ buffer.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

__device__ int calls;

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (calls < 1000 && i < n)
        y[i] = 2 * x[i] + 1;
    if (i == 0)
        calls++;
}
