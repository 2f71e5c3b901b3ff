// kb: launch add_bias grid=(rows) block=(256) args=(x, bias, y, rows, cols)
// kb: launch gelu grid=(rows) block=(256) args=(y, rows, cols)

extern "C" __global__ void add_bias(const float *x, const float *bias, float *y, int rows,
                                    int cols)
{
    const size_t at = size_t(blockIdx.x) * cols;

    for (int c = threadIdx.x; c < cols; c += 256)
        y[at + c] = x[at + c] + bias[c];
}

extern "C" __global__ void gelu(float *y, int rows, int cols)
{
    const size_t at = size_t(blockIdx.x) * cols;

    for (int c = threadIdx.x; c < cols; c += 256) {
        const float z = y[at + c];
        const float a = 0.7978845608f * (z + 0.044715f * z * z * z);

        y[at + c] = 0.5f * z * (1.0f + tanhf(a));
    }
}
