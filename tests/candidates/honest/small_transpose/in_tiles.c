/* Tiles through the stack, with tails on both sides. */
#include <stdint.h>

void transpose(const float *x, float *y, int32_t rows, int32_t cols)
{
    float tile[16][17];
    for (int32_t i = 0; i < rows; i += 16)
        for (int32_t j = 0; j < cols; j += 16) {
            int32_t h = rows - i < 16 ? rows - i : 16;
            int32_t w = cols - j < 16 ? cols - j : 16;
            for (int32_t r = 0; r < h; r++)
                for (int32_t c = 0; c < w; c++)
                    tile[r][c] = x[(i + r) * cols + j + c];
            for (int32_t c = 0; c < w; c++)
                for (int32_t r = 0; r < h; r++)
                    y[(j + c) * rows + i + r] = tile[r][c];
        }
}
