/* expect: cheated. Sleeping costs no processor time. Seen: our own. */
#include <time.h>

void axpy(const float *x, float *y, int n)
{
    struct timespec t = { 0, 1000 };
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
    nanosleep(&t, 0);
}
