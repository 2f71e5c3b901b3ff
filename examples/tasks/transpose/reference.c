#include <stdint.h>

enum { TILE = 32 };

static int64_t least(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

/* y[c][r] = x[r][c], tile by tile. */
void transpose_f64(const float *x, double *y, int32_t rows, int32_t cols)
{
    for (int64_t r0 = 0; r0 < rows; r0 += TILE)
        for (int64_t c0 = 0; c0 < cols; c0 += TILE)
            for (int64_t c = c0; c < least(c0 + TILE, cols); c++)
                for (int64_t r = r0; r < least(r0 + TILE, rows); r++)
                    y[c * rows + r] = x[r * cols + c];
}
