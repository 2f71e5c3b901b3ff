/* sample.h - what a handful of noisy measurements says.
 *
 * Every function is EINVAL for n == 0 and for a value that is not finite.
 * Equal multisets of numbers give equal results: a mean is taken of the values
 * in ascending order.
 */
#pragma once

#include "kb.h"

/* The first three sort x in place, ascending; they are O(n log n). */

/* x[(n - 1) / 2], or the mean of the two in the middle. */
KB_STATUS kb_sample_median(double *x, size_t n, double *out);

/* Linear between order statistics, h = (n - 1) q from the first: type 7 of
 * Hyndman & Fan, "Sample quantiles in statistical packages" (1996). EINVAL
 * unless 0 <= q <= 1. */
KB_STATUS kb_sample_quantile(double *x, size_t n, double q, double *out);

KB_STATUS kb_sample_mean(double *x, size_t n, double *out);

/* median |x - median x|, not scaled: times 1.4826 it estimates the standard
 * deviation of a normal (Rousseeuw & Croux 1993). Leaves the deviations in
 * x. */
KB_STATUS kb_sample_mad(double *x, size_t n, double *out);

/* exp of the mean of logarithms: no product that could underflow to a perfect
 * score. EINVAL for a value <= 0. Leaves in x the logarithms. */
KB_STATUS kb_sample_geomean(double *x, size_t n, double *out);

/* ---- paired comparison ---------------------------------------------------
 *
 * Given x[i] = log(time of A / time of B) of n pairs: how much faster is B?
 *
 * WILCOXON  estimate: Hodges & Lehmann (1963), the median of the M = n(n+1)/2
 *           Walsh averages (x[i] + x[j]) / 2, i <= j. Interval: with W sorted,
 *
 *             [ W(d + 1), W(M - d) ],  covers 1 - 2 P(T <= d),
 *
 *           d the largest for which that is at least what was asked, T the
 *           signed-rank sum under the null: P(T = k) = 2^-n times the subsets
 *           of {1..n} with sum k, counted exactly (Hollander, Wolfe & Chicken,
 *           Nonparametric Statistical Methods, 3rd ed., sec. 3.1-3.3). It
 *           assumes that x is symmetric about its centre, which the log of a
 *           ratio of exchangeable pairs is. Ties and zeros make the interval
 *           cover more, not less.
 * STUDENT   when n >= 2 pairs cannot give the confidence, 2^(1-n) > 1 - asked
 *           (95 % takes 6, 99 % takes 8): mean +- t(n - 1) s / sqrt(n), which
 *           assumes that x is normal. t by bisection on the finite series of
 *           Abramowitz & Stegun 26.7.3 and 26.7.4.
 * NONE      n == 1: an estimate, and the interval is everything. */
enum { KB_SAMPLE_MAX_PAIRS = 64 };

struct kb_paired {
    double estimate, low, high; /* logs, as x is */
    double confidence;          /* really covered: >= what was asked */
    const char *method;         /* "none", "student", "wilcoxon"; static */
    uint32_t n;
};

/* EINVAL also for n > KB_SAMPLE_MAX_PAIRS and unless 0 < confidence < 1. x is
 * left as it was. */
KB_STATUS kb_sample_paired(const double *x, size_t n, double confidence,
                           struct kb_paired *out);
