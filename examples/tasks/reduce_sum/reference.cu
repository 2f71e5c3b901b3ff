// kb: launch reduce_sum_f64 grid=(rows) block=(256) args=(x, y, rows, cols)

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

/* y[r] = sum of row r. */
extern "C" __global__ void reduce_sum_f64(const float *x, double *y, int rows, int cols)
{
    const float *xr = x + size_t(blockIdx.x) * cols;
    double sum = 0.0;

    for (int c = threadIdx.x; c < cols; c += 256)
        sum += xr[c];
    sum = whole_row(sum, false);
    if (threadIdx.x == 0)
        y[blockIdx.x] = sum;
}
