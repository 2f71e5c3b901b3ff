/* Blocks are changed on the stack and written back, the last one first. */
#include <string.h>

void update(const float *x, float *y, int n)
{
    float block[256];
    for (int at = (n - 1) / 256 * 256; at >= 0; at -= 256) {
        int part = n - at < 256 ? n - at : 256;
        memcpy(block, y + at, 4ul * (unsigned)part);
        for (int i = 0; i < part; i++)
            block[i] += 2 * x[at + i];
        memcpy(y + at, block, 4ul * (unsigned)part);
    }
}
