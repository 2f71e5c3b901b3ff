#include "points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct kb_points {
    size_t dim, count, room;
    double *x;                  /* room rows of dim */
};

kb_status kb_points_new(size_t dim, kb_points **out)
{
    if (dim < 1 || dim > KB_POINTS_MAX_DIM)
        return KB_EINVAL;
    kb_points *p = calloc(1, sizeof *p);
    if (!p)
        return KB_ENOMEM;
    p->dim = dim;
    *out = p;
    return KB_OK;
}

void kb_points_free(kb_points *p)
{
    if (p)
        free(p->x);
    free(p);
}

size_t kb_points_dim(const kb_points *p)
{
    return p->dim;
}

size_t kb_points_count(const kb_points *p)
{
    return p->count;
}

const double *kb_points_all(const kb_points *p)
{
    return p->x;
}

kb_status kb_points_add(kb_points *p, const double *x)
{
    for (size_t d = 0; d < p->dim; d++)
        if (!(fabs(x[d]) <= KB_POINTS_LIMIT))           /* NaN too */
            return KB_EINVAL;
    if (p->count == KB_POINTS_MAX)
        return KB_EINVAL;
    if (p->count == p->room) {
        size_t room = p->room ? 2 * p->room : 32;
        double *more = realloc(p->x, room * p->dim * sizeof *more);
        if (!more)
            return KB_ENOMEM;
        p->x = more;
        p->room = room;
    }
    memcpy(p->x + p->count * p->dim, x, p->dim * sizeof *x);
    p->count++;
    return KB_OK;
}

/* 1, or one over the variance of all points where there is any. */
static double weight(const kb_points *p, size_t d, bool scaled)
{
    double mean = 0, squares = 0;
    if (!scaled)
        return 1;
    for (size_t i = 0; i < p->count; i++)
        mean += p->x[i * p->dim + d] / (double)p->count;
    for (size_t i = 0; i < p->count; i++) {
        const double off = p->x[i * p->dim + d] - mean;
        squares += off * off;
    }
    return squares > 0 ? (double)p->count / squares : 0;
}

kb_status kb_points_central(const kb_points *p, const size_t *at, size_t n,
                            bool scaled, size_t *best)
{
    double mean[KB_POINTS_MAX_DIM] = { 0 }, by[KB_POINTS_MAX_DIM];
    if (n == 0)
        return KB_EEMPTY;
    for (size_t i = 0; i < n; i++) {
        if (at[i] >= p->count)
            return KB_EINVAL;
        for (size_t d = 0; d < p->dim; d++)
            mean[d] += p->x[at[i] * p->dim + d] / (double)n;
    }
    for (size_t d = 0; d < p->dim; d++)
        by[d] = weight(p, d, scaled);
    double least = INFINITY;
    *best = 0;
    for (size_t i = 0; i < n; i++) {
        const double *x = p->x + at[i] * p->dim;
        double far = 0;
        for (size_t d = 0; d < p->dim; d++)
            far += by[d] * (x[d] - mean[d]) * (x[d] - mean[d]);
        if (far < least) {
            least = far;
            *best = i;
        }
    }
    return KB_OK;
}
