/* expect: wrong. One over the length of the row, which is near every answer
   for mild inputs. Seen: KernelBench issue 165, METR filter list, robust-
   kbench. */
#include <stdint.h>

void softmax(const float *x, float *y, int32_t rows, int32_t cols)
{
    (void)x;
    for (int64_t i = 0; i < (int64_t)rows * cols; i++)
        y[i] = 1.0f / (float)cols;
}
