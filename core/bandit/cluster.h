/* cluster.h - groups points that lie close, with ids that never change.
 *
 * Two ways in, over one state:
 *
 *   assign  one point at a time, as kernels join the pool. K-means++ over the
 *           first K distinct points must choose every one of them, since a
 *           point already chosen has weight 0; so the online form draws
 *           nothing: while fewer than K clusters are live, a point that
 *           equals (in every coordinate) the first member of a live cluster
 *           joins it, and any other point opens the next cluster. The n-th
 *           distinct point opens cluster n - 1. Once K are live each point
 *           joins the nearest. No earlier point ever changes its id.
 *   fit     all points at once, forgetting what was there: k-means++ seeding
 *           (Arthur and Vassilvitskii, 2007), then Lloyd's iterations.
 *
 * The centre of a cluster is the exact mean of its members, in raw units: with
 * n members, x has moved it by (x - centre) / n. Distance is Euclidean after
 * standardisation,
 *
 *   distance(x, i)^2 = sum over d of ((x[d] - centre(i)[d]) / deviation[d])^2
 *
 * where deviation[d] is the (population) standard deviation of coordinate d
 * over all points taken in so far, x itself not yet among them. It drifts as
 * points arrive and centres, being raw, do not have to be moved when it does.
 * A coordinate whose deviation is 0 (below 1e-50) counts 0: until it has
 * varied it is equal in all centres, so it could not tell them apart. The
 * running mean of standardisation cancels and does not appear.
 * Ties go to the lowest id.
 *
 * Coordinates that are not finite, or beyond 1e50 in magnitude, are EINVAL and
 * leave the state as it was.
 */
#pragma once

#include "kb.h"

#define KB_CLUSTER_LIMIT 1e50

enum {
    KB_CLUSTER_MAX_K = 64,
    KB_CLUSTER_MAX_DIM = 64,
    KB_CLUSTER_MAX_POINTS = 1 << 20,
    KB_CLUSTER_MAX_ROUNDS = 100
};

/* Read by all, written by the functions below alone. Ids are 0 .. live - 1. */
typedef struct kb_cluster {
    size_t k, dim, live;        /* clusters at most, and opened so far */
    uint64_t count[KB_CLUSTER_MAX_K];   /* members */
    double *centre;             /* k rows of dim, raw units */
    double *sum, *first;        /* k rows: of all members; who opened it */
    double *mean, *spread;      /* dim: Welford's mean and sum of squares */
    double *weight;             /* dim: 1 / variance, or 0 */
    uint64_t seed, seen;
    double data[];
} kb_cluster;

/* EINVAL unless 1 <= k <= KB_CLUSTER_MAX_K, 1 <= dim <= KB_CLUSTER_MAX_DIM;
 * ENOMEM. The seed serves fit alone. */
KB_STATUS kb_cluster_new(size_t k, size_t dim, uint64_t seed, kb_cluster **out);
void kb_cluster_free(kb_cluster *c);

/* Takes the point x[0 .. dim-1] in and writes its id. EINVAL. */
KB_STATUS kb_cluster_assign(kb_cluster *c, const double *x, size_t *id);

/* Writes the live cluster nearest to x and changes nothing: what assign would
 * answer, once K are live. EEMPTY when none is live; EINVAL. */
KB_STATUS kb_cluster_nearest(const kb_cluster *c, const double *x, size_t *id);

/* Replaces the whole state by the n points of x (row after row) and writes
 * the id of each to ids[0 .. n-1]. The answer is a function of the points,
 * their order and the seed.
 *   seeding   the first centre uniform among the points, each next one with
 *             weight distance^2 to the nearest chosen so far; fewer than K when
 *             every point coincides with a chosen one
 *   rounds    each point to its nearest centre; an empty cluster takes the
 *             point farthest from its own centre, out of a cluster of at least
 *             two (ties to the first listed); then centres to means; until no
 *             point moves, or KB_CLUSTER_MAX_ROUNDS
 *   ids       in order of the first member listed
 * Later assigns go on from there. n == 0 empties the state. EINVAL when
 * n > KB_CLUSTER_MAX_POINTS or on a bad coordinate; ENOMEM. */
KB_STATUS kb_cluster_fit(kb_cluster *c, const double *x, size_t n, size_t *ids);
