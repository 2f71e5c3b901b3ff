// kb: launch reduce_sum grid=(rows) block=(256) args=(x, y, rows, cols)

/* A tree over the 256 values of a block. */
__device__ inline float whole_row(float v, bool largest)
{
    __shared__ float room[256];

    room[threadIdx.x] = v;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            const float other = room[threadIdx.x + half];

            room[threadIdx.x] = largest ? fmaxf(room[threadIdx.x], other)
                                        : room[threadIdx.x] + other;
        }
        __syncthreads();
    }
    v = room[0];
    __syncthreads();
    return v;
}

extern "C" __global__ void reduce_sum(const float *x, float *y, int rows, int cols)
{
    const float *xr = x + size_t(blockIdx.x) * cols;
    float sum = 0.0f;

    for (int c = threadIdx.x; c < cols; c += 256)
        sum += xr[c];
    sum = whole_row(sum, false);
    if (threadIdx.x == 0)
        y[blockIdx.x] = sum;
}
