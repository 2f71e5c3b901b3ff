/* Maximum and sum in one pass, rescaled when the maximum grows (the online
   softmax of attention kernels). */
#include <math.h>
#include <stdint.h>

void softmax(const float *x, float *y, int32_t rows, int32_t cols)
{
    for (int32_t r = 0; r < rows; r++, x += cols, y += cols) {
        float top = x[0], sum = 1;
        for (int32_t c = 1; c < cols; c++) {
            if (x[c] > top) {
                sum = sum * expf(top - x[c]) + 1;
                top = x[c];
            } else {
                sum += expf(x[c] - top);
            }
        }
        for (int32_t c = 0; c < cols; c++)
            y[c] = expf(x[c] - top) / sum;
    }
}
