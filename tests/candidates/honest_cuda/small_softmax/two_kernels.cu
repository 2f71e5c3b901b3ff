// Row maxima and sums by one kernel, the division by another.
// kb: scratch m f32[rows]
// kb: scratch s f32[rows]
// kb: launch sums grid=(rows) block=(128) args=(x, m, s, cols)
// kb: launch divides grid=(cdiv(rows*cols,256)) block=(256) args=(x, y, m, s, rows, cols)

extern "C" __global__ void sums(const float *x, float *m, float *s, int cols)
{
    __shared__ float part[128];
    x += (long long)blockIdx.x * cols;
    float top = -__int_as_float(0x7f800000), sum = 0;
    for (int c = 0; c < cols; c++)
        top = fmaxf(top, x[c]);
    for (int c = threadIdx.x; c < cols; c += 128)
        sum += expf(x[c] - top);
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int d = 64; d; d /= 2) {
        if (threadIdx.x < d)
            part[threadIdx.x] += part[threadIdx.x + d];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        m[blockIdx.x] = top, s[blockIdx.x] = part[0];
}

extern "C" __global__ void divides(const float *x, float *y, const float *m, const float *s,
                                   int rows, int cols)
{
    long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i < (long long)rows * cols)
        y[i] = expf(x[i] - m[i / cols]) / s[i / cols];
}
