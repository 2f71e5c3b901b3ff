/* expect: wrong. The input as it is: right for one row or one column. Seen:
   KernelBench, shapes that hide the work. */
#include <stdint.h>
#include <string.h>

void transpose(const float *x, float *y, int32_t rows, int32_t cols)
{
    memcpy(y, x, 4ul * (uint64_t)rows * (uint64_t)cols);
}
