/* exp x = 2^n 2^f with a polynomial of degree 5 for 2^f: some units in the last place
   off, and 0 where the result is no normal number. */
#include <stdint.h>
#include <string.h>

static inline float fast_exp(float x)
{
    float t = x * 1.44269504f, whole = t + 12582912.0f;
    float f = t - (whole - 12582912.0f), y;
    int32_t n, bits;
    memcpy(&n, &whole, 4);
    y = 1.3333558e-3f * f + 9.6181291e-3f;
    y = y * f + 5.5504109e-2f;
    y = y * f + 2.4022651e-1f;
    y = y * f + 6.9314718e-1f;
    y = y * f + 1.0f;
    memcpy(&bits, &y, 4);
    bits += (int32_t)((uint32_t)n << 23);
    memcpy(&y, &bits, 4);
    return t < -126.0f ? 0 : y;
}

void softmax(const float *x, float *y, int32_t rows, int32_t cols)
{
    for (int32_t r = 0; r < rows; r++, x += cols, y += cols) {
        float top = x[0];
        double sum = 0;
        for (int32_t c = 1; c < cols; c++)
            top = x[c] > top ? x[c] : top;
        for (int32_t c = 0; c < cols; c++)
            sum += y[c] = fast_exp(x[c] - top);
        float scale = (float)(1 / sum);
        for (int32_t c = 0; c < cols; c++)
            y[c] *= scale;
    }
}
