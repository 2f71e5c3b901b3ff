// kb: launch gelu_bias_f64 grid=(rows) block=(256) args=(x, bias, y, rows, cols)

/* y = z / 2 (1 + tanh(sqrt(2 / pi) (z + 0.044715 z^3))), z = x + bias. */
extern "C" __global__ void gelu_bias_f64(const float *x, const float *bias, double *y,
                                         int rows, int cols)
{
    const size_t at = size_t(blockIdx.x) * cols;

    for (int c = threadIdx.x; c < cols; c += 256) {
        const double z = double(x[at + c]) + double(bias[c]);
        const double a = 0.79788456080286535588 * (z + 0.044715 * z * z * z);

        /* 1 + tanh a = 2 / (1 + exp -2a), which loses nothing for large -a. */
        y[at + c] = z / (1.0 + exp(-2.0 * a));
    }
}
