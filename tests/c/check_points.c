#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "bandit/points.h"

static kb_points *p;

static void start(void)
{
    ck_assert_int_eq(kb_points_new(2, &p), KB_OK);
}

static void stop(void)
{
    kb_points_free(p);
}

static kb_status add(double a, double b)
{
    double x[] = { a, b };
    return kb_points_add(p, x);
}

START_TEST(points_stay_in_the_order_in_which_they_came)
{
    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(add(i, -i), KB_OK);
    ck_assert_uint_eq(kb_points_count(p), 1000);
    for (int i = 0; i < 1000; i++)
        ck_assert_double_eq(kb_points_all(p)[2 * i + 1], -i);
}
END_TEST

START_TEST(what_is_no_number_is_refused)
{
    ck_assert_int_eq(add(NAN, 0), KB_EINVAL);
    ck_assert_int_eq(add(0, INFINITY), KB_EINVAL);
    ck_assert_int_eq(add(1e51, 0), KB_EINVAL);
    ck_assert_uint_eq(kb_points_count(p), 0);
    kb_points *none;
    ck_assert_int_eq(kb_points_new(0, &none), KB_EINVAL);
    ck_assert_int_eq(kb_points_new(KB_POINTS_MAX_DIM + 1, &none), KB_EINVAL);
}
END_TEST

START_TEST(the_central_one_is_nearest_the_mean)
{
    static const size_t all[] = { 0, 1, 2, 3 }, some[] = { 3, 1 }, bad[] = { 4 };
    static const size_t flat[] = { 0, 2, 3 };
    size_t best = 99;
    ck_assert_int_eq(kb_points_central(p, all, 0, false, &best), KB_EEMPTY);
    ck_assert_int_eq(add(0, 0), KB_OK);
    ck_assert_int_eq(add(10, 0), KB_OK);
    ck_assert_int_eq(add(4, 1), KB_OK);
    ck_assert_int_eq(add(0, 2), KB_OK);
    ck_assert_int_eq(kb_points_central(p, all, 4, false, &best), KB_OK);
    ck_assert_uint_eq(best, 2);
    ck_assert_int_eq(kb_points_central(p, some, 2, false, &best), KB_OK);
    ck_assert_uint_eq(best, 0);         /* a tie goes to the first */
    ck_assert_int_eq(kb_points_central(p, flat, 3, false, &best), KB_OK);
    ck_assert_uint_eq(best, 0);
    ck_assert_int_eq(kb_points_central(p, flat, 3, true, &best), KB_OK);
    ck_assert_uint_eq(best, 1);         /* a step across is long beside the pool's */
    ck_assert_int_eq(kb_points_central(p, bad, 1, false, &best), KB_EINVAL);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("points");
    TCase *tc = tcase_create("points");
    tcase_add_checked_fixture(tc, start, stop);
    tcase_add_test(tc, points_stay_in_the_order_in_which_they_came);
    tcase_add_test(tc, what_is_no_number_is_refused);
    tcase_add_test(tc, the_central_one_is_nearest_the_mean);
    suite_add_tcase(s, tc);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
