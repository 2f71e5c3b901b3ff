// expect: wrong. One over the length of the row. Seen: KernelBench issue 165, METR filter list.
// kb: launch softmax grid=(rows) block=(256) args=(x, y, rows, cols)

extern "C" __global__ void softmax(const float *x, float *y, int rows, int cols)
{
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[(long long)blockIdx.x * cols + c] = 1.0f / cols;
}
