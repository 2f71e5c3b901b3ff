#include "gp_state.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { NO_CODE = UINT8_MAX };

/* A point: its coordinates, and for each the number of its value or NO_CODE. */
struct at {
    const double *x;
    const uint8_t *code;
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
    if (!g)
        return KB_ENOMEM;
    g->group = calloc(most, sizeof *g->group);
    g->code = malloc(most * dim);
    g->axis = calloc(dim, sizeof *g->axis);
    if (!g->group || !g->code || !g->axis) {
        kb_gp_free(g);
        return KB_ENOMEM;
    }
    g->how = *how;
    g->dim = dim;
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
    free(g->place_code);
    free(g->group);
    free(g->code);
    free(g->axis);
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

double kb_gp_left_of(const kb_gp *g, size_t d, double far)
{
    return g->how.keep + (1 - g->how.keep) * exp(-g->rate[d] * far);
}

double kb_gp_kinship(const kb_gp *g, const double *x, const double *z,
                     size_t but)
{
    double product = 1, sum = 0;
    for (size_t d = 0; d < g->dim; d++) {
        double far = fabs(x[d] - z[d]);
        if (!(far > 0) || d == but)
            continue;
        if (g->how.keep > 0)
            product *= kb_gp_left_of(g, d, far);
        else
            sum += g->rate[d] * far;
    }
    return sum > 0 ? exp(-sum) : product;
}

double kb_gp_covariance(const kb_gp *g, const double *x, const double *z)
{
    return g->how.scale * g->how.scale * kb_gp_kinship(g, x, z, g->dim);
}

/* The number of value v on axis d, from now on if it is new. */
static uint8_t code_of(kb_gp *g, size_t d, double v)
{
    struct axis *a = &g->axis[d];
    for (size_t i = 0; i < a->n; i++)
        if (a->value[i] == v)
            return (uint8_t)i;
    if (a->n == KB_GP_VALUES)
        return NO_CODE;
    size_t n = a->n++;
    a->value[n] = v;
    for (size_t i = 0; i <= n; i++) {
        double left = i == n ? 1 : kb_gp_left_of(g, d, fabs(v - a->value[i]));
        a->left[i][n] = a->left[n][i] = left;
    }
    return (uint8_t)n;
}

static void code_all(kb_gp *g, const double *x, uint8_t *code)
{
    for (size_t d = 0; d < g->dim; d++)
        code[d] = code_of(g, d, x[d]);
}

/* Once rates have moved. */
static void set_tables(kb_gp *g)
{
    for (size_t d = 0; d < g->dim; d++) {
        struct axis *a = &g->axis[d];
        for (size_t i = 0; i < a->n; i++)
            for (size_t j = 0; j < i; j++)
                a->left[i][j] = a->left[j][i]
                    = kb_gp_left_of(g, d, fabs(a->value[i] - a->value[j]));
    }
}

/* kinship of all axes, by the tables. */
static double tabled(const kb_gp *g, struct at p, struct at q)
{
    double product = 1;
    for (size_t d = 0; d < g->dim; d++) {
        uint8_t i = p.code[d], j = q.code[d];
        if (i == NO_CODE || j == NO_CODE)
            product *= kb_gp_left_of(g, d, fabs(p.x[d] - q.x[d]));
        else
            product *= g->axis[d].left[i][j];
    }
    return product;
}

/* With the group of either, and the level they may share. */
static double covariance(const kb_gp *g, struct at p, size_t a, struct at q,
                         size_t b)
{
    double c = g->how.scale * g->how.scale * tabled(g, p, q);
    return a == b ? c + g->how.level * g->how.level : c * g->how.kin;
}

static const double *root_row(const kb_gp *g, size_t i)
{
    return g->root + i * (i + 1) / 2;
}

static struct at point(const kb_gp *g, size_t i)
{
    return (struct at){ g->x + i * g->dim, g->code + i * g->dim };
}

/* Element j of the row of the factor that belongs to x: the covariance with
 * point j less what the elements before explain. */
static double solve(const kb_gp *g, struct at p, size_t group, size_t j,
                    const double *row)
{
    const double *rj = root_row(g, j);
    double left = covariance(g, p, group, point(g, j), g->group[j]);
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
    struct at p = point(g, n);
    double left = prior_variance(g) + g->how.noise * g->how.noise;
    double white = g->y[n] - g->how.mean;
    for (size_t j = 0; j < n; j++) {
        row[j] = solve(g, p, g->group[n], j, row);
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
    code_all(g, x, g->code + n * g->dim);
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
        uint8_t *code = realloc(g->place_code, room * g->dim);
        if (!code)
            return KB_ENOMEM;
        g->place_code = code;
        g->room = room;
    }
    double *row = malloc(g->dim * sizeof *row);
    if (!row)
        return KB_ENOMEM;
    memcpy(row, x, g->dim * sizeof *x);
    code_all(g, x, g->place_code + g->places * g->dim);
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
    struct at here = { p->row, g->place_code + place * g->dim };
    for (; now.n < g->count; now.n++) {
        double v = solve(g, here, 0, now.n, row);
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

void kb_gp_forget(kb_gp *g, size_t count)
{
    if (count >= g->count)
        return;
    g->count = count;
    for (size_t i = 0; i < g->places; i++) {
        struct place *p = &g->place[i];
        if (p->n <= count)
            continue;
        p->n = count;
        p->left = prior_variance(g);
        p->mean = g->how.mean;
        for (size_t j = 0; j < count; j++) {
            double v = p->row[g->dim + j];
            p->left -= v * v;
            p->mean += v * g->white[j];
        }
    }
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

void kb_gp_refactor(kb_gp *g)
{
    set_tables(g);
    for (size_t i = 0; i < g->count; i++)
        factor(g, i);
    for (size_t i = 0; i < g->places; i++) {
        g->place[i].n = 0;
        g->place[i].left = prior_variance(g);
        g->place[i].mean = g->how.mean;
    }
}
