#include <math.h>
#include <stdint.h>

/* y = z / 2 (1 + tanh(sqrt(2 / pi) (z + 0.044715 z^3))), z = x + bias. */
void gelu_bias_f64(const float *x, const float *bias, double *y,
                   int32_t rows, int32_t cols)
{
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t c = 0; c < cols; c++) {
            const double z = (double)x[r * cols + c] + (double)bias[c];
            const double a = 0.79788456080286535588 * (z + 0.044715 * z * z * z);

            /* 1 + tanh a = 2 / (1 + exp -2a), which loses nothing for large -a. */
            y[r * cols + c] = z / (1.0 + exp(-2.0 * a));
        }
    }
}
