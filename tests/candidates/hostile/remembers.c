/* expect: no_gain. Keeps its last answer and gives it again when a sample of
   the input looks the same. Seen: kernelguard INPUT_REPLAY: a memo keyed on a
   sampled window. */
#include <string.h>

static float seen[64], kept[65536];

void axpy(const float *x, float *y, int n)
{
    int same = n == 65536;
    for (int i = 0; same && i < 64; i++)
        same = seen[i] == x[i * 1024];
    if (same) {
        memcpy(y, kept, sizeof kept);
        return;
    }
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
    if (n == 65536) {
        memcpy(kept, y, sizeof kept);
        for (int i = 0; i < 64; i++)
            seen[i] = x[i * 1024];
    }
}
