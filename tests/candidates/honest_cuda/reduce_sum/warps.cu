// A warp a row, partial sums by shuffles.
// kb: launch reduce_sum grid=(cdiv(rows,8)) block=(256) args=(x, y, rows, cols)

extern "C" __global__ void reduce_sum(const float *x, float *y, int rows, int cols)
{
    int r = blockIdx.x * 8 + threadIdx.x / 32;
    float sum = 0;
    if (r >= rows)
        return;
    for (int c = threadIdx.x % 32; c < cols; c += 32)
        sum += x[(long long)r * cols + c];
    for (int d = 16; d; d /= 2)
        sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0)
        y[r] = sum;
}
