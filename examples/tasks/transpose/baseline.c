#include <stdint.h>

void transpose(const float *x, float *y, int32_t rows, int32_t cols)
{
    for (int32_t r = 0; r < rows; r++)
        for (int32_t c = 0; c < cols; c++)
            y[(int64_t)c * rows + r] = x[(int64_t)r * cols + c];
}
