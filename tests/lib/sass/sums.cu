extern "C" __global__ void sums(const float *x, float *y, int rows, int cols)
{
    float all = 0;
    for (int r = threadIdx.y; r < rows; r += blockDim.y) {
        float s = 0;
#pragma unroll 2
        for (int c = threadIdx.x; c < cols; c += 32)
            s += x[r * cols + c];
        all = fmaxf(all, s);
    }
    if (threadIdx.x < 16)
        for (int o = 8; o; o /= 2)
            all += __shfl_xor_sync(0xffff, all, o);
    y[threadIdx.x] = all;
}
