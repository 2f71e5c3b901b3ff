#include <math.h>
#include <stdint.h>

void softmax(const float *x, float *y, int32_t rows, int32_t cols)
{
    for (int32_t r = 0; r < rows; r++) {
        const float *xr = x + (int64_t)r * cols;
        float *yr = y + (int64_t)r * cols;
        float top = xr[0];
        double sum = 0.0;

        for (int32_t c = 0; c < cols; c++)
            if (xr[c] > top)
                top = xr[c];
        for (int32_t c = 0; c < cols; c++)
            yr[c] = expf(xr[c] - top);
        for (int32_t c = 0; c < cols; c++)
            sum += yr[c];
        for (int32_t c = 0; c < cols; c++)
            yr[c] = (float)(yr[c] / sum);
    }
}
