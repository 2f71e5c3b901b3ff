#include "logit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "vector.h"

static const double ln2 = 0.6931471805599453;
static const double least_pivot = 1e-14;        /* of the diagonal */

const struct kb_logit_options kb_logit_defaults = { 1.0, 500 };

kb_status kb_logit_new(size_t dim, const struct kb_logit_options *how,
                       kb_logit **out)
{
    if (dim < 1 || dim > KB_LOGIT_MAX_DIM
        || !(how->l2 >= KB_LOGIT_LEAST_L2 && how->l2 <= KB_LOGIT_MOST_L2)
        || how->buffer < 1 || how->buffer > KB_LOGIT_MAX_BUFFER)
        return KB_EINVAL;

    size_t order = dim + 1, buffer = how->buffer;
    size_t doubles = 4 * order + 2 * order * order + buffer * (order + 4);
    kb_logit *h = calloc(1, sizeof *h + doubles * sizeof h->data[0]);
    if (!h)
        return KB_ENOMEM;
    h->how = *how;
    h->dim = dim;
    h->order = order;
    h->weights = h->data;
    h->trial = h->weights + order;
    h->slope = h->trial + order;
    h->step = h->slope + order;
    h->curve = h->step + order;
    h->root = h->curve + order * order;
    h->x = h->root + order * order;
    h->yes = h->x + buffer * order;
    h->residual = h->yes + buffer;
    h->share = h->residual + buffer;
    h->shared = h->share + buffer;
    for (size_t s = 0; s < buffer; s++)
        h->x[s] = 1;
    *out = h;
    return KB_OK;
}

void kb_logit_free(kb_logit *h)
{
    free(h);
}

kb_status kb_logit_p(const kb_logit *h, const double *x, double *p)
{
    if (!kb_within(x, h->dim, KB_LOGIT_LIMIT))
        return KB_EINVAL;
    double z = h->weights[0];
    for (size_t i = 0; i < h->dim; i++)
        z += h->weights[i + 1] * x[i];
    double e = exp(-fabs(z));
    *p = (z >= 0 ? 1 : e) / (1 + e);
    return KB_OK;
}

kb_status kb_logit_learn(kb_logit *h, const double *x, bool yes)
{
    if (!kb_within(x, h->dim, KB_LOGIT_LIMIT))
        return KB_EINVAL;
    for (size_t i = 0; i < h->dim; i++)
        h->x[(i + 1) * h->how.buffer + h->next] = x[i];
    h->yes[h->next] = yes;
    h->next = (h->next + 1) % h->how.buffer;
    h->settled = h->settled && !h->stale && h->count < h->how.buffer;
    if (h->count < h->how.buffer)
        h->count++;
    h->stale = true;
    return KB_OK;
}

/* J at the given weights; leaves its slope X' r and its curve X' V X in h, with
 * the residuals r = p - yes and the diagonal V of p (1 - p). A log-loss is
 * max(0, -m) + ln(1 + exp(-|m|)) for the margin m towards the answer; arguments
 * of the logarithm, each at most 2, are multiplied up and share one. */
static double evaluate(kb_logit *h, const double *weights)
{
    size_t n = h->count, column = h->how.buffer;
    double loss = 0, product = 1, *z = h->shared;
    memset(z, 0, n * sizeof *z);
    for (size_t i = 0; i < h->order; i++)
        for (size_t s = 0; s < n; s++)
            z[s] += weights[i] * h->x[i * column + s];
    for (size_t s = 0; s < n; s++) {
        double e = exp(-fabs(z[s]));
        double share = 1 / (1 + e);
        if ((z[s] >= 0) != (h->yes[s] > 0))
            loss += fabs(z[s]);
        product *= 1 + e;
        if (product > 1e100) {
            loss += log(product);
            product = 1;
        }
        h->residual[s] = (z[s] >= 0 ? share : e * share) - h->yes[s];
        h->share[s] = e * share * share;
    }
    loss += log(product);
    for (size_t i = 0; i < h->order; i++) {
        const double *x = h->x + i * column;
        double l2 = i == 0 ? KB_LOGIT_BIAS_L2 : h->how.l2;
        loss += l2 / 2 * weights[i] * weights[i];
        h->slope[i] = kb_dot(h->residual, x, n) + l2 * weights[i];
        for (size_t s = 0; s < n; s++)
            h->shared[s] = h->share[s] * x[s];
        for (size_t j = 0; j <= i; j++)
            h->curve[i * h->order + j] = kb_dot(h->shared, h->x + j * column, n);
        h->curve[i * h->order + i] += l2;
    }
    return loss;
}

/* The same after a fit and one sample more: J had its minimum there, so that the
 * slope is that sample's, and the curve holds all others. */
static double with_newest(kb_logit *h)
{
    size_t column = h->how.buffer, at = h->count - 1;
    double z = 0;
    for (size_t i = 0; i < h->order; i++)
        z += h->weights[i] * h->x[i * column + at];
    double e = exp(-fabs(z)), share = 1 / (1 + e);
    double residual = (z >= 0 ? share : e * share) - h->yes[at];
    for (size_t i = 0; i < h->order; i++) {
        double x = h->x[i * column + at];
        h->slope[i] = residual * x;
        for (size_t j = 0; j <= i; j++)
            h->curve[i * h->order + j] +=
                e * share * share * x * h->x[j * column + at];
    }
    return h->loss + ((z >= 0) != (h->yes[at] > 0) ? fabs(z) : 0) + log1p(e);
}

/* Solves curve * step = slope by the Cholesky factor of the curve; returns the
 * square of the Newton decrement, slope . step. Of features of wild scale a
 * pivot may be lost in rounding: a least one takes its place. */
static double newton(kb_logit *h)
{
    size_t n = h->order;
    double square = 0;
    for (size_t i = 0; i < n; i++) {
        double *ri = h->root + i * n, step = h->slope[i];
        for (size_t j = 0; j <= i; j++) {
            const double *rj = h->root + j * n;
            double left = h->curve[i * n + j];
            for (size_t k = 0; k < j; k++)
                left -= ri[k] * rj[k];
            ri[j] = i == j ? sqrt(fmax(left, least_pivot * h->curve[i * n + i]))
                           : left / rj[j];
        }
        for (size_t k = 0; k < i; k++)
            step -= ri[k] * h->step[k];
        h->step[i] = step / ri[i];
        square += h->step[i] * h->step[i];
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++)
            h->step[i] -= h->root[k * n + i] * h->step[k];
        h->step[i] /= h->root[i * n + i];
    }
    return square;
}

/* So near the minimum Newton's next decrement is about the square of this one:
 * the last step is taken without another look at J. */
static const double last_decrement2 = 1e-8;

/* Moves along the step, halving it until J falls by a ten-thousandth of what
 * the slope promises (Armijo), give or take the rounding of J. */
static bool descend(kb_logit *h, double decrement2, double *loss)
{
    double slack = 1e-13 * (1 + *loss);
    double length = 1;
    for (int halvings = 0; halvings < 40; halvings++, length /= 2) {
        for (size_t i = 0; i < h->order; i++)
            h->trial[i] = h->weights[i] - length * h->step[i];
        double there = evaluate(h, h->trial);
        if (there <= *loss - 1e-4 * length * decrement2 + slack) {
            memcpy(h->weights, h->trial, h->order * sizeof *h->trial);
            *loss = there;
            return true;
        }
    }
    return false;
}

int kb_logit_fit(kb_logit *h)
{
    if (!h->stale)
        return 0;
    h->stale = false;

    /* J(0) is known without looking. Starting no worse bounds the weights,
     * whatever the ring held before. */
    double loss = h->settled ? with_newest(h) : evaluate(h, h->weights);
    h->settled = false;
    if (!(loss <= (double)h->count * ln2)) {
        memset(h->weights, 0, h->order * sizeof *h->weights);
        loss = evaluate(h, h->weights);
    }
    for (int steps = 0; steps < KB_LOGIT_MAX_STEPS; steps++) {
        double decrement2 = newton(h);
        if (!(decrement2 > 1e-16 && isfinite(decrement2)))
            return steps;
        if (decrement2 <= last_decrement2) {
            for (size_t i = 0; i < h->order; i++)
                h->weights[i] -= h->step[i];
            h->settled = true;
            h->loss = loss - decrement2 / 2;
            return steps + 1;
        }
        if (!descend(h, decrement2, &loss))
            return steps;
    }
    return KB_LOGIT_MAX_STEPS;
}
