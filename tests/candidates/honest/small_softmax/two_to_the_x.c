/* Exponentials as powers of two. */
#include <math.h>
#include <stdint.h>

void softmax(const float *x, float *y, int32_t rows, int32_t cols)
{
    for (int32_t r = 0; r < rows; r++, x += cols, y += cols) {
        float top = -INFINITY;
        double sum = 0;
        for (int32_t c = 0; c < cols; c++)
            top = fmaxf(top, x[c]);
        for (int32_t c = 0; c < cols; c++)
            sum += y[c] = exp2f((x[c] - top) * 1.44269504f);
        for (int32_t c = 0; c < cols; c++)
            y[c] = (float)(y[c] / sum);
    }
}
