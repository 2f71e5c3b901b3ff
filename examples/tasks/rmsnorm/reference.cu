// kb: launch rmsnorm_f64 grid=(rows) block=(256) args=(x, weight, y, rows, cols)

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

/* y = x weight / sqrt(mean of x^2 + 1e-5f), a row a block. */
extern "C" __global__ void rmsnorm_f64(const float *x, const float *weight, double *y,
                                       int rows, int cols)
{
    const float *xr = x + size_t(blockIdx.x) * cols;
    double *yr = y + size_t(blockIdx.x) * cols;
    double sum = 0.0;

    for (int c = threadIdx.x; c < cols; c += 256)
        sum += double(xr[c]) * double(xr[c]);
    const double root = sqrt(whole_row(sum, false) / cols + double(1e-5f));

    for (int c = threadIdx.x; c < cols; c += 256)
        yr[c] = double(xr[c]) * double(weight[c]) / root;
}
