#include "gp.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "vector.h"

const struct kb_gp_options kb_gp_defaults = { 1, 0, 1, 0.1, 0.5, 256 };

static bool usable(size_t dim, const double *rate,
                   const struct kb_gp_options *how)
{
    const double given[] = { how->signal, how->mean, how->level, how->noise };
    if (dim < 1 || dim > KB_GP_MAX_DIM || !kb_within(rate, dim, KB_GP_LIMIT))
        return false;
    for (size_t d = 0; d < dim; d++)
        if (rate[d] < 0)
            return false;
    return kb_within(given, 4, KB_GP_LIMIT)
        && how->signal >= 1e-6 && how->level >= 1e-6
        && how->noise >= 1e-4 * how->signal
        && how->correlation >= 0 && how->correlation <= 1
        && how->capacity >= 1 && how->capacity <= KB_GP_MAX_CAPACITY;
}

kb_status kb_gp_new(size_t dim, const double *rate,
                    const struct kb_gp_options *how, kb_gp **out)
{
    if (!usable(dim, rate, how))
        return KB_EINVAL;
    size_t most = how->capacity, packed = most * (most + 1) / 2;
    size_t doubles = most * (dim + 1) + packed;
    kb_gp *g = calloc(1, sizeof *g + doubles * sizeof g->x[0]);
    if (!g)
        return KB_ENOMEM;
    g->point = calloc(most, sizeof *g->point);
    g->place = calloc(KB_GP_MAX_PLACES, sizeof *g->place);
    kb_status st = g->point && g->place ? KB_OK : KB_ENOMEM;
    g->how = *how;
    g->dim = dim;
    g->root = g->x + most * dim;
    g->spare = g->root + packed;
    g->prior_signal = how->signal;
    for (size_t i = 0; i < KB_GP_MAX_GROUPS; i++)
        g->correlation[i] = i ? how->correlation : 1;
    memcpy(g->rate, rate, dim * sizeof *rate);
    memcpy(g->prior_rate, rate, dim * sizeof *rate);
    return KB_HAND_OVER(st, g, kb_gp_free, out);
}

void kb_gp_free(kb_gp *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->places; i++)
        free(g->place[i].row);
    free(g->place);
    free(g->point);
    free(g);
}

double kb_gp_covariance(const kb_gp *g, const double *x, const double *z)
{
    double far = 0;
    for (size_t d = 0; d < g->dim; d++)
        far += g->rate[d] * fabs(x[d] - z[d]);
    return g->how.signal * g->how.signal * exp(-far);
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
    size_t other = g->point[j].group;
    double left = kb_gp_covariance(g, x, g->x + j * g->dim);
    if (group == other)
        left += g->how.level * g->how.level;
    else
        left *= g->correlation[group] * g->correlation[other];
    return (left - kb_dot(row, rj, j)) / rj[j];
}

/* Row n of the factor, from x, y and group of point n. */
static void factor(kb_gp *g, size_t n)
{
    double *row = g->root + n * (n + 1) / 2;
    double noise2 = g->how.noise * g->how.noise;
    double left = prior_variance(g) + noise2;
    struct kb_gp_point *p = &g->point[n];
    double white = p->y - g->how.mean;
    for (size_t j = 0; j < n; j++) {
        row[j] = solve(g, g->x + n * g->dim, p->group, j, row);
        left -= row[j] * row[j];
        white -= row[j] * g->point[j].white;
    }
    /* Noise alone keeps the pivot above its square, but for rounding. */
    row[n] = sqrt(fmax(left, noise2 / 2));
    p->white = white / row[n];
}

kb_status kb_gp_learn(kb_gp *g, const double *x, size_t group, double y)
{
    size_t n = g->count;
    if (!kb_within(x, g->dim, KB_GP_LIMIT) || !kb_within(&y, 1, KB_GP_LIMIT)
        || group >= KB_GP_MAX_GROUPS)
        return KB_EINVAL;
    if (n == g->how.capacity)
        return KB_EEMPTY;
    memcpy(g->x + n * g->dim, x, g->dim * sizeof *x);
    g->point[n] = (struct kb_gp_point){ .y = y, .group = group };
    factor(g, n);
    g->count++;
    return KB_OK;
}

kb_status kb_gp_track(kb_gp *g, const double *x, size_t *place)
{
    if (!kb_within(x, g->dim, KB_GP_LIMIT) || g->places == KB_GP_MAX_PLACES)
        return KB_EINVAL;
    double *row = malloc(g->dim * sizeof *row);
    if (!row)
        return KB_ENOMEM;
    memcpy(row, x, g->dim * sizeof *x);
    g->place[g->places] = (struct kb_gp_place){ .row = row };
    *place = g->places++;
    return KB_OK;
}

/* Whether the place's row has room for all points; it doubles as they come: of
 * a place's memory the cache's share is what a choice costs. */
static bool grow(kb_gp *g, struct kb_gp_place *p)
{
    size_t room = p->room ? p->room : 16;
    while (room < g->count)
        room *= 2;
    if (g->count <= p->room)
        return true;
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
    struct kb_gp_place *p = &g->place[place];
    bool keeps = grow(g, p);
    double *row = keeps ? p->row + g->dim : g->spare;
    if (!keeps)
        memcpy(row, p->row + g->dim, p->n * sizeof *row);
    for (size_t j = p->n; j < g->count; j++)
        row[j] = solve(g, p->row, 0, j, row);
    if (keeps)
        p->n = g->count;
    double variance = prior_variance(g);
    *mean = g->how.mean;
    for (size_t j = 0; j < g->count; j++) {
        variance -= row[j] * row[j];
        *mean += row[j] * g->point[j].white;
    }
    *deviation = variance > 0 ? sqrt(variance) : 0;
}

void kb_gp_forget(kb_gp *g, size_t count)
{
    if (count < g->count)
        g->count = count;
    for (size_t i = 0; i < g->places; i++)
        if (g->place[i].n > g->count)
            g->place[i].n = g->count;
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
        sum -= g->point[i].white * g->point[i].white / 2
             + log(g->root[i * (i + 1) / 2 + i]);
    return sum;
}

/* Factors all points anew, as rates, signal or a correlation have moved. */
static void refactor(kb_gp *g)
{
    size_t n = g->count;
    kb_gp_forget(g, 0);
    for (; g->count < n; g->count++)
        factor(g, g->count);
}

/* The fit: coordinate ascent on the log density of a group's points. -------- */

struct fit {
    kb_gp *own;                 /* the points of the group, and no others */
    const kb_gp *prior;
    double z[KB_GP_MAX_DIM + 1];        /* moves, in deviations of the prior */
    double spread;
};

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
        if (g->point[i].group == group)
            st = kb_gp_learn(*out, g->x + i * g->dim, 0, g->point[i].y);
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
    memcpy(g->rate, f.own->rate, sizeof g->rate);
    g->how.signal = f.own->how.signal;
    kb_gp_free(f.own);
    if (group != 0) {
        memcpy(g->prior_rate, g->rate, sizeof g->rate);
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
