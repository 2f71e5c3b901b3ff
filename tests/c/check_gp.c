/* This file tests core/bandit/gp.c, a Gaussian process. It checks forecasts
 * against the published formulas, groups of points, the fit of the parameters,
 * the memory used and refused arguments. */
#include <math.h>
#include <sys/resource.h>

#include "bandit/gp.h"
#include "../lib/check_main.h"
#include "../lib/toolkit.h"

static const double rates[2] = { 0.5, 2 };
static kb_gp *g;

static struct kb_gp_options options(void)
{
    struct kb_gp_options how = kb_gp_defaults;
    how.signal = 1.5;
    how.mean = 0.25;
    how.level = 0.5;
    how.noise = 0.2;
    how.capacity = 8;
    return how;
}

static void setup(void)
{
    struct kb_gp_options how = options();
    ck_assert_int_eq(kb_gp_new(2, rates, &how, &g), KB_OK);
}

static void teardown(void)
{
    kb_gp_free(g);
}

static size_t track(double a, double b)
{
    size_t place;
    ck_assert_int_eq(kb_gp_track(g, (double[]){ a, b }, &place), KB_OK);
    return place;
}

static void learn(double a, double b, size_t group, double y)
{
    ck_assert_int_eq(kb_gp_learn(g, (double[]){ a, b }, group, y), KB_OK);
}

START_TEST(covariance_fades_along_every_axis)
{
    double x[2] = { 0, 0 }, z[2] = { 2, -1 };
    ck_assert_double_eq_tol(kb_gp_covariance(g, x, z),
                            1.5 * 1.5 * exp(-0.5 * 2 - 2 * 1), 1e-12);
}
END_TEST

START_TEST(before_any_point_the_prior_holds)
{
    double mean, deviation;
    kb_gp_at(g, track(1, 1), &mean, &deviation);
    ck_assert_double_eq_tol(mean, 0.25, 1e-12);
    ck_assert_double_eq_tol(deviation, sqrt(1.5 * 1.5 + 0.5 * 0.5), 1e-12);
}
END_TEST

START_TEST(one_point_moves_a_place_by_the_textbook_formula)
{
    double mean, deviation, k = 1.5 * 1.5, both = k + 0.25;
    double cross = k * exp(-0.5) + 0.25;
    size_t place = track(1, 0);
    learn(0, 0, 0, 2);
    kb_gp_at(g, place, &mean, &deviation);
    ck_assert_double_eq_tol(mean, 0.25 + cross / (both + 0.04) * (2 - 0.25),
                            1e-12);
    ck_assert_double_eq_tol(deviation * deviation,
                            both - cross * cross / (both + 0.04), 1e-12);
}
END_TEST

START_TEST(two_points_match_the_inverse_of_their_covariance)
{
    double a[2] = { 0, 0 }, b[2] = { 1, 1 }, p[2] = { 0.5, 0 };
    double d = kb_gp_covariance(g, a, a) + 0.25 + 0.04;
    double o = kb_gp_covariance(g, a, b) + 0.25;
    double ca = kb_gp_covariance(g, a, p) + 0.25;
    double cb = kb_gp_covariance(g, b, p) + 0.25;
    double ya = 1 - 0.25, yb = -1 - 0.25, det = d * d - o * o;
    learn(0, 0, 0, 1);
    learn(1, 1, 0, -1);
    double mean, deviation;
    kb_gp_at(g, track(0.5, 0), &mean, &deviation);
    ck_assert_double_eq_tol(mean, 0.25 + (ca * (d * ya - o * yb)
                                          + cb * (d * yb - o * ya)) / det,
                            1e-12);
    ck_assert_double_eq_tol(deviation * deviation, d - 0.04
        - (ca * (d * ca - o * cb) + cb * (d * cb - o * ca)) / det, 1e-12);
}
END_TEST

START_TEST(a_place_looked_at_late_equals_one_looked_at_always)
{
    size_t early = track(0.3, 0.4), late = track(0.3, 0.4);
    double m[2], s[2];
    for (int i = 0; i < 6; i++) {
        learn(i * 0.7, i % 3, (size_t)(i % 2), sin(i));
        kb_gp_at(g, early, &m[0], &s[0]);
    }
    kb_gp_at(g, late, &m[1], &s[1]);
    ck_assert_double_eq(m[0], m[1]);
    ck_assert_double_eq(s[0], s[1]);
}
END_TEST

START_TEST(another_group_counts_for_less)
{
    double own, other, none = 0.25, deviation;
    learn(0, 0, 1, 2);
    kb_gp_at(g, track(0, 0), &other, &deviation);
    teardown();
    setup();
    learn(0, 0, 0, 2);
    kb_gp_at(g, track(0, 0), &own, &deviation);
    ck_assert_double_gt(other, none);
    ck_assert_double_gt(own, other);
}
END_TEST

/* A doubling here is a halving there: the less the group counts, the better
 * these points are forecast. */
START_TEST(a_group_that_forecasts_badly_explains_less)
{
    double mean, deviation, before, without, density;
    size_t place = track(3, 0);
    for (int i = 0; i < 3; i++)
        learn(i, 0, 1, i);
    for (int i = 0; i < 3; i++)
        learn(i, 0, 0, -i);
    density = kb_gp_density(g, 3);
    kb_gp_at(g, place, &before, &deviation);
    ck_assert_int_eq(kb_gp_correlate(g, 1, 0), KB_OK);
    kb_gp_at(g, place, &mean, &deviation);
    ck_assert_double_gt(kb_gp_density(g, 3), density);
    density = kb_gp_density(g, 3);
    ck_assert_int_eq(kb_gp_correlate(g, 0, 1), KB_EINVAL);
    ck_assert_int_eq(kb_gp_correlate(g, 1, 1.5), KB_EINVAL);

    teardown();
    setup();
    place = track(3, 0);
    for (int i = 0; i < 3; i++)
        learn(i, 0, 0, -i);
    kb_gp_at(g, place, &without, &deviation);
    ck_assert_double_lt(fabs(mean - without), 1e-12);
    ck_assert_double_lt(fabs(density - kb_gp_density(g, 0)), 1e-12);
    ck_assert_double_gt(fabs(before - without), 1e-3);
}
END_TEST

START_TEST(improvement_is_the_mean_of_what_is_above_best)
{
    size_t place = track(0, 0);
    double m = 0.25, s = sqrt(1.5 * 1.5 + 0.25), sum = 0, best = 1;
    for (double z = -8; z < 8; z += 1e-3) {
        double y = m + s * z;
        if (y > best)
            sum += (y - best) * exp(-z * z / 2) / sqrt(2 * acos(-1)) * 1e-3;
    }
    ck_assert_double_eq_tol(kb_gp_improvement(g, place, best), sum, 1e-3);
    ck_assert_double_ge(kb_gp_improvement(g, place, 1e5), 0);
}
END_TEST

START_TEST(equal_points_do_no_harm)
{
    double mean, deviation;
    for (int i = 0; i < 8; i++)
        learn(1, 1, 0, i % 2);
    kb_gp_at(g, track(1, 1), &mean, &deviation);
    ck_assert(isfinite(mean) && isfinite(deviation));
    ck_assert_double_eq_tol(mean, 0.5, 0.05);
}
END_TEST

START_TEST(a_full_process_takes_no_more)
{
    double x[2] = { 0, 0 };
    for (int i = 0; i < 8; i++)
        learn(i, 0, 0, 0);
    ck_assert_int_eq(kb_gp_learn(g, x, 0, 0), KB_EEMPTY);
    ck_assert_uint_eq(g->count, 8);
}
END_TEST

static long largest_kib(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_maxrss;
}

/* A tuning space of 60,000 points, few of them measured. */
START_TEST(places_take_the_memory_of_what_was_learnt_not_of_what_may_be)
{
    enum { PLACES = 60000 };
    struct kb_gp_options how = options();
    double mean, deviation;
    how.capacity = KB_GP_MAX_CAPACITY;
    teardown();
    ck_assert_int_eq(kb_gp_new(2, rates, &how, &g), KB_OK);
    long before_kib = largest_kib();
    for (int i = 0; i < PLACES; i++)
        track(i % 300, i / 300);
    for (int i = 0; i < 40; i++)
        learn(i, 7 * i % 11, 0, sin(i));
    for (size_t i = 0; i < PLACES; i++)
        kb_gp_at(g, i, &mean, &deviation);
    ck_assert_int_lt(largest_kib() - before_kib, 100 << 10);
}
END_TEST

/* Rows of 320 numbers: the last of these places find no room for theirs. */
START_TEST(a_place_without_room_for_its_row_is_forecast_the_same)
{
    enum { POINTS = 257, PLACES = KB_GP_KEPT_BYTES / (320 * 8) + 2 };
    struct kb_gp_options how = options();
    double mean[3], deviation[3];
    how.capacity = KB_GP_MAX_CAPACITY;
    long before_kib = largest_kib();
    teardown();
    ck_assert_int_eq(kb_gp_new(2, rates, &how, &g), KB_OK);
    for (int i = 0; i < PLACES; i++)
        track(0.5, 2);
    for (int i = 0; i < 10; i++)
        learn(i * 0.37, i % 5, (size_t)i % 3, cos(i));
    kb_gp_at(g, PLACES - 1, &mean[0], &deviation[0]);
    for (int i = 10; i < POINTS; i++)
        learn(i * 0.37, i % 5, (size_t)i % 3, cos(i));
    for (size_t i = 0; i < PLACES - 1; i++)
        kb_gp_at(g, i, &mean[1], &deviation[1]);
    for (int again = 0; again < 2; again++) {
        kb_gp_at(g, 0, &mean[0], &deviation[0]);
        kb_gp_at(g, PLACES - 2, &mean[1], &deviation[1]);
        kb_gp_at(g, PLACES - 1, &mean[2], &deviation[2]);
        for (int i = 1; i < 3; i++) {
            ck_assert_double_eq(mean[i], mean[0]);
            ck_assert_double_eq(deviation[i], deviation[0]);
        }
        learn(1, 1, 0, 1);
    }
    ck_assert_int_eq(kb_gp_fit(g, 1, 1e-9), KB_OK);
    kb_gp_at(g, 0, &mean[0], &deviation[0]);
    kb_gp_at(g, PLACES - 1, &mean[1], &deviation[1]);
    ck_assert_double_eq(mean[1], mean[0]);
    ck_assert_int_lt(largest_kib() - before_kib,
                     (KB_GP_KEPT_BYTES >> 10) + (100 << 10));
}
END_TEST

START_TEST(bad_numbers_are_refused_and_change_nothing)
{
    size_t place;
    double bad[2] = { NAN, 0 }, far[2] = { 0, 1e7 }, x[2] = { 0, 0 };
    ck_assert_int_eq(kb_gp_learn(g, bad, 0, 0), KB_EINVAL);
    ck_assert_int_eq(kb_gp_learn(g, far, 0, 0), KB_EINVAL);
    ck_assert_int_eq(kb_gp_learn(g, x, 0, INFINITY), KB_EINVAL);
    ck_assert_int_eq(kb_gp_learn(g, x, KB_GP_MAX_GROUPS, 0), KB_EINVAL);
    ck_assert_int_eq(kb_gp_track(g, bad, &place), KB_EINVAL);
    ck_assert_uint_eq(g->count, 0);
    ck_assert_uint_eq(g->places, 0);
}
END_TEST

START_TEST(bad_options_are_refused)
{
    kb_gp *out;
    struct kb_gp_options how = options();
    double minus[2] = { 1, -1 };
    ck_assert_int_eq(kb_gp_new(0, rates, &how, &out), KB_EINVAL);
    ck_assert_int_eq(kb_gp_new(2, minus, &how, &out), KB_EINVAL);
    how.noise = 0;
    ck_assert_int_eq(kb_gp_new(2, rates, &how, &out), KB_EINVAL);
    how = options();
    how.correlation = 1.5;
    ck_assert_int_eq(kb_gp_new(2, rates, &how, &out), KB_EINVAL);
    how = options();
    how.capacity = KB_GP_MAX_CAPACITY + 1;
    ck_assert_int_eq(kb_gp_new(2, rates, &how, &out), KB_EINVAL);
}
END_TEST

/* y depends on the first axis alone. */
START_TEST(a_fit_finds_the_axis_that_matters)
{
    size_t far = track(0, 3), place = track(2, 9);
    for (int i = 0; i < 8; i++)
        learn(i % 4, i * 5 % 8, 0, i % 4);
    double before, after, deviation;
    kb_gp_at(g, place, &before, &deviation);
    ck_assert_int_eq(kb_gp_fit(g, 0, 1.5), KB_OK);
    kb_gp_at(g, place, &after, &deviation);
    ck_assert_double_lt(fabs(after - 2), 0.2);
    ck_assert_double_lt(fabs(after - 2), fabs(before - 2));
    double x[2] = { 0, 0 }, a[2] = { 1, 0 }, b[2] = { 0, 1 };
    ck_assert_double_lt(kb_gp_covariance(g, x, a), kb_gp_covariance(g, x, b));
    kb_gp_at(g, far, &after, &deviation);
    ck_assert_double_lt(fabs(after), 0.2);
}
END_TEST

/* What is learnt of another group is where fits of this one start. */
START_TEST(a_fit_to_another_group_is_a_prior)
{
    for (int i = 0; i < 8; i++)
        learn(i % 4, i * 5 % 8, 1, i % 4);
    double x[2] = { 0, 0 }, b[2] = { 0, 1 };
    double before = kb_gp_covariance(g, x, b);
    ck_assert_int_eq(kb_gp_fit(g, 1, 1.5), KB_OK);
    double after = kb_gp_covariance(g, x, b);
    ck_assert_double_gt(after, before);
    ck_assert_int_eq(kb_gp_fit(g, 0, 1.5), KB_OK);
    ck_assert_double_eq_tol(kb_gp_covariance(g, x, b), after, 1e-12);
    ck_assert_int_eq(kb_gp_fit(g, KB_GP_MAX_GROUPS, 1), KB_EINVAL);
}
END_TEST

START_TEST(a_fit_without_points_keeps_the_prior)
{
    double x[2] = { 0, 0 }, z[2] = { 2, -1 };
    ck_assert_int_eq(kb_gp_fit(g, 0, 1), KB_OK);
    ck_assert_double_eq_tol(kb_gp_covariance(g, x, z), 2.25 * exp(-3), 1e-12);
    ck_assert_int_eq(kb_gp_fit(g, 0, 0), KB_EINVAL);
    ck_assert_int_eq(kb_gp_fit(g, 0, NAN), KB_EINVAL);
}
END_TEST

/* Whether its place was looked at before, between or after. */
START_TEST(what_is_forgotten_leaves_no_trace)
{
    size_t always = track(1, 2), late = track(1, 2);
    double before[2], now[2];
    learn(0, 0, 0, 1);
    learn(2, 1, 1, -1);
    kb_gp_at(g, always, &before[0], &before[1]);
    learn(1, 1, 0, 5);
    learn(3, 3, 0, 2);
    kb_gp_at(g, always, &now[0], &now[1]);
    ck_assert_double_ne(now[0], before[0]);
    kb_gp_forget(g, 9);
    ck_assert_uint_eq(g->count, 4);
    kb_gp_forget(g, 2);
    ck_assert_uint_eq(g->count, 2);
    kb_gp_at(g, always, &now[0], &now[1]);
    ck_assert_double_eq(now[0], before[0]);
    ck_assert_double_eq(now[1], before[1]);
    kb_gp_at(g, late, &now[0], &now[1]);
    ck_assert_double_eq(now[0], before[0]);
    learn(3, 3, 0, 2);
    kb_gp_at(g, always, &now[0], &now[1]);
    kb_gp_at(g, late, &before[0], &before[1]);
    ck_assert_double_eq(now[0], before[0]);
}
END_TEST

static Suite *tests(void)
{
    TCase *tc = tcase_create("gp");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, covariance_fades_along_every_axis);
    tcase_add_test(tc, before_any_point_the_prior_holds);
    tcase_add_test(tc, one_point_moves_a_place_by_the_textbook_formula);
    tcase_add_test(tc, two_points_match_the_inverse_of_their_covariance);
    tcase_add_test(tc, a_place_looked_at_late_equals_one_looked_at_always);
    tcase_add_test(tc, another_group_counts_for_less);
    tcase_add_test(tc, a_group_that_forecasts_badly_explains_less);
    tcase_add_test(tc, improvement_is_the_mean_of_what_is_above_best);
    tcase_add_test(tc, equal_points_do_no_harm);
    tcase_add_test(tc, a_full_process_takes_no_more);
    tcase_add_test(tc,
        places_take_the_memory_of_what_was_learnt_not_of_what_may_be);
    tcase_add_test(tc, a_place_without_room_for_its_row_is_forecast_the_same);
    tcase_add_test(tc, bad_numbers_are_refused_and_change_nothing);
    tcase_add_test(tc, bad_options_are_refused);
    tcase_add_test(tc, a_fit_finds_the_axis_that_matters);
    tcase_add_test(tc, a_fit_to_another_group_is_a_prior);
    tcase_add_test(tc, a_fit_without_points_keeps_the_prior);
    tcase_add_test(tc, what_is_forgotten_leaves_no_trace);
    Suite *s = suite_create("gp");
    suite_add_tcase(s, tc);
    return s;
}

TEST_MAIN(tests)
