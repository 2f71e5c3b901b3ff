/* Scratch from malloc, freed again. */
#include <stdlib.h>

void axpy(const float *x, float *y, int n)
{
    float *scratch = malloc((size_t)n * sizeof *scratch);
    if (!scratch)
        abort();
    for (int i = 0; i < n; i++)
        scratch[i] = 2 * x[i];
    for (int i = 0; i < n; i++)
        y[i] = scratch[i] + 1;
    free(scratch);
}
