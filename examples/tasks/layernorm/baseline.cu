// kb: launch layernorm grid=(rows) block=(256) args=(x, weight, bias, y, rows, cols)

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

extern "C" __global__ void layernorm(const float *x, const float *weight, const float *bias,
                                     float *y, int rows, int cols)
{
    const float *xr = x + size_t(blockIdx.x) * cols;
    float *yr = y + size_t(blockIdx.x) * cols;
    float sum = 0.0f, squares = 0.0f;

    for (int c = threadIdx.x; c < cols; c += 256)
        sum += xr[c];
    const float mean = whole_row(sum, false) / cols;

    for (int c = threadIdx.x; c < cols; c += 256)
        squares += (xr[c] - mean) * (xr[c] - mean);
    const float scale = 1.0f / sqrtf(whole_row(squares, false) / cols + 1e-5f);

    for (int c = threadIdx.x; c < cols; c += 256)
        yr[c] = (xr[c] - mean) * scale;
    for (int c = threadIdx.x; c < cols; c += 256)
        yr[c] = yr[c] * weight[c] + bias[c];
}
