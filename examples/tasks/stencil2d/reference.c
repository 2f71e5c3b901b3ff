#include <stdint.h>

/* x[i][j - 1] + 2 x[i][j] + x[i][j + 1], clamped. */
static double across(const float *row, int64_t j, int64_t cols)
{
    double left = row[j > 0 ? j - 1 : 0];
    double right = row[j + 1 < cols ? j + 1 : cols - 1];

    return left + 2.0 * (double)row[j] + right;
}

/* The 3 x 3 filter with weights 1 2 1 / 2 4 2 / 1 2 1 over 16. */
void stencil2d_f64(const float *x, double *y, int32_t rows, int32_t cols)
{
    for (int64_t i = 0; i < rows; i++) {
        const float *up = x + (i > 0 ? i - 1 : 0) * cols;
        const float *here = x + i * cols;
        const float *down = x + (i + 1 < rows ? i + 1 : rows - 1) * cols;

        for (int64_t j = 0; j < cols; j++)
            y[i * cols + j] = (across(up, j, cols) + 2.0 * across(here, j, cols) +
                               across(down, j, cols)) / 16.0;
    }
}
