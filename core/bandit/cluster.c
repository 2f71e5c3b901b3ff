#include "cluster.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rng.h"
#include "vector.h"

static const double least_variance = 1e-100;

static size_t doubles(const kb_cluster *c)
{
    return 3 * c->dim + 3 * c->k * c->dim;
}

kb_status kb_cluster_new(size_t k, size_t dim, uint64_t seed, kb_cluster **out)
{
    if (k < 1 || k > KB_CLUSTER_MAX_K || dim < 1 || dim > KB_CLUSTER_MAX_DIM)
        return KB_EINVAL;
    const kb_cluster head = { .k = k, .dim = dim, .seed = seed };
    kb_cluster *c = calloc(1, sizeof *c + doubles(&head) * sizeof c->data[0]);
    if (!c)
        return KB_ENOMEM;
    *c = head;
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

static bool same_point(const double *a, const double *b, size_t dim)
{
    for (size_t d = 0; d < dim; d++)
        if (a[d] != b[d])
            return false;
    return true;
}

/* Distance of x from centre, squared; see the header. */
static double square_apart(const kb_cluster *c, const double *x,
                           const double *centre)
{
    double square = 0;
    for (size_t d = 0; d < c->dim; d++) {
        double apart = x[d] - centre[d];
        square += apart * apart * c->weight[d];
    }
    return square;
}

/* The live cluster whose centre is nearest to x, and its distance, squared. */
static size_t nearest_live(const kb_cluster *c, const double *x, double *apart)
{
    size_t best = 0;
    double least = INFINITY;
    for (size_t id = 0; id < c->live; id++) {
        double square = square_apart(c, x, c->centre + id * c->dim);
        if (square < least) {
            least = square;
            best = id;
        }
    }
    *apart = least;
    return best;
}

/* Makes x a member of cluster id, opening it when x is its first. */
static void add(kb_cluster *c, size_t id, const double *x)
{
    size_t row = id * c->dim;
    if (c->count[id] == 0)
        memcpy(c->first + row, x, c->dim * sizeof *x);
    c->count[id]++;
    for (size_t d = 0; d < c->dim; d++)
        c->sum[row + d] += x[d];
}

static void recentre(kb_cluster *c, size_t id)
{
    size_t row = id * c->dim;
    for (size_t d = 0; d < c->dim; d++)
        c->centre[row + d] = c->sum[row + d] / (double)c->count[id];
}

/* Welford's update: no cancellation, and exactly 0 for a constant. */
static void observe(kb_cluster *c, const double *x)
{
    double n = (double)++c->seen;
    for (size_t d = 0; d < c->dim; d++) {
        double before = x[d] - c->mean[d];
        c->mean[d] += before / n;
        c->spread[d] += before * (x[d] - c->mean[d]);
        double variance = c->spread[d] / n;
        c->weight[d] = variance > least_variance ? 1 / variance : 0;
    }
}

kb_status kb_cluster_assign(kb_cluster *c, const double *x, size_t *id)
{
    double apart;
    if (!kb_within(x, c->dim, KB_CLUSTER_LIMIT))
        return KB_EINVAL;
    *id = 0;
    if (c->live == c->k)
        *id = nearest_live(c, x, &apart);
    else
        while (*id < c->live && !same_point(c->first + *id * c->dim, x, c->dim))
            ++*id;
    if (*id == c->live)
        c->live++;
    add(c, *id, x);
    recentre(c, *id);
    observe(c, x);
    return KB_OK;
}

kb_status kb_cluster_nearest(const kb_cluster *c, const double *x, size_t *id)
{
    double apart;
    if (!kb_within(x, c->dim, KB_CLUSTER_LIMIT))
        return KB_EINVAL;
    if (c->live == 0)
        return KB_EEMPTY;
    *id = nearest_live(c, x, &apart);
    return KB_OK;
}

/* The fit: n points, row after row, and of each its cluster and the square of
 * its distance from that one's centre. -------------------------------------- */

struct fit {
    kb_cluster *c;
    const double *x;
    size_t n, *id;
    double *apart;
};

static const double *point(const struct fit *f, size_t i)
{
    return f->x + i * f->c->dim;
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

static void seed_centres(struct fit *f)
{
    kb_cluster *c = f->c;
    struct kb_rng rng;
    kb_rng_seed(&rng, c->seed);
    for (size_t i = 0; i < f->n; i++)
        f->apart[i] = INFINITY;

    size_t at = (size_t)kb_rng_below(&rng, f->n);
    while (c->live < c->k) {
        double *centre = c->centre + c->live++ * c->dim;
        memcpy(centre, point(f, at), c->dim * sizeof *centre);
        double total = 0;
        for (size_t i = 0; i < f->n; i++) {
            double square = square_apart(c, point(f, i), centre);
            f->apart[i] = fmin(f->apart[i], square);
            total += f->apart[i];
        }
        if (!(total > 0))
            break;
        at = land(f->apart, f->n, total, kb_rng_uniform(&rng));
    }
}

/* Sends every point to its nearest centre; says whether any moved. */
static bool reassign(struct fit *f)
{
    bool moved = false;
    memset(f->c->count, 0, sizeof f->c->count);
    for (size_t i = 0; i < f->n; i++) {
        size_t best = nearest_live(f->c, point(f, i), &f->apart[i]);
        moved |= best != f->id[i];
        f->id[i] = best;
        f->c->count[best]++;
    }
    return moved;
}

/* There are at least as many distinct points as clusters, so while one is
 * empty another holds two that differ, and a point worth taking exists. */
static void refill(struct fit *f)
{
    uint64_t *count = f->c->count;
    for (size_t id = 0; id < f->c->live; id++) {
        if (count[id] > 0)
            continue;
        size_t far = f->n;
        for (size_t i = 0; i < f->n; i++)
            if (count[f->id[i]] > 1
                && (far == f->n || f->apart[i] > f->apart[far]))
                far = i;
        assert(far < f->n);
        count[f->id[far]]--;
        count[id] = 1;
        f->id[far] = id;
        f->apart[far] = 0;
    }
}

/* Clusters of the points as they are assigned, and no others. */
static void gather(struct fit *f)
{
    kb_cluster *c = f->c;
    memset(c->count, 0, sizeof c->count);
    memset(c->sum, 0, c->k * c->dim * sizeof *c->sum);
    for (size_t i = 0; i < f->n; i++)
        add(c, f->id[i], point(f, i));
    for (size_t id = 0; id < c->live; id++)
        recentre(c, id);
}

static void lloyd(struct fit *f)
{
    for (size_t i = 0; i < f->n; i++)
        f->id[i] = f->c->live;
    for (int round = 0; round < KB_CLUSTER_MAX_ROUNDS; round++) {
        bool moved = reassign(f);
        refill(f);
        if (!moved)
            break;
        gather(f);
    }
}

/* Numbers the clusters in order of their first members. */
static void rename_clusters(struct fit *f)
{
    size_t name[KB_CLUSTER_MAX_K], next = 0;
    for (size_t id = 0; id < f->c->live; id++)
        name[id] = f->c->live;
    for (size_t i = 0; i < f->n; i++) {
        size_t *own = &name[f->id[i]];
        if (*own == f->c->live)
            *own = next++;
        f->id[i] = *own;
    }
    gather(f);
}

kb_status kb_cluster_fit(kb_cluster *c, const double *x, size_t n, size_t *ids)
{
    if (n > KB_CLUSTER_MAX_POINTS
        || !kb_within(x, n * c->dim, KB_CLUSTER_LIMIT))
        return KB_EINVAL;
    struct fit f = { c, x, n, ids, calloc(n + 1, sizeof *f.apart) };
    if (!f.apart)
        return KB_ENOMEM;
    memset(c->data, 0, doubles(c) * sizeof c->data[0]);
    memset(c->count, 0, sizeof c->count);
    c->live = 0;
    c->seen = 0;
    for (size_t i = 0; i < n; i++)
        observe(c, point(&f, i));
    if (n > 0) {
        seed_centres(&f);
        lloyd(&f);
        rename_clusters(&f);
    }
    free(f.apart);
    return KB_OK;
}
