#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "measure/sample.h"
#include "../lib/check_main.h"

static struct kb_paired paired(const double *x, size_t n, double confidence)
{
    struct kb_paired r;
    ck_assert_int_eq(kb_sample_paired(x, n, confidence, &r), KB_OK);
    return r;
}

/* Powers of two: no two subsets, and no two Walsh averages, are equal. */
static void spread(double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[n - 1 - i] = ldexp(i % 3 ? 1 : -1, (int)i);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static size_t walsh_of(const double *x, size_t n, double *w)
{
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++)
            w[m++] = (x[i] + x[j]) / 2;
    qsort(w, m, sizeof *w, ascending);
    return m;
}

/* ---- order statistics ---------------------------------------------------- */

START_TEST(median_is_the_middle_or_the_mean_of_two)
{
    double odd[] = { 5, -1, 3 }, even[] = { 4, 1, 3, 100 };
    double far[] = { DBL_MAX, DBL_MAX }, m;
    ck_assert_int_eq(kb_sample_median(odd, 3, &m), KB_OK);
    ck_assert(m == 3 && odd[0] == -1 && odd[2] == 5);
    ck_assert_int_eq(kb_sample_median(even, 4, &m), KB_OK);
    ck_assert(m == 3.5);
    ck_assert_int_eq(kb_sample_median(far, 2, &m), KB_OK);
    ck_assert(m == DBL_MAX);
}
END_TEST

/* numpy.quantile([15, 20, 35, 40, 50], q), whose default is type 7. */
START_TEST(quantile_is_type_7)
{
    static const double q[] = { 0, 0.05, 0.25, 0.4, 0.5, 0.9, 1 };
    static const double want[] = { 15, 16, 20, 29, 35, 46, 50 };
    double x[] = { 50, 15, 40, 20, 35 }, got;
    ck_assert_int_eq(kb_sample_quantile(x, 5, q[_i], &got), KB_OK);
    ck_assert_double_eq_tol(got, want[_i], 1e-12);
}
END_TEST

START_TEST(mad_is_not_scaled)
{
    double x[] = { 1, 1, 2, 2, 4, 6, 9 }, got;
    ck_assert_int_eq(kb_sample_mad(x, 7, &got), KB_OK);
    ck_assert(got == 1);
}
END_TEST

START_TEST(means_survive_large_and_small_numbers)
{
    double x[] = { 1, 2, 6 }, y[] = { 1, 10, 100 }, got;
    double big[] = { DBL_MAX, DBL_MAX }, tiny[64];
    ck_assert_int_eq(kb_sample_mean(x, 3, &got), KB_OK);
    ck_assert(got == 3);
    ck_assert_int_eq(kb_sample_mean(big, 2, &got), KB_OK);
    ck_assert(got == DBL_MAX);
    ck_assert_int_eq(kb_sample_geomean(y, 3, &got), KB_OK);
    ck_assert_double_eq_tol(got, 10, 1e-12);
    for (size_t i = 0; i < 64; i++)
        tiny[i] = 1e-300;
    ck_assert_int_eq(kb_sample_geomean(tiny, 64, &got), KB_OK);
    ck_assert_double_eq_tol(got * 1e300, 1, 1e-10);
}
END_TEST

START_TEST(order_of_arrival_does_not_matter)
{
    double a[50], b[50], x, y;
    for (size_t i = 0; i < 50; i++)
        b[49 - i] = a[i] = sin((double)i) * 1e9 + 1 / ((double)i + 1);
    ck_assert_int_eq(kb_sample_mean(a, 50, &x), KB_OK);
    ck_assert_int_eq(kb_sample_mean(b, 50, &y), KB_OK);
    ck_assert(x == y);
    for (size_t i = 1; i < 50; i++)
        ck_assert(a[i - 1] <= a[i]);
    ck_assert(!memcmp(a, b, sizeof a));
}
END_TEST

static const struct {
    double x[2];
    size_t n;
} unusable[] = {
    { { 1, 1 }, 0 }, { { 1, NAN }, 2 }, { { INFINITY, 1 }, 2 },
    { { -INFINITY, 1 }, 1 },
};

START_TEST(no_numbers_and_bad_numbers_are_refused)
{
    static kb_status (*const of[])(double *, size_t, double *) = {
        kb_sample_median, kb_sample_mean, kb_sample_mad, kb_sample_geomean,
    };
    double x[2], got = 99;
    struct kb_paired r = { .n = 99 };
    memcpy(x, unusable[_i].x, sizeof x);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        ck_assert_int_eq(of[i](x, unusable[_i].n, &got), KB_EINVAL);
    ck_assert_int_eq(kb_sample_quantile(x, unusable[_i].n, 0.5, &got),
                     KB_EINVAL);
    ck_assert_int_eq(kb_sample_paired(x, unusable[_i].n, 0.95, &r), KB_EINVAL);
    ck_assert(got == 99 && r.n == 99);
}
END_TEST

START_TEST(a_share_outside_its_range_is_refused)
{
    static const double bad[] = { -0.01, 1.01, NAN, INFINITY };
    double x[65] = { 1, 2 }, got = 99;
    struct kb_paired r = { .n = 99 };
    ck_assert_int_eq(kb_sample_quantile(x, 2, bad[_i], &got), KB_EINVAL);
    ck_assert_int_eq(kb_sample_paired(x, 2, bad[_i], &r), KB_EINVAL);
    ck_assert_int_eq(kb_sample_paired(x, 2, 0, &r), KB_EINVAL);
    ck_assert_int_eq(kb_sample_paired(x, 2, 1, &r), KB_EINVAL);
    ck_assert_int_eq(kb_sample_paired(x, 65, 0.95, &r), KB_EINVAL);
    x[1] = 0;
    ck_assert_int_eq(kb_sample_geomean(x, 2, &got), KB_EINVAL);
    ck_assert(got == 99 && r.n == 99);
}
END_TEST

/* ---- the paired interval ------------------------------------------------- */

/* Critical values of the signed-rank statistic, two-sided: Wilcoxon & Wilcox
 * (1964), Table 2, as every textbook prints it. */
static const struct {
    size_t n, d;
    double confidence;
} critical[] = {
    { 6, 0, 0.95 },   { 7, 2, 0.95 },   { 8, 3, 0.95 },   { 9, 5, 0.95 },
    { 10, 8, 0.95 },  { 11, 10, 0.95 }, { 12, 13, 0.95 }, { 13, 17, 0.95 },
    { 14, 21, 0.95 }, { 15, 25, 0.95 }, { 16, 29, 0.95 }, { 20, 52, 0.95 },
    { 25, 89, 0.95 }, { 8, 0, 0.99 },   { 9, 1, 0.99 },   { 10, 3, 0.99 },
    { 12, 7, 0.99 },  { 16, 19, 0.99 }, { 20, 37, 0.99 }, { 25, 68, 0.99 },
};

START_TEST(the_interval_lies_at_the_published_critical_values)
{
    double x[25], w[325];
    size_t n = critical[_i].n, d = critical[_i].d;
    spread(x, n);
    size_t m = walsh_of(x, n, w);
    struct kb_paired r = paired(x, n, critical[_i].confidence);
    ck_assert_str_eq(r.method, "wilcoxon");
    ck_assert(r.low == w[d]);
    ck_assert(r.high == w[m - 1 - d]);
    ck_assert(r.estimate == (w[(m - 1) / 2] + w[m / 2]) / 2);
    ck_assert(r.confidence >= critical[_i].confidence);
    ck_assert_uint_eq(r.n, n);
}
END_TEST

/* All 2^n signs, one by one. */
START_TEST(the_confidence_is_the_share_of_signs_it_covers)
{
    double x[12] = { 0 };
    size_t n = (size_t)_i, below = 0;
    spread(x, n);
    struct kb_paired r = paired(x, n, 0.9);
    double w[78];
    walsh_of(x, n, w);
    size_t d = 0;
    while (w[d] < r.low)
        d++;
    for (size_t signs = 0; signs < (size_t)1 << n; signs++) {
        size_t sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += signs >> i & 1 ? i + 1 : 0;
        below += sum <= d;
    }
    ck_assert(r.confidence == 1 - 2 * ldexp((double)below, -(int)n));
}
END_TEST

START_TEST(six_pairs_are_the_fewest_for_95_and_eight_for_99)
{
    static const double x[] = { 3, 1, 4, 1.5, 9, 2.6, 5, 3.5 };
    ck_assert_str_eq(paired(x, 5, 0.95).method, "student");
    struct kb_paired r = paired(x, 6, 0.95);
    ck_assert_str_eq(r.method, "wilcoxon");
    ck_assert(r.low == 1 && r.high == 9);
    ck_assert(r.confidence == 1 - 2.0 / 64);
    ck_assert_str_eq(paired(x, 6, 1 - 2.0 / 64).method, "wilcoxon");
    ck_assert_str_eq(paired(x, 7, 0.99).method, "student");
    r = paired(x, 8, 0.99);
    ck_assert_str_eq(r.method, "wilcoxon");
    ck_assert(r.low == 1 && r.high == 9);
    ck_assert(r.confidence == 1 - 2.0 / 256);
}
END_TEST

/* t(1 - a/2, df) of any table; mean 0 and s = 1 make it half the interval times
 * the root of n. */
static const struct {
    size_t n;
    double confidence, t;
} students[] = {
    { 2, 0.95, 12.706204736 },  { 3, 0.95, 4.302652730 },
    { 4, 0.95, 3.182446305 },   { 5, 0.95, 2.776445105 },
    { 2, 0.99, 63.656741162 },  { 5, 0.99, 4.604094871 },
    { 7, 0.99, 3.707428021 },   { 2, 0.90, 6.313751515 },
    { 10, 0.999, 4.780912586 },
};

START_TEST(few_pairs_take_students_t)
{
    double x[10] = { 0 }, s = 0;
    size_t n = students[_i].n;
    for (size_t i = 0; i < n; i++) {
        x[i] = (double)i - (double)(n - 1) / 2;
        s += x[i] * x[i];
    }
    s = sqrt(s / (double)(n - 1));
    for (size_t i = 0; i < n; i++)
        x[i] = 5 + x[i] / s;
    struct kb_paired r = paired(x, n, students[_i].confidence);
    double half = students[_i].t / sqrt((double)n);
    ck_assert_str_eq(r.method, "student");
    ck_assert_double_eq_tol(r.estimate, 5, 1e-12);
    ck_assert_double_eq_tol(r.low, 5 - half, 1e-8);
    ck_assert_double_eq_tol(r.high, 5 + half, 1e-8);
    ck_assert(r.confidence == students[_i].confidence);
}
END_TEST

START_TEST(one_pair_says_nothing_about_spread)
{
    double x = 0.25;
    struct kb_paired r = paired(&x, 1, 0.95);
    ck_assert_str_eq(r.method, "none");
    ck_assert(r.estimate == 0.25 && r.low == -INFINITY && r.high == INFINITY);
}
END_TEST

START_TEST(an_outlier_does_not_move_the_estimate_far)
{
    double x[16];
    for (size_t i = 0; i < 16; i++)
        x[i] = 0.02 + 0.001 * sin((double)i);
    x[5] = 3;
    struct kb_paired r = paired(x, 16, 0.99);
    ck_assert_double_eq_tol(r.estimate, 0.02, 0.001);
    ck_assert(r.low > 0.018 && r.high < 0.022);
}
END_TEST

/* With A and B changing places every number changes its sign, and no more. */
START_TEST(the_test_is_fair_to_both_sides)
{
    double x[64], y[64];
    size_t n = (size_t)_i;
    for (size_t i = 0; i < n; i++)
        y[n - 1 - i] = -(x[i] = sin(3.0 * (double)i) + 0.1);
    struct kb_paired a = paired(x, n, 0.95), b = paired(y, n, 0.95);
    ck_assert_double_eq_tol(a.low, -b.high, 1e-12);
    ck_assert_double_eq_tol(a.high, -b.low, 1e-12);
    ck_assert_double_eq_tol(a.estimate, -b.estimate, 1e-12);
    ck_assert(a.low <= a.estimate && a.estimate <= a.high);
    ck_assert(a.confidence == b.confidence && a.method == b.method);
}
END_TEST

START_TEST(equal_pairs_leave_no_doubt)
{
    double x[64];
    for (size_t i = 0; i < 64; i++)
        x[i] = 0.125;
    struct kb_paired r = paired(x, (size_t)_i, 0.95);
    ck_assert(r.estimate == 0.125 && r.low == 0.125 && r.high == 0.125);
}
END_TEST

/* ---- the clock ----------------------------------------------------------- */

START_TEST(a_sleep_lasts_at_least_as_long_as_asked)
{
    int64_t from = kb_clock_now_ns();
    ck_assert_int_eq(kb_clock_sleep_ns(2000000), KB_OK);
    ck_assert_int_ge(kb_clock_now_ns() - from, 2000000);
    ck_assert_int_eq(kb_clock_sleep_ns(0), KB_OK);
    ck_assert_int_eq(kb_clock_sleep_ns(-1), KB_OK);
}
END_TEST

#define COUNT(table) (int)(sizeof (table) / sizeof *(table))

static TCase *order(void)
{
    TCase *t = tcase_create("order");
    tcase_add_test(t, median_is_the_middle_or_the_mean_of_two);
    tcase_add_loop_test(t, quantile_is_type_7, 0, 7);
    tcase_add_test(t, mad_is_not_scaled);
    tcase_add_test(t, means_survive_large_and_small_numbers);
    tcase_add_test(t, order_of_arrival_does_not_matter);
    tcase_add_loop_test(t, no_numbers_and_bad_numbers_are_refused, 0,
                        COUNT(unusable));
    tcase_add_loop_test(t, a_share_outside_its_range_is_refused, 0, 4);
    tcase_add_test(t, a_sleep_lasts_at_least_as_long_as_asked);
    return t;
}

static TCase *pairs(void)
{
    TCase *t = tcase_create("pairs");
    tcase_add_loop_test(t, the_interval_lies_at_the_published_critical_values,
                        0, COUNT(critical));
    tcase_add_loop_test(t, the_confidence_is_the_share_of_signs_it_covers, 5,
                        13);
    tcase_add_test(t, six_pairs_are_the_fewest_for_95_and_eight_for_99);
    tcase_add_loop_test(t, few_pairs_take_students_t, 0, COUNT(students));
    tcase_add_test(t, one_pair_says_nothing_about_spread);
    tcase_add_test(t, an_outlier_does_not_move_the_estimate_far);
    tcase_add_loop_test(t, the_test_is_fair_to_both_sides, 2, 65);
    tcase_add_loop_test(t, equal_pairs_leave_no_doubt, 2, 65);
    return t;
}

static Suite *tests(void)
{
    Suite *s = suite_create("sample");
    suite_add_tcase(s, order());
    suite_add_tcase(s, pairs());
    return s;
}

TEST_MAIN(tests)
