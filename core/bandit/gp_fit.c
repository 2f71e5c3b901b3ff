/* The fit of gp.h: coordinate ascent on the log density of a group's points. */
#include "gp_state.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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
            *rest++ = kb_gp_kinship(g, fit_x(g, f, i), fit_x(g, f, j), d);
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
                c *= kb_gp_left_of(g, d, far);
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

    kb_gp_refactor(g);
    return KB_OK;
}
