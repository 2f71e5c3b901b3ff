#include "gp.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A place and its row of the factor as far as it is known: solved[0 .. n-1]. */
struct place {
    size_t n, room;             /* elements of solved known, and kept */
    double variance, mean;      /* given the first n points */
    double *row;                /* dim coordinates, then room of solved */
};

struct kb_gp {
    struct kb_gp_options how;
    size_t dim, count, places, room;
    double *rate;               /* dim: inverse length scales */
    double *prior_rate, prior_signal;   /* where a fit starts */
    double correlation[KB_GP_MAX_GROUPS];       /* with group 0 */
    double *x;                  /* capacity rows of dim */
    double *y;                  /* capacity */
    double *root;               /* Cholesky factor, packed lower triangle */
    double *white;              /* root^-1 (y - mean) */
    double *spare;              /* capacity: a row that is not kept */
    size_t *group;              /* capacity */
    size_t kept;                /* elements of all rows that are */
    struct place *place;
    double data[];
};

const struct kb_gp_options kb_gp_defaults = { 1, 0, 1, 0.1, 0.5, 256 };

static bool within_limit(const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabs(x[i]) <= KB_GP_LIMIT))
            return false;
    return true;
}

static bool usable(const struct kb_gp_options *how)
{
    const double given[] = { how->signal, how->mean, how->level, how->noise };
    return within_limit(given, sizeof given / sizeof given[0])
        && how->signal >= 1e-6 && how->level >= 1e-6
        && how->noise >= 1e-4 * how->signal
        && how->correlation >= 0 && how->correlation <= 1
        && how->capacity >= 1 && how->capacity <= KB_GP_MAX_CAPACITY;
}

kb_status kb_gp_new(size_t dim, const double *rate,
                    const struct kb_gp_options *how, kb_gp **out)
{
    if (dim < 1 || dim > KB_GP_MAX_DIM || !usable(how)
        || !within_limit(rate, dim))
        return KB_EINVAL;
    for (size_t d = 0; d < dim; d++)
        if (rate[d] < 0)
            return KB_EINVAL;

    size_t most = how->capacity, packed = most * (most + 1) / 2;
    size_t doubles = 2 * dim + most * dim + packed + 3 * most;
    kb_gp *g = calloc(1, sizeof *g + doubles * sizeof g->data[0]);
    if (!g)
        return KB_ENOMEM;
    g->group = calloc(most, sizeof *g->group);
    if (!g->group) {
        free(g);
        return KB_ENOMEM;
    }
    g->how = *how;
    g->dim = dim;
    g->rate = g->data;
    g->prior_rate = g->rate + dim;
    g->x = g->prior_rate + dim;
    g->root = g->x + most * dim;
    g->white = g->root + packed;
    g->y = g->white + most;
    g->spare = g->y + most;
    g->prior_signal = how->signal;
    for (size_t i = 0; i < KB_GP_MAX_GROUPS; i++)
        g->correlation[i] = i ? how->correlation : 1;
    memcpy(g->rate, rate, dim * sizeof *rate);
    memcpy(g->prior_rate, rate, dim * sizeof *rate);
    *out = g;
    return KB_OK;
}

void kb_gp_free(kb_gp *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->places; i++)
        free(g->place[i].row);
    free(g->place);
    free(g->group);
    free(g);
}

size_t kb_gp_dim(const kb_gp *g)
{
    return g->dim;
}

size_t kb_gp_count(const kb_gp *g)
{
    return g->count;
}

size_t kb_gp_places(const kb_gp *g)
{
    return g->places;
}

double kb_gp_covariance(const kb_gp *g, const double *x, const double *z)
{
    double product = 1;
    for (size_t d = 0; d < g->dim; d++)
        if (x[d] != z[d])
            product *= exp(-g->rate[d] * fabs(x[d] - z[d]));
    return g->how.signal * g->how.signal * product;
}

static double prior_variance(const kb_gp *g)
{
    return g->how.signal * g->how.signal + g->how.level * g->how.level;
}

/* Element j of the row of the factor that belongs to x: the covariance with
 * point j less what the elements before explain. */
static double solve(const kb_gp *g, const double *x, size_t group, size_t j,
                    const double *row)
{
    const double *rj = g->root + j * (j + 1) / 2;
    double left = kb_gp_covariance(g, x, g->x + j * g->dim);
    if (group == g->group[j])
        left += g->how.level * g->how.level;
    else
        left *= g->correlation[group] * g->correlation[g->group[j]];
    for (size_t k = 0; k < j; k++)
        left -= row[k] * rj[k];
    return left / rj[j];
}

/* Row n of the factor, from x, y and group of point n. */
static void factor(kb_gp *g, size_t n)
{
    double *row = g->root + n * (n + 1) / 2;
    double left = prior_variance(g) + g->how.noise * g->how.noise;
    double white = g->y[n] - g->how.mean;
    for (size_t j = 0; j < n; j++) {
        row[j] = solve(g, g->x + n * g->dim, g->group[n], j, row);
        left -= row[j] * row[j];
        white -= row[j] * g->white[j];
    }
    /* Noise alone keeps the pivot above its square, but for rounding. */
    row[n] = sqrt(fmax(left, g->how.noise * g->how.noise / 2));
    g->white[n] = white / row[n];
}

kb_status kb_gp_learn(kb_gp *g, const double *x, size_t group, double y)
{
    if (!within_limit(x, g->dim) || !within_limit(&y, 1)
        || group >= KB_GP_MAX_GROUPS)
        return KB_EINVAL;
    size_t n = g->count;
    if (n == g->how.capacity)
        return KB_EEMPTY;
    memcpy(g->x + n * g->dim, x, g->dim * sizeof *x);
    g->group[n] = group;
    g->y[n] = y;
    factor(g, n);
    g->count++;
    return KB_OK;
}

kb_status kb_gp_track(kb_gp *g, const double *x, size_t *place)
{
    if (!within_limit(x, g->dim) || g->places == KB_GP_MAX_PLACES)
        return KB_EINVAL;
    if (g->places == g->room) {
        size_t room = g->room ? 2 * g->room : 64;
        struct place *more = realloc(g->place, room * sizeof *more);
        if (!more)
            return KB_ENOMEM;
        g->place = more;
        g->room = room;
    }
    double *row = malloc(g->dim * sizeof *row);
    if (!row)
        return KB_ENOMEM;
    memcpy(row, x, g->dim * sizeof *x);
    g->place[g->places] = (struct place){
        .variance = prior_variance(g), .mean = g->how.mean, .row = row
    };
    *place = g->places++;
    return KB_OK;
}

/* Whether the place's row has room for all points; it grows as they come. */
static bool grow(kb_gp *g, struct place *p)
{
    size_t room = p->room ? p->room : 16;
    if (g->count <= p->room)
        return true;
    while (room < g->count)
        room *= 2;
    if (room > g->how.capacity)
        room = g->how.capacity;
    if (g->kept - p->room + room > KB_GP_KEPT_BYTES / sizeof *p->row)
        return false;
    double *row = realloc(p->row, (g->dim + room) * sizeof *row);
    if (!row)
        return false;
    g->kept += room - p->room;
    p->row = row;
    p->room = room;
    return true;
}

void kb_gp_at(kb_gp *g, size_t place, double *mean, double *deviation)
{
    assert(place < g->places);
    struct place *p = &g->place[place], now = *p;
    bool keeps = grow(g, p);
    double *row = keeps ? p->row + g->dim : g->spare;
    if (!keeps)
        memcpy(row, p->row + g->dim, p->n * sizeof *row);
    for (; now.n < g->count; now.n++) {
        double v = solve(g, p->row, 0, now.n, row);
        row[now.n] = v;
        now.variance -= v * v;
        now.mean += v * g->white[now.n];
    }
    *mean = now.mean;
    *deviation = now.variance > 0 ? sqrt(now.variance) : 0;
    if (keeps) {
        p->n = now.n;
        p->variance = now.variance;
        p->mean = now.mean;
    }
}

/* A place as it was when the first n points were known. */
static void rewind_place(const kb_gp *g, struct place *p, size_t n)
{
    p->n = n;
    p->variance = prior_variance(g);
    p->mean = g->how.mean;
    for (size_t j = 0; j < n; j++) {
        double v = p->row[g->dim + j];
        p->variance -= v * v;
        p->mean += v * g->white[j];
    }
}

void kb_gp_forget(kb_gp *g, size_t count)
{
    if (count >= g->count)
        return;
    g->count = count;
    for (size_t i = 0; i < g->places; i++)
        if (g->place[i].n > count)
            rewind_place(g, &g->place[i], count);
}

double kb_gp_improvement(kb_gp *g, size_t place, double best)
{
    double mean, deviation;
    kb_gp_at(g, place, &mean, &deviation);
    double ahead = mean - best;
    if (!(deviation > 1e-12))
        return ahead > 0 ? ahead : 0;
    double z = ahead / deviation;
    double density = exp(-z * z / 2) * 0.3989422804014327;
    double value = ahead * erfc(-z * 0.7071067811865476) / 2
                 + deviation * density;
    return value > 0 ? value : 0;
}

double kb_gp_density(const kb_gp *g, size_t first)
{
    double sum = 0;
    for (size_t i = first; i < g->count; i++)
        sum -= g->white[i] * g->white[i] / 2
             + log(g->root[i * (i + 1) / 2 + i]);
    return sum;
}

/* The fit: coordinate ascent on the log density of a group's points. ---------- */

struct fit {
    kb_gp *own;                 /* the points of the group, and no others */
    const kb_gp *prior;
    double z[KB_GP_MAX_DIM + 1];        /* moves, in deviations of the prior */
    double spread;
};

/* Factors all points anew, as rates, signal or a correlation have moved. */
static void refactor(kb_gp *g)
{
    for (size_t i = 0; i < g->count; i++)
        factor(g, i);
    for (size_t i = 0; i < g->places; i++)
        rewind_place(g, &g->place[i], 0);
}

/* Axis d moves to z; d == dim is the signal. */
static void move(struct fit *f, size_t d, double z)
{
    f->z[d] = z;
    if (d < f->own->dim)
        f->own->rate[d] = f->prior->prior_rate[d] * exp(f->spread * z);
    else
        f->own->how.signal = f->prior->prior_signal * exp(f->spread * z / 3);
}

/* What a fit makes as large as it can: the log density of the points, and of
 * z under its prior. */
static double evidence(struct fit *f)
{
    refactor(f->own);
    double sum = kb_gp_density(f->own, 0);
    for (size_t d = 0; d <= f->own->dim; d++)
        sum -= f->z[d] * f->z[d] / 2;
    return sum;
}

/* Moves z[d] by step while that helps, either way. */
static void climb(struct fit *f, size_t d, double step)
{
    double best = evidence(f);
    for (int sign = -1; sign <= 1; sign += 2)
        for (;;) {
            double old = f->z[d];
            move(f, d, old + sign * step);
            double e = fabs(f->z[d]) > 4 ? -HUGE_VAL : evidence(f);
            if (!(e > best + 1e-6)) {
                move(f, d, old);
                break;
            }
            best = e;
        }
}

/* Whether the points differ along axis d; the signal always counts. */
static bool varies(const kb_gp *g, size_t d)
{
    for (size_t i = 1; d < g->dim && i < g->count; i++)
        if (g->x[i * g->dim + d] != g->x[d])
            return true;
    return d == g->dim;
}

static kb_status own_points(const kb_gp *g, size_t group, kb_gp **out)
{
    struct kb_gp_options how = g->how;
    how.capacity = g->count ? g->count : 1;
    kb_status st = kb_gp_new(g->dim, g->prior_rate, &how, out);
    for (size_t i = 0; !st && i < g->count; i++)
        if (g->group[i] == group)
            st = kb_gp_learn(*out, g->x + i * g->dim, 0, g->y[i]);
    return st;
}

kb_status kb_gp_fit(kb_gp *g, size_t group, double spread)
{
    struct fit f = { .prior = g, .spread = spread };
    if (!(spread > 0 && spread <= 2) || group >= KB_GP_MAX_GROUPS)
        return KB_EINVAL;
    kb_status st = own_points(g, group, &f.own);
    if (st)
        return st;
    for (size_t d = 0; d <= g->dim; d++)
        move(&f, d, 0);
    for (double step = 1; step >= 0.5; step /= 2)
        for (size_t d = 0; d <= g->dim; d++)
            if (varies(f.own, d))
                climb(&f, d, step);
    memcpy(g->rate, f.own->rate, g->dim * sizeof *g->rate);
    g->how.signal = f.own->how.signal;
    kb_gp_free(f.own);
    if (group != 0) {
        memcpy(g->prior_rate, g->rate, g->dim * sizeof *g->rate);
        g->prior_signal = g->how.signal;
    }
    refactor(g);
    return KB_OK;
}

kb_status kb_gp_correlate(kb_gp *g, size_t group, double correlation)
{
    if (group == 0 || group >= KB_GP_MAX_GROUPS
        || !(correlation >= 0 && correlation <= 1))
        return KB_EINVAL;
    g->correlation[group] = correlation;
    refactor(g);
    return KB_OK;
}
