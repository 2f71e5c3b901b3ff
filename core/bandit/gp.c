#include "gp.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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
    double *root;               /* Cholesky factor, packed lower triangle */
    double *white;              /* root^-1 (y - mean) */
    double *spare;              /* capacity: a row that is not kept */
    size_t kept;                /* elements of all rows that are */
    struct place *place;
    double data[];
};

const struct kb_gp_options kb_gp_defaults = { 1, 0, 1, 0.1, 0, 0.5, 256 };

static bool within_limit(const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabs(x[i]) <= KB_GP_LIMIT))
            return false;
    return true;
}

static bool usable(const struct kb_gp_options *how)
{
    const double given[] = { how->scale, how->mean, how->level, how->noise,
                             how->keep, how->kin };
    if (!within_limit(given, sizeof given / sizeof given[0]))
        return false;
    return how->scale >= 1e-6 && how->level >= 1e-6
        && how->noise >= 1e-4 * how->scale && how->kin >= 0 && how->kin <= 1
        && how->keep >= 0 && how->keep < 1
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
    size_t *group = calloc(most, sizeof *group);
    if (!g || !group) {
        free(g);
        free(group);
        return KB_ENOMEM;
    }
    g->how = *how;
    g->dim = dim;
    g->group = group;
    g->rate = g->data;
    g->x = g->rate + dim;
    g->root = g->x + most * dim;
    g->white = g->root + packed;
    g->y = g->white + most;
    g->spare = g->y + most;
    g->given = g->spare + most;
    g->scale = how->scale;
    memcpy(g->rate, rate, dim * sizeof *rate);
    memcpy(g->given, rate, dim * sizeof *rate);
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

/* What difference `far` along axis d leaves of the covariance. */
static double left_of(const kb_gp *g, size_t d, double far)
{
    return g->how.keep + (1 - g->how.keep) * exp(-g->rate[d] * far);
}

/* The product of left_of over all axes but `but`. */
static double kinship(const kb_gp *g, const double *x, const double *z,
                      size_t but)
{
    double product = 1, sum = 0;
    for (size_t d = 0; d < g->dim; d++) {
        double far = fabs(x[d] - z[d]);
        if (!(far > 0) || d == but)
            continue;
        if (g->how.keep > 0)
            product *= left_of(g, d, far);
        else
            sum += g->rate[d] * far;
    }
    return sum > 0 ? exp(-sum) : product;
}

double kb_gp_covariance(const kb_gp *g, const double *x, const double *z)
{
    return g->how.scale * g->how.scale * kinship(g, x, z, g->dim);
}

/* With the group of either, and the level they may share. */
static double covariance(const kb_gp *g, const double *x, size_t a,
                         const double *z, size_t b)
{
    double c = kb_gp_covariance(g, x, z);
    return a == b ? c + g->how.level * g->how.level : c * g->how.kin;
}

static const double *root_row(const kb_gp *g, size_t i)
{
    return g->root + i * (i + 1) / 2;
}

/* Element j of the row of the factor that belongs to x: the covariance with
 * point j less what the elements before explain. */
static double solve(const kb_gp *g, const double *x, size_t group, size_t j,
                    const double *row)
{
    const double *rj = root_row(g, j);
    double left = covariance(g, x, group, g->x + j * g->dim, g->group[j]);
    for (size_t k = 0; k < j; k++)
        left -= row[k] * rj[k];
    return left / rj[j];
}

static double prior_variance(const kb_gp *g)
{
    return g->how.scale * g->how.scale + g->how.level * g->how.level;
}

/* Row n of the factor, from x, y and group of point n. */
static void factor(kb_gp *g, size_t n)
{
    double *row = g->root + n * (n + 1) / 2;
    const double *x = g->x + n * g->dim;
    double left = prior_variance(g) + g->how.noise * g->how.noise;
    double white = g->y[n] - g->how.mean;
    for (size_t j = 0; j < n; j++) {
        row[j] = solve(g, x, g->group[n], j, row);
        left -= row[j] * row[j];
        white -= row[j] * g->white[j];
    }
    /* Noise alone keeps the pivot above its square, but for rounding. */
    double least = g->how.noise * g->how.noise / 2;
    row[n] = sqrt(left > least ? left : least);
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
        .left = prior_variance(g), .mean = g->how.mean, .row = row
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
    double *row = g->spare;
    if (grow(g, p))
        row = p->row + g->dim;
    else
        memcpy(row, p->row + g->dim, p->n * sizeof *row);
    for (; now.n < g->count; now.n++) {
        double v = solve(g, p->row, 0, now.n, row);
        row[now.n] = v;
        now.left -= v * v;
        now.mean += v * g->white[now.n];
    }
    *mean = now.mean;
    *deviation = now.left > 0 ? sqrt(now.left) : 0;
    if (row == g->spare)
        return;
    p->n = now.n;
    p->left = now.left;
    p->mean = now.mean;
}

double kb_gp_excess(kb_gp *g, size_t place, double best)
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

/* What kb_gp_fit works on: the points of one group, and room. */
struct fit {
    size_t n, group;
    size_t *own;                /* n */
    double *rest;               /* kinship of every pair but along one axis */
    double *root, *white;       /* as in kb_gp */
    double z[KB_GP_MAX_DIM + 1], spread;
};

static void fit_free(struct fit *f)
{
    free(f->own);
    free(f->rest);
    free(f->root);
    free(f->white);
}

static kb_status fit_new(const kb_gp *g, size_t group, double spread,
                         struct fit *f)
{
    size_t most = g->count + 1, packed = most * (most + 1) / 2;
    *f = (struct fit){ .group = group, .spread = spread };
    f->own = malloc(most * sizeof *f->own);
    f->rest = malloc(packed * sizeof *f->rest);
    f->root = malloc(packed * sizeof *f->root);
    f->white = malloc(most * sizeof *f->white);
    if (!f->own || !f->rest || !f->root || !f->white) {
        fit_free(f);
        return KB_ENOMEM;
    }
    for (size_t i = 0; i < g->count; i++)
        if (g->group[i] == group)
            f->own[f->n++] = i;
    return KB_OK;
}

static const double *fit_x(const kb_gp *g, const struct fit *f, size_t i)
{
    return g->x + f->own[i] * g->dim;
}

/* Fills rest for a climb along axis d. */
static void set_apart(const kb_gp *g, struct fit *f, size_t d)
{
    double *rest = f->rest;
    for (size_t i = 0; i < f->n; i++)
        for (size_t j = 0; j <= i; j++)
            *rest++ = kinship(g, fit_x(g, f, i), fit_x(g, f, j), d);
}

/* What a fit makes as large as it can: the log density of the points, and of
 * z under its prior. set_apart(d) has been called. */
static double evidence(const kb_gp *g, struct fit *f, size_t d)
{
    double sum = 0, noise = g->how.noise * g->how.noise;
    double scale = g->how.scale * g->how.scale;
    double level = g->how.level * g->how.level;
    for (size_t i = 0; i < f->n; i++) {
        double *row = f->root + i * (i + 1) / 2;
        const double *rest = f->rest + i * (i + 1) / 2;
        double left = scale + level + noise;
        double y = g->y[f->own[i]] - g->how.mean;
        for (size_t j = 0; j < i; j++) {
            const double *rj = f->root + j * (j + 1) / 2;
            double c = scale * rest[j];
            double far = d == g->dim ? 0
                : fabs(fit_x(g, f, i)[d] - fit_x(g, f, j)[d]);
            if (far > 0)
                c *= left_of(g, d, far);
            c += level;
            for (size_t k = 0; k < j; k++)
                c -= row[k] * rj[k];
            row[j] = c / rj[j];
            left -= row[j] * row[j];
            y -= row[j] * f->white[j];
        }
        row[i] = sqrt(left > noise / 2 ? left : noise / 2);
        f->white[i] = y / row[i];
        sum -= f->white[i] * f->white[i] / 2 + log(row[i]);
    }
    for (size_t k = 0; k <= g->dim; k++)
        sum -= f->z[k] * f->z[k] / 2;
    return sum;
}

static void set(kb_gp *g, const struct fit *f, size_t d)
{
    if (d < g->dim)
        g->rate[d] = g->given[d] * exp(f->spread * f->z[d]);
    else
        g->how.scale = g->scale * exp(f->spread * f->z[d] / 3);
}

/* Moves z[d] by step while that helps, either way. */
static void climb(kb_gp *g, struct fit *f, size_t d, double step)
{
    set_apart(g, f, d);
    double best = evidence(g, f, d);
    for (int sign = -1; sign <= 1; sign += 2)
        for (;;) {
            double old = f->z[d];
            f->z[d] += sign * step;
            set(g, f, d);
            double e = fabs(f->z[d]) > 4 ? -HUGE_VAL : evidence(g, f, d);
            if (!(e > best + 1e-6)) {
                f->z[d] = old;
                set(g, f, d);
                break;
            }
            best = e;
        }
}

/* Whether the points differ along axis d; the scale always counts. */
static bool varies(const kb_gp *g, const struct fit *f, size_t d)
{
    for (size_t i = 1; d < g->dim && i < f->n; i++)
        if (fit_x(g, f, i)[d] != fit_x(g, f, 0)[d])
            return true;
    return d == g->dim;
}

kb_status kb_gp_fit(kb_gp *g, size_t group, double spread)
{
    struct fit f;
    if (!(spread > 0 && spread <= 2) || group >= KB_GP_MAX_GROUPS)
        return KB_EINVAL;
    kb_status st = fit_new(g, group, spread, &f);
    if (st)
        return st;
    for (size_t d = 0; d <= g->dim; d++)
        set(g, &f, d);
    for (double step = 1; step >= 0.5; step /= 2)
        for (size_t d = 0; d <= g->dim; d++)
            if (varies(g, &f, d))
                climb(g, &f, d, step);
    fit_free(&f);
    if (group != 0) {
        memcpy(g->given, g->rate, g->dim * sizeof *g->rate);
        g->scale = g->how.scale;
    }

    for (size_t i = 0; i < g->count; i++)
        factor(g, i);
    for (size_t i = 0; i < g->places; i++) {
        g->place[i].n = 0;
        g->place[i].left = prior_variance(g);
        g->place[i].mean = g->how.mean;
    }
    return KB_OK;
}
