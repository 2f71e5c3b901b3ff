/* within.h - the check at the door of this folder: what is not finite, or too
 * large to compute with, is refused there, so no comparison meets NaN. */
#pragma once

#include <math.h>

/* Whether all n numbers are of magnitude at most limit. False for NaN. */
static inline bool kb_within(const double *x, size_t n, double limit)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabs(x[i]) <= limit))
            return false;
    return true;
}
