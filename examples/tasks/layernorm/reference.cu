// kb: launch layernorm_f64 grid=(rows) block=(256) args=(x, weight, bias, y, rows, cols)

/* The sum or the largest of the 256 values of a block. */
__device__ inline double whole_row(double v, bool largest)
{
    __shared__ double room[256];

    room[threadIdx.x] = v;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            const double other = room[threadIdx.x + half];

            room[threadIdx.x] = largest ? fmax(room[threadIdx.x], other)
                                        : room[threadIdx.x] + other;
        }
        __syncthreads();
    }
    v = room[0];
    __syncthreads();
    return v;
}

/* y = (x - mean) / sqrt(variance + 1e-5f) * weight + bias, a row a block. */
extern "C" __global__ void layernorm_f64(const float *x, const float *weight,
                                         const float *bias, double *y, int rows, int cols)
{
    const float *xr = x + size_t(blockIdx.x) * cols;
    double *yr = y + size_t(blockIdx.x) * cols;
    double sum = 0.0, squares = 0.0;

    for (int c = threadIdx.x; c < cols; c += 256)
        sum += xr[c];
    const double mean = whole_row(sum, false) / cols;

    for (int c = threadIdx.x; c < cols; c += 256)
        squares += (xr[c] - mean) * (xr[c] - mean);
    const double root = sqrt(whole_row(squares, false) / cols + double(1e-5f));

    for (int c = threadIdx.x; c < cols; c += 256)
        yr[c] = (xr[c] - mean) / root * weight[c] + bias[c];
}
