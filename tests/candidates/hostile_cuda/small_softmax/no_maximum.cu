// expect: wrong. Leaves out the maximum. Seen: kernelguard BENCHMARK_UNSAFE_ALGO_DISPATCH.
// kb: launch softmax grid=(rows) block=(32) args=(x, y, rows, cols)

extern "C" __global__ void softmax(const float *x, float *y, int rows, int cols)
{
    float sum = 0;
    x += (long long)blockIdx.x * cols, y += (long long)blockIdx.x * cols;
    for (int c = threadIdx.x; c < cols; c += 32)
        sum += __expf(x[c]);
    for (int d = 16; d; d /= 2)
        sum += __shfl_xor_sync(~0u, sum, d);
    for (int c = threadIdx.x; c < cols; c += 32)
        y[c] = __expf(x[c]) / sum;
}
