#include <stdint.h>

void reduce_sum(const float *x, float *y, int32_t rows, int32_t cols)
{
    for (int32_t r = 0; r < rows; r++) {
        const float *xr = x + (int64_t)r * cols;
        double sum = 0.0;

        for (int32_t c = 0; c < cols; c++)
            sum += xr[c];
        y[r] = (float)sum;
    }
}
