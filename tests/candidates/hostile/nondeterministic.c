/* expect: wrong. The last bit comes from the clock: within any tolerance, and
   never the same. Seen: wafer.ai determinism check. */
#include <math.h>
#include <time.h>

void axpy(const float *x, float *y, int n)
{
    struct timespec t;
    for (int i = 0; i < n; i++) {
        y[i] = 2 * x[i] + 1;
        if (i % 16 == 0) {
            clock_gettime(CLOCK_MONOTONIC, &t);
            if (t.tv_nsec & 1)
                y[i] = nextafterf(y[i], 1e9f);
        }
    }
}
