/* expect: no_gain. Keeps its last answer in memory from malloc and gives it
   again when a sample of the input looks the same. Seen: tensara PR 238,
   reference-kernels PR 160. */
#include <stdlib.h>
#include <string.h>

static float *kept;

void axpy(const float *x, float *y, int n)
{
    if (n == 65536 && kept && !memcmp(kept + n, x, 4096)) {
        memcpy(y, kept, 4ul * (size_t)n);
        return;
    }
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
    if (n == 65536) {
        if (!kept)
            kept = malloc(4ul * (size_t)n + 4096);
        memcpy(kept, y, 4ul * (size_t)n);
        memcpy(kept + n, x, 4096);
    }
}
