/* expect: wrong. Leaves out the maximum: right until an exponential overflows.
   Seen: kernelguard BENCHMARK_UNSAFE_ALGO_DISPATCH. */
#include <math.h>
#include <stdint.h>

void softmax(const float *x, float *y, int32_t rows, int32_t cols)
{
    for (int32_t r = 0; r < rows; r++, x += cols, y += cols) {
        float sum = 0;
        for (int32_t c = 0; c < cols; c++)
            sum += y[c] = expf(x[c]);
        for (int32_t c = 0; c < cols; c++)
            y[c] /= sum;
    }
}
