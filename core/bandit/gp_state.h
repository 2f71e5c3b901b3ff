/* gp_state.h - what gp.c and gp_fit.c share of a Gaussian process. */
#ifndef KB_GP_STATE_H
#define KB_GP_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "gp.h"

/* The values met along an axis, and what each pair leaves of the covariance. */
struct axis {
    size_t n;
    double value[KB_GP_VALUES], left[KB_GP_VALUES][KB_GP_VALUES];
};

/* A place and its row of the factor as far as it is known: solved[0 .. n-1]. */
struct place {
    size_t n, room;             /* elements of solved known, and kept */
    double left;                /* variance not yet explained */
    double mean;
    double *row;                /* dim coordinates, then room of solved */
};

struct kb_gp {
    struct kb_gp_options how;
    size_t dim, count, places, room;
    double *rate;               /* dim */
    double *given, scale;       /* rate and scale as they were at first */
    double *y;                  /* capacity */
    double *x;                  /* capacity rows of dim */
    size_t *group;              /* capacity */
    uint8_t *code;              /* of points: capacity rows of dim */
    uint8_t *place_code;        /* of places: room rows of dim */
    struct axis *axis;          /* dim */
    double *root;               /* Cholesky factor, packed lower triangle */
    double *white;              /* root^-1 (y - mean) */
    double *spare;              /* capacity: a row that is not kept */
    size_t kept;                /* elements of all rows that are */
    struct place *place;
    double data[];
};

/* What difference `far` along axis d leaves of the covariance. */
double kb_gp_left_of(const kb_gp *g, size_t d, double far);

/* The product of kb_gp_left_of over all axes but `but`. */
double kb_gp_kinship(const kb_gp *g, const double *x, const double *z,
                     size_t but);

/* Factors all points anew, and forgets what is known of places: rates or scale
 * have moved. */
void kb_gp_refactor(kb_gp *g);

#endif
