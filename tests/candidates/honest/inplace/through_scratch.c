/* Takes the old contents to scratch and writes the array anew. */
#include <stdlib.h>
#include <string.h>

void update(const float *x, float *y, int n)
{
    float *old = malloc(4ul * (unsigned)n);
    if (!old)
        abort();
    memcpy(old, y, 4ul * (unsigned)n);
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + old[i];
    free(old);
}
