/* Copies, then permutes the output in place along the cycles of the
   transposition. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void transpose(const float *x, float *y, int32_t rows, int32_t cols)
{
    int64_t n = (int64_t)rows * cols;
    unsigned char *moved = calloc((size_t)n, 1);
    if (!moved)
        abort();
    memcpy(y, x, 4ul * (uint64_t)n);
    for (int64_t start = 0; start < n; start++) {
        float held = y[start];
        int64_t at = start;
        while (!moved[at]) {
            moved[at] = 1;
            at = at % cols * rows + at / cols;
            float next = y[at];
            y[at] = held;
            held = next;
        }
    }
    free(moved);
}
