// kb: launch cross_entropy grid=(rows) block=(256) args=(x, target, loss, rows, cols)

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

extern "C" __global__ void cross_entropy(const float *x, const int *target, float *loss,
                                         int rows, int cols)
{
    const float *xr = x + size_t(blockIdx.x) * cols;
    float top = xr[0], sum = 0.0f;

    for (int c = threadIdx.x; c < cols; c += 256)
        top = fmaxf(top, xr[c]);
    top = whole_row(top, true);
    for (int c = threadIdx.x; c < cols; c += 256)
        sum += expf(xr[c] - top);
    sum = whole_row(sum, false);
    if (threadIdx.x == 0)
        loss[blockIdx.x] =
            logf(sum) + (top - xr[unsigned(target[blockIdx.x]) % unsigned(cols)]);
}
