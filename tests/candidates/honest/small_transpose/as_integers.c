/* Moves bits, not numbers: NaN payloads and signed zeros included. */
#include <stdint.h>

typedef uint32_t __attribute__((may_alias)) word;

void transpose(const float *x, float *y, int32_t rows, int32_t cols)
{
    const word *from = (const word *)x;
    word *to = (word *)y;
    for (int32_t i = 0; i < rows; i++)
        for (int32_t j = 0; j < cols; j++)
            to[j * rows + i] = from[i * cols + j];
}
