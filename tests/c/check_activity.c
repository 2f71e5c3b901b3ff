/* This file tests core/cuda/inject/activity.c. It checks the sums that are
 * computed from records of GPU kernels and copies: counts, times, streams. */
#include "cuda/inject/activity.h"
#include "../lib/check_main.h"

static struct kb_activity at(int64_t start, int64_t end, int32_t stream)
{
    return (struct kb_activity){ .start_ns = start, .end_ns = end,
                                 .stream = stream };
}

static struct kb_activity_sum sum(struct kb_activity *r, size_t n)
{
    struct kb_activity_sum out = { 0 };
    kb_activity_add_up(r, n, 7, &out);
    return out;
}

START_TEST(nothing_recorded_is_nothing_run)
{
    struct kb_activity_sum s = { .dropped = 2 };
    kb_activity_add_up(NULL, 0, 7, &s);
    ck_assert_int_eq(s.kernels + s.copies + s.span_ns + s.streams, 0);
    ck_assert_int_eq(s.dropped, 2);
}
END_TEST

START_TEST(time_in_which_two_ran_is_counted_once)
{
    struct kb_activity r[] = { at(300, 400, 7), at(100, 200, 7), at(150, 250, 9),
                               at(160, 170, 9) };
    struct kb_activity_sum s = sum(r, 4);
    ck_assert_int_eq(r[0].start_ns, 100);
    ck_assert_int_eq(s.kernels, 4);
    ck_assert_int_eq(s.sum_ns, 310);
    ck_assert_int_eq(s.union_ns, 250);
    ck_assert_int_eq(s.span_ns, 300);
    ck_assert_int_eq(s.away_ns, 110);
    ck_assert_int_eq(s.streams, 2);
    ck_assert_int_eq(s.devices, 1);
}
END_TEST

START_TEST(copies_are_work_but_no_kernels)
{
    struct kb_activity r[] = { at(100, 200, 7), at(200, 300, 7) };
    r[1].kind = KB_ACTIVITY_COPY;
    r[1].device = 1;
    struct kb_activity_sum s = sum(r, 2);
    ck_assert_int_eq(s.kernels, 1);
    ck_assert_int_eq(s.copies, 1);
    ck_assert_int_eq(s.union_ns, 200);
    ck_assert_int_eq(s.devices, 2);
    ck_assert_int_eq(s.streams, 2);
}
END_TEST

START_TEST(records_without_times_are_dropped)
{
    struct kb_activity r[] = { at(0, 0, 3), at(500, 400, 4), at(100, 100, 7) };
    struct kb_activity_sum s = sum(r, 3);
    ck_assert_int_eq(s.kernels, 1);
    ck_assert_int_eq(s.dropped, 2);
    ck_assert_int_eq(s.streams, 1);
    ck_assert_int_eq(s.away_ns, 0);
    ck_assert_int_eq(s.span_ns, 0);
}
END_TEST

START_TEST(without_a_home_nothing_is_away)
{
    struct kb_activity r[] = { at(100, 200, 7), at(200, 300, 9) };
    struct kb_activity_sum s = { 0 };
    kb_activity_add_up(r, 2, KB_ACTIVITY_NOWHERE, &s);
    ck_assert_int_eq(s.home, KB_ACTIVITY_NOWHERE);
    ck_assert_int_eq(s.away_ns, 0);
    ck_assert_int_eq(s.streams, 2);
}
END_TEST

static Suite *tests(void)
{
    Suite *suite = suite_create("activity");
    TCase *tcase = tcase_create("sums");
    tcase_add_test(tcase, nothing_recorded_is_nothing_run);
    tcase_add_test(tcase, time_in_which_two_ran_is_counted_once);
    tcase_add_test(tcase, copies_are_work_but_no_kernels);
    tcase_add_test(tcase, without_a_home_nothing_is_away);
    tcase_add_test(tcase, records_without_times_are_dropped);
    suite_add_tcase(suite, tcase);
    return suite;
}

TEST_MAIN(tests)
