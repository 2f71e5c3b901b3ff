#include <math.h>
#include <stdint.h>

void rmsnorm(const float *x, const float *weight, float *y,
             int32_t rows, int32_t cols)
{
    for (int32_t r = 0; r < rows; r++) {
        const float *xr = x + (int64_t)r * cols;
        float *yr = y + (int64_t)r * cols;
        double sum = 0.0;

        for (int32_t c = 0; c < cols; c++)
            sum += xr[c] * xr[c];

        const float scale = 1.0f / sqrtf((float)(sum / cols) + 1e-5f);

        for (int32_t c = 0; c < cols; c++)
            yr[c] = xr[c] * scale;
        for (int32_t c = 0; c < cols; c++)
            yr[c] = yr[c] * weight[c];
    }
}
