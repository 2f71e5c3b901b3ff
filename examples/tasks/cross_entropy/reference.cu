// kb: launch cross_entropy_f64 grid=(rows) block=(256) args=(x, target, loss, rows, cols)

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

/* loss[r] = log of the sum of exp(x[r]) - x[r][target[r] mod cols]. */
extern "C" __global__ void cross_entropy_f64(const float *x, const int *target,
                                             double *loss, int rows, int cols)
{
    const float *xr = x + size_t(blockIdx.x) * cols;
    double top = xr[0], sum = 0.0;

    for (int c = threadIdx.x; c < cols; c += 256)
        top = fmax(top, double(xr[c]));
    top = whole_row(top, true);
    for (int c = threadIdx.x; c < cols; c += 256)
        sum += exp(double(xr[c]) - top);
    sum = whole_row(sum, false);
    if (threadIdx.x == 0)
        loss[blockIdx.x] =
            log(sum) + (top - xr[unsigned(target[blockIdx.x]) % unsigned(cols)]);
}
