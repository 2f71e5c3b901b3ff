// The output holds the exponentials until it is scaled.
// kb: launch softmax grid=(rows) block=(128) args=(x, y, rows, cols)

__device__ float over_block(float v, bool top)
{
    __shared__ float part[128];
    __syncthreads();
    part[threadIdx.x] = v;
    __syncthreads();
    for (int d = 64; d; d /= 2) {
        if (threadIdx.x < d) {
            float other = part[threadIdx.x + d];
            part[threadIdx.x] = top ? fmaxf(part[threadIdx.x], other)
                                    : part[threadIdx.x] + other;
        }
        __syncthreads();
    }
    return part[0];
}

extern "C" __global__ void softmax(const float *x, float *y, int rows, int cols)
{
    float top = -__int_as_float(0x7f800000), sum = 0;
    x += (long long)blockIdx.x * cols, y += (long long)blockIdx.x * cols;
    for (int c = threadIdx.x; c < cols; c += 128)
        top = fmaxf(top, x[c]);
    top = over_block(top, true);
    for (int c = threadIdx.x; c < cols; c += 128)
        sum += y[c] = expf(x[c] - top);
    sum = over_block(sum, false);
    for (int c = threadIdx.x; c < cols; c += 128)
        y[c] /= sum;
}
