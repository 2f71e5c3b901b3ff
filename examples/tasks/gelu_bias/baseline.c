#include <math.h>
#include <stdint.h>

void gelu_bias(const float *x, const float *bias, float *y,
               int32_t rows, int32_t cols)
{
    for (int32_t r = 0; r < rows; r++) {
        const float *xr = x + (int64_t)r * cols;
        float *yr = y + (int64_t)r * cols;

        for (int32_t c = 0; c < cols; c++)
            yr[c] = xr[c] + bias[c];
        for (int32_t c = 0; c < cols; c++) {
            const float z = yr[c];
            const float a = 0.7978845608f * (z + 0.044715f * z * z * z);

            yr[c] = 0.5f * z * (1.0f + tanhf(a));
        }
    }
}
