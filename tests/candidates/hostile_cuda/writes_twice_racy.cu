// expect: wrong. Blocks overlap by one element and disagree about it. Seen: llm.c PR 852.
// kb: launch axpy grid=(cdiv(n,255)) block=(256) args=(x, y, n)

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * 255 + threadIdx.x;
    if (i < n)
        y[i] = 2 * x[i] + (threadIdx.x == 255 ? 0 : 1);
}
