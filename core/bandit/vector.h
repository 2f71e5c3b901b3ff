/* vector.h - what this folder does with lists of numbers. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* The check at the door: whether all n numbers are of magnitude at most limit,
 * so that no comparison meets NaN. False for NaN. */
static inline bool kb_within(const double *x, size_t n, double limit)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabs(x[i]) <= limit))
            return false;
    return true;
}

/* Four sums, so that an addition need not wait for the one before. */
static inline double kb_dot(const double *a, const double *b, size_t n)
{
    double sum[4] = { 0 };
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (size_t k = 0; k < 4; k++)
            sum[k] += a[i + k] * b[i + k];
    for (; i < n; i++)
        sum[0] += a[i] * b[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}
