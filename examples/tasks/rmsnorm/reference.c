#include <math.h>
#include <stdint.h>

/* y = x weight / sqrt(mean of x^2 + 1e-5f), a row at a time. */
void rmsnorm_f64(const float *x, const float *weight, double *y,
                 int32_t rows, int32_t cols)
{
    for (int64_t r = 0; r < rows; r++) {
        const float *xr = x + r * cols;
        double sum = 0.0;

        for (int64_t c = 0; c < cols; c++)
            sum += (double)xr[c] * (double)xr[c];

        const double root = sqrt(sum / cols + (double)1e-5f);

        for (int64_t c = 0; c < cols; c++)
            y[r * cols + c] = (double)xr[c] * (double)weight[c] / root;
    }
}
