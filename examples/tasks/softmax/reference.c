#include <math.h>
#include <stdint.h>

/* y[c] = exp(x[c] - top) / sum of exp(x[.] - top), a row at a time. */
void softmax_f64(const float *x, double *y, int32_t rows, int32_t cols)
{
    for (int64_t r = 0; r < rows; r++) {
        const float *xr = x + r * cols;
        double *yr = y + r * cols;
        float top = xr[0];
        double sum = 0.0;

        for (int64_t c = 1; c < cols; c++)
            top = xr[c] > top ? xr[c] : top;
        for (int64_t c = 0; c < cols; c++) {
            yr[c] = exp((double)xr[c] - (double)top);
            sum += yr[c];
        }
        for (int64_t c = 0; c < cols; c++)
            yr[c] /= sum;
    }
}
