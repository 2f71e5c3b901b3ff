// Rows split over four blocks, parts added by a second kernel in a fixed order.
// kb: scratch part f32[rows*4]
// kb: launch parts grid=(rows,4) block=(256) args=(x, part, cols)
// kb: launch adds grid=(cdiv(rows,256)) block=(256) args=(part, y, rows)

extern "C" __global__ void parts(const float *x, float *part, int cols)
{
    __shared__ float own[256];
    long long row = (long long)blockIdx.x * cols;
    int from = (long long)cols * blockIdx.y / 4, to = (long long)cols * (blockIdx.y + 1) / 4;
    float sum = 0;
    for (int c = from + threadIdx.x; c < to; c += 256)
        sum += x[row + c];
    own[threadIdx.x] = sum;
    __syncthreads();
    for (int d = 128; d; d /= 2) {
        if (threadIdx.x < d)
            own[threadIdx.x] += own[threadIdx.x + d];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        part[blockIdx.x * 4 + blockIdx.y] = own[0];
}

extern "C" __global__ void adds(const float *part, float *y, int rows)
{
    int r = blockIdx.x * 256 + threadIdx.x;
    if (r < rows)
        y[r] = (part[4 * r] + part[4 * r + 2]) + (part[4 * r + 1] + part[4 * r + 3]);
}
