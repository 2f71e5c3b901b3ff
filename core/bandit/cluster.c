#include "cluster.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "rng.h"

struct kb_cluster {
    size_t k, dim, live;
    uint64_t seed, seen;
    double *mean, *spread;      /* dim: Welford's mean and sum of squares */
    double *weight;             /* dim: 1 / variance, or 0 */
    double *sum, *centre;       /* k rows of dim, raw */
    double *first;              /* k rows of dim: who opened the cluster */
    uint64_t count[KB_CLUSTER_MAX_K];
    double data[];
};

/* What a fit needs and forgets. Rows are standardised points. */
struct fit {
    size_t n, dim, live;
    double *z;                  /* n rows */
    double *near;               /* n: distance^2 to the own centre */
    double *centre;             /* k rows */
    size_t count[KB_CLUSTER_MAX_K];
    size_t *id;                 /* n, the caller's */
};

static const double least_variance = 1e-100;

kb_status kb_cluster_new(size_t k, size_t dim, uint64_t seed, kb_cluster **out)
{
    if (k < 1 || k > KB_CLUSTER_MAX_K || dim < 1 || dim > KB_CLUSTER_MAX_DIM)
        return KB_EINVAL;

    size_t doubles = 3 * dim + 3 * k * dim;
    kb_cluster *c = calloc(1, sizeof *c + doubles * sizeof c->data[0]);
    if (!c)
        return KB_ENOMEM;
    c->k = k;
    c->dim = dim;
    c->seed = seed;
    c->mean = c->data;
    c->spread = c->mean + dim;
    c->weight = c->spread + dim;
    c->sum = c->weight + dim;
    c->centre = c->sum + k * dim;
    c->first = c->centre + k * dim;
    *out = c;
    return KB_OK;
}

void kb_cluster_free(kb_cluster *c)
{
    free(c);
}

size_t kb_cluster_k(const kb_cluster *c)
{
    return c->k;
}

size_t kb_cluster_dim(const kb_cluster *c)
{
    return c->dim;
}

size_t kb_cluster_live(const kb_cluster *c)
{
    return c->live;
}

uint64_t kb_cluster_count(const kb_cluster *c, size_t id)
{
    assert(id < c->k);
    return c->count[id];
}

const double *kb_cluster_centre(const kb_cluster *c, size_t id)
{
    assert(id < c->live);
    return c->centre + id * c->dim;
}

/* False when a coordinate is NaN too. */
static bool usable_points(const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabs(x[i]) <= KB_CLUSTER_LIMIT))
            return false;
    return true;
}

static bool same_point(const double *a, const double *b, size_t dim)
{
    for (size_t d = 0; d < dim; d++)
        if (a[d] != b[d])
            return false;
    return true;
}

static size_t nearest_live(const kb_cluster *c, const double *x)
{
    size_t best = 0;
    double least = INFINITY;
    for (size_t id = 0; id < c->live; id++) {
        const double *centre = c->centre + id * c->dim;
        double square = 0;
        for (size_t d = 0; d < c->dim; d++) {
            double apart = x[d] - centre[d];
            square += apart * apart * c->weight[d];
        }
        if (square < least) {
            least = square;
            best = id;
        }
    }
    return best;
}

/* Makes x a member of cluster id, opening it when x is its first. */
static void join(kb_cluster *c, size_t id, const double *x)
{
    size_t row = id * c->dim;
    if (c->count[id] == 0)
        memcpy(c->first + row, x, c->dim * sizeof *x);
    c->count[id]++;
    for (size_t d = 0; d < c->dim; d++) {
        c->sum[row + d] += x[d];
        c->centre[row + d] = c->sum[row + d] / (double)c->count[id];
    }
}

static double weight_of(double variance)
{
    return variance > least_variance ? 1 / variance : 0;
}

/* Welford's update: no cancellation, and exactly 0 for a constant. */
static void observe(kb_cluster *c, const double *x)
{
    double n = (double)++c->seen;
    for (size_t d = 0; d < c->dim; d++) {
        double before = x[d] - c->mean[d];
        c->mean[d] += before / n;
        c->spread[d] += before * (x[d] - c->mean[d]);
        c->weight[d] = weight_of(c->spread[d] / n);
    }
}

static size_t place(const kb_cluster *c, const double *x)
{
    if (c->live == c->k)
        return nearest_live(c, x);
    size_t id = 0;
    while (id < c->live && !same_point(c->first + id * c->dim, x, c->dim))
        id++;
    return id;
}

kb_status kb_cluster_assign(kb_cluster *c, const double *x, size_t *id)
{
    if (!usable_points(x, c->dim))
        return KB_EINVAL;
    size_t to = place(c, x);
    if (to == c->live)
        c->live++;
    join(c, to, x);
    observe(c, x);
    *id = to;
    return KB_OK;
}

kb_status kb_cluster_nearest(const kb_cluster *c, const double *x, size_t *id)
{
    if (!usable_points(x, c->dim))
        return KB_EINVAL;
    if (c->live == 0)
        return KB_EEMPTY;
    *id = nearest_live(c, x);
    return KB_OK;
}

static void forget(kb_cluster *c)
{
    size_t doubles = 3 * c->dim + 3 * c->k * c->dim;
    memset(c->data, 0, doubles * sizeof c->data[0]);
    memset(c->count, 0, sizeof c->count);
    c->live = 0;
    c->seen = 0;
}

static double square_apart(const double *a, const double *b, size_t dim)
{
    double square = 0;
    for (size_t d = 0; d < dim; d++)
        square += (a[d] - b[d]) * (a[d] - b[d]);
    return square;
}

/* Rows of f->z = (x - mean) / deviation, of a state that has observed all. */
static void standardise(struct fit *f, const kb_cluster *c, const double *x)
{
    for (size_t i = 0; i < f->n; i++)
        for (size_t d = 0; d < f->dim; d++) {
            size_t at = i * f->dim + d;
            f->z[at] = (x[at] - c->mean[d]) * sqrt(c->weight[d]);
        }
}

/* The index that a draw of u in [0, 1) lands on when index i is as wide as
 * width[i]; never one of width 0. */
static size_t land(const double *width, size_t n, double total, double u)
{
    double left = u * total;
    size_t last = 0;
    for (size_t i = 0; i < n; i++) {
        if (!(width[i] > 0))
            continue;
        last = i;
        if (left < width[i])
            break;
        left -= width[i];
    }
    return last;
}

static void seed_centres(struct fit *f, size_t k, uint64_t seed)
{
    struct kb_rng rng;
    kb_rng_seed(&rng, seed);
    for (size_t i = 0; i < f->n; i++)
        f->near[i] = INFINITY;

    size_t at = (size_t)kb_rng_below(&rng, f->n);
    for (f->live = 0; f->live < k;) {
        double *centre = f->centre + f->live++ * f->dim;
        memcpy(centre, f->z + at * f->dim, f->dim * sizeof *centre);
        double total = 0;
        for (size_t i = 0; i < f->n; i++) {
            double square = square_apart(f->z + i * f->dim, centre, f->dim);
            if (square < f->near[i])
                f->near[i] = square;
            total += f->near[i];
        }
        if (!(total > 0))
            break;
        at = land(f->near, f->n, total, kb_rng_uniform(&rng));
    }
}

/* Sends every point to its nearest centre; says whether any moved. */
static bool reassign(struct fit *f)
{
    bool moved = false;
    memset(f->count, 0, sizeof f->count);
    for (size_t i = 0; i < f->n; i++) {
        const double *z = f->z + i * f->dim;
        size_t best = 0;
        double least = INFINITY;
        for (size_t id = 0; id < f->live; id++) {
            double square = square_apart(z, f->centre + id * f->dim, f->dim);
            best = square < least ? id : best;
            least = square < least ? square : least;
        }
        moved |= best != f->id[i];
        f->id[i] = best;
        f->near[i] = least;
        f->count[best]++;
    }
    return moved;
}

/* There are at least as many distinct points as clusters, so while one is
 * empty another holds two that differ, and a point worth taking exists. */
static void refill(struct fit *f)
{
    for (size_t id = 0; id < f->live; id++) {
        if (f->count[id] > 0)
            continue;
        size_t far = f->n;
        for (size_t i = 0; i < f->n; i++)
            if (f->count[f->id[i]] > 1
                && (far == f->n || f->near[i] > f->near[far]))
                far = i;
        assert(far < f->n);
        f->count[f->id[far]]--;
        f->count[id] = 1;
        f->id[far] = id;
        f->near[far] = 0;
    }
}

static void recentre(struct fit *f)
{
    memset(f->centre, 0, f->live * f->dim * sizeof *f->centre);
    for (size_t i = 0; i < f->n; i++) {
        double *centre = f->centre + f->id[i] * f->dim;
        for (size_t d = 0; d < f->dim; d++)
            centre[d] += f->z[i * f->dim + d];
    }
    for (size_t id = 0; id < f->live; id++)
        for (size_t d = 0; d < f->dim; d++)
            f->centre[id * f->dim + d] /= (double)f->count[id];
}

static void lloyd(struct fit *f)
{
    for (size_t i = 0; i < f->n; i++)
        f->id[i] = f->live;
    for (int round = 0; round < KB_CLUSTER_MAX_ROUNDS; round++) {
        bool moved = reassign(f);
        refill(f);
        if (!moved)
            break;
        recentre(f);
    }
}

/* Takes the found grouping over into c, clusters in order of first member. */
static void adopt(kb_cluster *c, const struct fit *f, const double *x)
{
    size_t name[KB_CLUSTER_MAX_K];
    for (size_t id = 0; id < f->live; id++)
        name[id] = f->live;
    for (size_t i = 0; i < f->n; i++) {
        size_t old = f->id[i];
        if (name[old] == f->live)
            name[old] = c->live++;
        f->id[i] = name[old];
        join(c, f->id[i], x + i * c->dim);
    }
}

kb_status kb_cluster_fit(kb_cluster *c, const double *x, size_t n, size_t *ids)
{
    if (n > KB_CLUSTER_MAX_POINTS || !usable_points(x, n * c->dim))
        return KB_EINVAL;
    if (n == 0) {
        forget(c);
        return KB_OK;
    }

    size_t doubles = n * c->dim + n + c->k * c->dim;
    double *work = calloc(doubles, sizeof *work);
    if (!work)
        return KB_ENOMEM;
    struct fit f = { .n = n, .dim = c->dim, .id = ids };
    f.z = work;
    f.near = f.z + n * c->dim;
    f.centre = f.near + n;
    forget(c);
    for (size_t i = 0; i < n; i++)
        observe(c, x + i * c->dim);
    standardise(&f, c, x);
    seed_centres(&f, c->k, c->seed);
    lloyd(&f);
    adopt(c, &f, x);
    free(work);
    return KB_OK;
}
