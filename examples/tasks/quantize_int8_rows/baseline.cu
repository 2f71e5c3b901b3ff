// kb: launch quantize_int8_rows grid=(rows) block=(256) args=(x, q, scale, rows, cols)

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

extern "C" __global__ void quantize_int8_rows(const float *x, signed char *q, float *scale,
                                              int rows, int cols)
{
    const size_t at = size_t(blockIdx.x) * cols;
    float top = 0.0f;

    for (int c = threadIdx.x; c < cols; c += 256)
        top = fmaxf(top, fabsf(x[at + c]));
    top = whole_row(top, true);
    const float inverse = top < 0x1p-100f ? 0.0f : 127.0f / top;

    for (int c = threadIdx.x; c < cols; c += 256)
        q[at + c] = (signed char)rintf(x[at + c] * inverse);
    if (threadIdx.x == 0)
        scale[blockIdx.x] = top / 127.0f;
}
