/* gp.h - a Gaussian process (Rasmussen and Williams, 2006): what is believed of
 * points not yet measured.
 *
 *   y(x) = mean + c + f(x) + noise,   c ~ N(0, level^2), one a group
 *   cov(f(x), f(z)) = signal^2 exp(-sum over d of rate[d] |x[d] - z[d]|)
 *
 * rate[d] is an inverse length scale. f and noise are normal. The covariance is
 * that of an Ornstein-Uhlenbeck process along every axis (the Matern kernel
 * with nu = 1/2): rough, so that a neighbour says much and a far point little. A
 * point belongs to a group, 0 being the one asked about: the covariance of f
 * between groups 0 and g is multiplied by correlation(g), that between g and h
 * by both, so that what another kernel showed counts, but for less (the multi-task
 * process of Bonilla, Chai and Williams, 2008, with one factor).
 *
 * There may be `capacity` points; the latest can be forgotten again, which is
 * how results that are only imagined are taken back. A place is a point of
 * group 0 whose forecast is wanted again and again: it is brought up to date by
 * one element of its row of the Cholesky factor for each point learnt since, so
 * n points and m places cost O(n^2) each once, not once a question. Rows take
 * KB_GP_KEPT_BYTES at most; a place beyond that is worked out anew for every
 * question, to the same bit.
 *
 * Coordinates and values that are not finite, or beyond KB_GP_LIMIT in
 * magnitude, are EINVAL and leave everything as it was.
 */
#pragma once

#include "kb.h"

#define KB_GP_LIMIT 1e6

enum {
    KB_GP_MAX_DIM = 64,
    KB_GP_MAX_CAPACITY = 1024,
    KB_GP_MAX_GROUPS = 64,
    KB_GP_MAX_PLACES = 1 << 16,
    KB_GP_KEPT_BYTES = 128 << 20
};

struct kb_gp_options {
    double signal;              /* standard deviation of f, > 0 */
    double mean, level;         /* level > 0 */
    double noise;               /* standard deviation, at least 1e-4 of signal,
                                 * so that equal points do no harm */
    double correlation;         /* 0 .. 1, of every group at first */
    size_t capacity;            /* 1 .. KB_GP_MAX_CAPACITY */
};

/* { 1, 0, 1, 0.1, 0.5, 256 } */
extern const struct kb_gp_options kb_gp_defaults;

/* Read by all, written by the functions below alone. */
typedef struct kb_gp {
    struct kb_gp_options how;
    size_t dim, count, places;  /* count: points learnt */
    double rate[KB_GP_MAX_DIM]; /* inverse length scales */
    double prior_rate[KB_GP_MAX_DIM], prior_signal;     /* where a fit starts */
    double correlation[KB_GP_MAX_GROUPS];       /* with group 0 */
    struct kb_gp_point {
        double y, white;        /* white: of root^-1 (y - mean) */
        size_t group;
    } *point;                   /* capacity */
    struct kb_gp_place {
        size_t n, room;         /* elements of its row known, and kept */
        double *row;            /* dim coordinates, then that row */
    } *place;                   /* KB_GP_MAX_PLACES */
    size_t kept;                /* elements of all places' rows */
    size_t told;                /* of them, what a garbage collector knows */
    double *root;               /* Cholesky factor, packed lower triangle */
    double *spare;              /* capacity: a row that is not kept */
    double x[];                 /* capacity rows of dim */
} kb_gp;

/* rate[0 .. dim-1] >= 0, the inverse length scales, copied. EINVAL, ENOMEM. */
KB_STATUS kb_gp_new(size_t dim, const double *rate,
                    const struct kb_gp_options *how, kb_gp **out);
void kb_gp_free(kb_gp *g);

/* Takes the measured point in. EINVAL; EEMPTY when there is no room left. */
KB_STATUS kb_gp_learn(kb_gp *g, const double *x, size_t group, double y);

/* Forgets all but the first `count` points, to the bit; nothing when there are
 * no more than that. */
void kb_gp_forget(kb_gp *g, size_t count);

/* Moves rates and signal to where the points of the group are most
 * likely, a normal prior on their logarithms held against it: centred at what
 * was given, of deviation `spread` (0 .. 2] for the rates and a third of that
 * for the signal. What another group than 0 gives is then the centre of later
 * fits. Coordinate ascent in steps of the deviation, then of half, so about
 * 4 dim factorings: O(dim n^3), and every place is forecast anew. EINVAL,
 * ENOMEM. */
KB_STATUS kb_gp_fit(kb_gp *g, size_t group, double spread);

/* Sets correlation(group), group > 0; every place is forecast anew. EINVAL. */
KB_STATUS kb_gp_correlate(kb_gp *g, size_t group, double correlation);

/* Log density of the points from number `first` (counted from 0) on, each given
 * all before it, up to a constant for each point: how well they were
 * forecast. */
double kb_gp_density(const kb_gp *g, size_t first);

/* Makes x a place and writes its number, 0, 1, ... EINVAL also when there are
 * KB_GP_MAX_PLACES; ENOMEM. */
KB_STATUS kb_gp_track(kb_gp *g, const double *x, size_t *place);

/* Mean and deviation of mean + c + f there, the noise apart; place < places. */
void kb_gp_at(kb_gp *g, size_t place, double *mean, double *deviation);

/* Expected improvement over best (Mockus, 1978): the mean of max(0, y - best)
 * at a place, y normal as kb_gp_at says. */
double kb_gp_improvement(kb_gp *g, size_t place, double best);

/* The covariance formula, group 0 on both sides and no level. */
double kb_gp_covariance(const kb_gp *g, const double *x, const double *z);
