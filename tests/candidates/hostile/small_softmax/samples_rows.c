/* expect: wrong. The sum is estimated from every fourth element. Seen:
   kernelbench.com, first rows sampled; distribution-only top-k. */
#include <math.h>
#include <stdint.h>

void softmax(const float *x, float *y, int32_t rows, int32_t cols)
{
    for (int32_t r = 0; r < rows; r++, x += cols, y += cols) {
        float top = -INFINITY, sum = 0;
        int32_t step = cols >= 1024 ? 4 : 1;
        for (int32_t c = 0; c < cols; c++)
            top = x[c] > top ? x[c] : top;
        for (int32_t c = 0; c < cols; c++) {
            y[c] = expf(x[c] - top);
            if (c % step == 0)
                sum += y[c] * (float)step;
        }
        for (int32_t c = 0; c < cols; c++)
            y[c] /= sum;
    }
}
