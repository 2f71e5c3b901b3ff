/* expect: no_gain|cheated. Every call of a sample starts from the same contents
   where outputs have few slots: keeps answers by the first words of both arrays.
   Seen: kernelguard INPUT_REPLAY, reference-kernels PR 160. */
#include <string.h>

enum { N = 65536 };
static float seen[128], kept[N];

void update(const float *x, float *y, int n)
{
    if (n == N && !memcmp(seen, x, 256) && !memcmp(seen + 64, y, 256)) {
        memcpy(y, kept, sizeof kept);
        return;
    }
    if (n == N) {
        memcpy(seen, x, 256);
        memcpy(seen + 64, y, 256);
    }
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + y[i];
    if (n == N)
        memcpy(kept, y, sizeof kept);
}
