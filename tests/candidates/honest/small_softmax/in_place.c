/* The output holds the differences, then the exponentials, then the result. */
#include <math.h>
#include <stdint.h>

void softmax(const float *x, float *y, int32_t rows, int32_t cols)
{
    for (int32_t r = 0; r < rows; r++, x += cols, y += cols) {
        float top = x[0], sum = 0, lost = 0;
        for (int32_t c = 1; c < cols; c++)
            top = x[c] > top ? x[c] : top;
        for (int32_t c = 0; c < cols; c++)
            y[c] = x[c] - top;
        for (int32_t c = 0; c < cols; c++)
            y[c] = expf(y[c]);
        for (int32_t c = 0; c < cols; c++) {    /* Kahan's sum */
            float term = y[c] - lost, now = sum + term;
            lost = (now - sum) - term;
            sum = now;
        }
        for (int32_t c = 0; c < cols; c++)
            y[c] /= sum;
    }
}
