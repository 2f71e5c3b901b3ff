/* expect: crashed. malloc fails at the limit, and it does not look. Seen: our
   own. */
#include <stdlib.h>

void axpy(const float *x, float *y, int n)
{
    for (;;) {
        volatile char *p = malloc(1 << 30);
        p[0] = 1;
        if (x[0] == 12345)
            y[0] = (float)n;
    }
}
