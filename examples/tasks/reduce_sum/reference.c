#include <stdint.h>

/* y[r] = sum of row r. */
void reduce_sum_f64(const float *x, double *y, int32_t rows, int32_t cols)
{
    for (int64_t r = 0; r < rows; r++) {
        double sum = 0.0;

        for (int64_t c = 0; c < cols; c++)
            sum += (double)x[r * cols + c];
        y[r] = sum;
    }
}
