/* logit.h - a logistic head: the chance of a yes, read from features.
 *
 *   p(x) = 1 / (1 + exp(-(b + w . x)))
 *
 * The last `buffer` samples (x, yes) sit in a ring. A fit minimises over them
 *
 *   J(b, w) = sum of log-loss + l2/2 |w|^2 + 1e-6/2 b^2
 *   log-loss = -ln p(x) for a yes, -ln(1 - p(x)) for a no
 *
 * The weights are shrunk, the bias is not; its last term is there only because
 * samples that all say yes have no finite fit without it, and moves others by
 * about 1e-6 of themselves. With l2 > 0, J is strictly convex and its minimum
 * is finite for any samples, separable ones too: the fit depends on what the
 * ring holds and on nothing before.
 *
 * Iteratively reweighted least squares (Newton's method; Hastie, Tibshirani and
 * Friedman, 2nd ed., section 4.4.1), started at the last fit or at 0, whichever
 * J prefers; a step is halved until it lowers J. It ends when the Newton
 * decrement sqrt(g' H^-1 g) is at most 1e-8, when J can no longer be lowered in
 * double precision, or after 25 steps.
 *
 * Features that are not finite, or beyond 1e50 in magnitude, are EINVAL.
 * new is the only call that allocates.
 */
#pragma once

#include "kb.h"

#define KB_LOGIT_LIMIT 1e50
#define KB_LOGIT_BIAS_L2 1e-6
#define KB_LOGIT_LEAST_L2 1e-6
#define KB_LOGIT_MOST_L2 1e12

enum {
    KB_LOGIT_MAX_DIM = 64,
    KB_LOGIT_MAX_BUFFER = 1 << 16,
    KB_LOGIT_MAX_STEPS = 25
};

struct kb_logit_options {
    double l2;                  /* KB_LOGIT_LEAST_L2 .. KB_LOGIT_MOST_L2 */
    size_t buffer;              /* samples kept, 1 .. KB_LOGIT_MAX_BUFFER */
};

/* { 1.0, 500 } */
extern const struct kb_logit_options kb_logit_defaults;

/* dim, count and weights may be read by all. Vectors have order = dim + 1
 * entries, the bias first; matrices are order x order, row after row, lower
 * triangle only. */
typedef struct kb_logit {
    struct kb_logit_options how;
    size_t dim, order;
    size_t count, next;         /* samples held; where the next one goes */
    bool stale;                 /* a sample came since the last fit */
    bool settled;               /* the last fit found the minimum of J, loss, and
                                 * at most one sample came since */
    double loss;
    double *weights, *trial;    /* { b, w[0] .. w[dim-1] } of the last fit */
    double *slope, *step;       /* gradient of J, Newton's step */
    double *curve, *root;       /* Hessian of J, its Cholesky factor */
    double *x;                  /* order columns of buffer, the first all 1 */
    double *yes;                /* buffer: 1 or 0 */
    double *residual, *share;   /* buffer: p - yes and p (1 - p) */
    double *shared;             /* buffer: a column of x times share */
    double data[];
} kb_logit;

/* EINVAL unless 1 <= dim <= KB_LOGIT_MAX_DIM and the options are in range;
 * ENOMEM. All weights start at 0, so that p is 1/2. */
KB_STATUS kb_logit_new(size_t dim, const struct kb_logit_options *how,
                       kb_logit **out);
void kb_logit_free(kb_logit *h);

/* Writes p(x) under the weights of the last fit; it never fits by itself.
 * EINVAL. */
KB_STATUS kb_logit_p(const kb_logit *h, const double *x, double *p);

/* Puts a sample in the ring, the oldest falling out of a full one. EINVAL,
 * and then h is unchanged. */
KB_STATUS kb_logit_learn(kb_logit *h, const double *x, bool yes);

/* Fits and returns the Newton steps taken: 0 when no sample came since
 * the last fit, or when the weights were right already. */
int kb_logit_fit(kb_logit *h);
