#include "sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void sort(double *x, size_t n)
{
    qsort(x, n, sizeof *x, ascending);
}

/* Sorts x; false when there is none of it or a value is not finite. */
static bool sorted(double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return false;
    if (n > 0)
        sort(x, n);
    return n > 0;
}

/* Halves first: the sum of two large numbers may overflow. */
static double between(double a, double b)
{
    return a / 2 + b / 2;
}

static double middle(const double *x, size_t n)
{
    return between(x[(n - 1) / 2], x[n / 2]);
}

static double mean(const double *x, size_t n)
{
    double sum = 0, share = 0;
    for (size_t i = 0; i < n; i++) {
        sum += x[i];
        share += x[i] / (double)n;
    }
    return isfinite(sum) ? sum / (double)n : share;
}

kb_status kb_sample_median(double *x, size_t n, double *out)
{
    if (!sorted(x, n))
        return KB_EINVAL;
    *out = middle(x, n);
    return KB_OK;
}

kb_status kb_sample_quantile(double *x, size_t n, double q, double *out)
{
    if (!sorted(x, n) || !(q >= 0 && q <= 1))
        return KB_EINVAL;
    double h = (double)(n - 1) * q;
    size_t below = (size_t)h;
    size_t above = below + 1 < n ? below + 1 : below;
    double part = h - (double)below;
    *out = (1 - part) * x[below] + part * x[above];
    return KB_OK;
}

kb_status kb_sample_mean(double *x, size_t n, double *out)
{
    if (!sorted(x, n))
        return KB_EINVAL;
    *out = mean(x, n);
    return KB_OK;
}

kb_status kb_sample_mad(double *x, size_t n, double *out)
{
    double centre;
    kb_status st = kb_sample_median(x, n, &centre);
    for (size_t i = 0; !st && i < n; i++)
        x[i] = fabs(x[i] - centre);
    return st ? st : kb_sample_median(x, n, out);
}

kb_status kb_sample_geomean(double *x, size_t n, double *out)
{
    double centre;
    for (size_t i = 0; i < n; i++)
        x[i] = x[i] > 0 ? log(x[i]) : NAN;
    kb_status st = kb_sample_mean(x, n, &centre);
    if (!st)
        *out = exp(centre);
    return st;
}

enum { MAX_SUM = KB_SAMPLE_MAX_PAIRS * (KB_SAMPLE_MAX_PAIRS + 1) / 2 };

/* The largest d with P(T <= d) <= tail, and that probability; false when not
 * even d = 0 is so rare. Each pair's sign is a fair coin that adds its rank or
 * nothing, so p moves up by a rank with weight one half. */
static bool rank_cutoff(size_t n, double tail, size_t *d, double *below)
{
    double p[MAX_SUM + 1] = { 1 };
    size_t top = 0;
    for (size_t rank = 1; rank <= n; rank++) {
        top += rank;
        for (size_t k = top + 1; k-- > 0;)
            p[k] = (p[k] + (k >= rank ? p[k - rank] : 0)) / 2;
    }
    double sum = 0;
    size_t k = 0;
    for (; k <= top && sum + p[k] <= tail; k++)
        sum += p[k];
    if (k == 0)
        return false;
    *d = k - 1;
    *below = sum;
    return true;
}

static void wilcoxon(const double *x, size_t n, size_t d, double below,
                     struct kb_paired *r)
{
    double walsh[MAX_SUM];
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++)
            walsh[m++] = between(x[i], x[j]);
    sort(walsh, m);
    r->method = "wilcoxon";
    r->estimate = middle(walsh, m);
    r->low = walsh[d];
    r->high = walsh[m - 1 - d];
    r->confidence = 1 - 2 * below;
}

/* P(|t| < tan(theta) sqrt(df)) for Student's t. */
static double student_within(double theta, size_t df)
{
    double c = cos(theta), s = sin(theta), sum = 0, term = df % 2 ? c : 1;
    for (size_t k = df % 2 ? 1 : 0; k + 2 <= df; k += 2) {
        sum += term;
        term *= c * c * (double)(k + 1) / (double)(k + 2);
    }
    return df % 2 ? (theta + s * sum) * 2 / acos(-1) : s * sum;
}

static double student_quantile(double confidence, size_t df)
{
    double low = 0, high = acos(0);
    for (int i = 0; i < 60; i++) {
        double theta = (low + high) / 2;
        if (student_within(theta, df) < confidence)
            low = theta;
        else
            high = theta;
    }
    return tan(high) * sqrt((double)df);
}

static void student(const double *x, size_t n, double confidence,
                    struct kb_paired *r)
{
    double m = mean(x, n), squares = 0;
    for (size_t i = 0; i < n; i++)
        squares += (x[i] - m) * (x[i] - m);
    double half = student_quantile(confidence, n - 1)
                * sqrt(squares / (double)(n - 1) / (double)n);
    r->method = "student";
    r->estimate = m;
    r->low = m - half;
    r->high = m + half;
    r->confidence = confidence;
}

kb_status kb_sample_paired(const double *x, size_t n, double confidence,
                           struct kb_paired *out)
{
    double values[KB_SAMPLE_MAX_PAIRS], below;
    if (n < 1 || n > KB_SAMPLE_MAX_PAIRS || !(confidence > 0 && confidence < 1))
        return KB_EINVAL;
    memcpy(values, x, n * sizeof *x);
    if (!sorted(values, n))
        return KB_EINVAL;
    struct kb_paired r = {
        .estimate = x[0], .low = -INFINITY, .high = INFINITY, .confidence = 1,
        .method = "none", .n = (uint32_t)n,
    };
    size_t d;
    if (n > 1 && rank_cutoff(n, (1 - confidence) / 2, &d, &below))
        wilcoxon(values, n, d, below, &r);
    else if (n > 1)
        student(values, n, confidence, &r);
    *out = r;
    return KB_OK;
}
