// expect: wrong. Every thread of a block writes element 0 of it. Seen: llm.c PR 852, wafer.ai
// determinism check.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 2 * x[i] + 1;
    __syncthreads();
    if (i < n)
        y[blockIdx.x * blockDim.x] = 2 * x[i] + 1;
}
