/* This file tests the online form of core/bandit/cluster.c, which assigns one
 * point at a time. It checks ids, centres, distances, ties and refused
 * arguments. check_cluster_fit.c tests kb_cluster_fit. */
#include <math.h>

#include "bandit/cluster.h"
#include "rng.h"
#include "../lib/check_main.h"

enum { K = 3, DIM = 2 };

static kb_cluster *c;

static kb_cluster *make(size_t k, size_t dim, uint64_t seed)
{
    kb_cluster *made = NULL;
    ck_assert_int_eq(kb_cluster_new(k, dim, seed, &made), KB_OK);
    return made;
}

static void open_c(void)
{
    c = make(K, DIM, 1);
}

static void close_c(void)
{
    kb_cluster_free(c);
}

static size_t put(double x, double y)
{
    size_t id = 99;
    ck_assert_int_eq(kb_cluster_assign(c, (double[]) { x, y }, &id), KB_OK);
    return id;
}

static size_t near(double x, double y)
{
    size_t id = 99;
    ck_assert_int_eq(kb_cluster_nearest(c, (double[]) { x, y }, &id), KB_OK);
    return id;
}

static void centre_is(size_t id, double x, double y)
{
    const double *at = c->centre + id * c->dim;
    ck_assert_double_eq_tol(at[0], x, 1e-12 * (1 + fabs(x)));
    ck_assert_double_eq_tol(at[1], y, 1e-12 * (1 + fabs(y)));
}

START_TEST(the_first_distinct_points_open_clusters_in_order)
{
    ck_assert_uint_eq(c->live, 0);
    ck_assert_uint_eq(put(1, 1), 0);
    ck_assert_uint_eq(put(1, 1), 0);            /* a duplicate joins */
    ck_assert_uint_eq(c->live, 1);
    ck_assert_uint_eq(put(1, 1.0000001), 1);    /* close is not equal */
    ck_assert_uint_eq(put(1, 1), 0);
    ck_assert_uint_eq(put(9, 9), 2);
    ck_assert_uint_eq(c->live, 3);
    ck_assert_uint_eq(c->count[0], 3);
    ck_assert_uint_eq(put(5, 100), 2);          /* no fourth */
    ck_assert_uint_eq(c->live, 3);
}
END_TEST

START_TEST(duplicates_are_known_however_often_they_come)
{
    for (int i = 0; i < 1000; i++)
        ck_assert_uint_eq(put(0.1, 1.0 / 3), 0);
    ck_assert_uint_eq(put(-0.0, 1), 1);
    ck_assert_uint_eq(put(0.0, 1), 1);
    ck_assert_uint_eq(c->live, 2);
}
END_TEST

START_TEST(a_centre_is_the_mean_of_its_members)
{
    put(0, 0);
    put(10, 0);
    put(0, 10);
    ck_assert_uint_eq(put(1, 2), 0);
    centre_is(0, 0.5, 1);
    ck_assert_uint_eq(put(1, 1), 0);
    centre_is(0, 2.0 / 3, 1);
    centre_is(1, 10, 0);
    ck_assert_uint_eq(c->count[0], 3);
}
END_TEST

/* The distance of the header, computed anew from all points so far. */
static size_t nearest_by_formula(const double *x, size_t n, const double *at)
{
    double deviation[DIM], best = INFINITY;
    size_t id = 0;
    for (size_t d = 0; d < DIM; d++) {
        double mean = 0, square = 0;
        for (size_t i = 0; i < n; i++)
            mean += x[i * DIM + d] / (double)n;
        for (size_t i = 0; i < n; i++)
            square += pow(x[i * DIM + d] - mean, 2);
        deviation[d] = sqrt(square / (double)n);
    }
    for (size_t i = 0; i < c->live; i++) {
        double sum = 0;
        for (size_t d = 0; d < DIM; d++)
            if (deviation[d] > 0)
                sum += pow((at[d] - c->centre[i * c->dim + d])
                           / deviation[d], 2);
        if (sum < best) {
            best = sum;
            id = i;
        }
    }
    return id;
}

START_TEST(distance_is_the_formula_in_the_header)
{
    double x[200 * DIM];
    struct kb_rng r;
    kb_rng_seed(&r, (uint64_t)_i);
    for (size_t i = 0; i < 200; i++) {
        double *at = x + i * DIM;
        at[0] = kb_rng_normal(&r);
        at[1] = 1e6 + 1e3 * kb_rng_uniform(&r);
        size_t want = c->live < K ? i
                    : nearest_by_formula(x, i, at);
        ck_assert(c->live < K || near(at[0], at[1]) == want);
        ck_assert_uint_eq(put(at[0], at[1]), want);
    }
}
END_TEST

START_TEST(nearest_changes_nothing)
{
    put(0, 0);
    put(4, 0);
    put(0, 4);
    for (int i = 0; i < 5; i++)
        ck_assert_uint_eq(near(3, 0.5), 1);
    centre_is(1, 4, 0);
    ck_assert_uint_eq(c->count[1], 1);
}
END_TEST

START_TEST(the_unit_of_a_coordinate_does_not_matter)
{
    kb_cluster *scaled = make(K, DIM, 1);
    struct kb_rng r;
    kb_rng_seed(&r, 3);
    for (int i = 0; i < 300; i++) {
        double x = kb_rng_normal(&r), y = kb_rng_normal(&r);
        size_t id = 99;
        ck_assert_int_eq(kb_cluster_assign(scaled,
                         (double[]) { x * 0x1p40, y * 0x1p-20 }, &id), KB_OK);
        ck_assert_uint_eq(put(x, y), id);
    }
    kb_cluster_free(scaled);
}
END_TEST

START_TEST(a_coordinate_that_never_varied_counts_nothing)
{
    put(0, 7);
    put(1, 7);
    put(2, 7);
    ck_assert_uint_eq(near(1.9, -1e30), 2);
    ck_assert_uint_eq(near(1.2, 7.9), 1);
    ck_assert_uint_eq(put(0.1, 8), 0);          /* and from here on it does */
    ck_assert_uint_eq(near(1.2, 7.9), 0);
}
END_TEST

START_TEST(a_deviation_next_to_nothing_is_none)
{
    put(0, 0);
    put(1, 1e-60);
    put(2, -1e-60);
    ck_assert_uint_eq(near(1.9, 1e-60), 2);
}
END_TEST

START_TEST(ties_go_to_the_lowest_id)
{
    put(1, 0);
    put(-1, 0);
    put(0, 9);
    ck_assert_uint_eq(near(0, 0), 0);
    ck_assert_uint_eq(put(0, 0), 0);
}
END_TEST

static const double bad[] = { NAN, INFINITY, -INFINITY, 1.1e50, -1.1e50 };

START_TEST(a_bad_coordinate_is_refused_and_changes_nothing)
{
    double x[] = { 0, 0, 1, 1, 0, 0 };
    size_t id = 99, ids[3] = { 7, 7, 7 };
    x[_i % 2] = x[4 + _i % 2] = bad[_i];
    ck_assert_int_eq(kb_cluster_nearest(c, x, &id), KB_EINVAL);
    ck_assert_int_eq(kb_cluster_assign(c, x, &id), KB_EINVAL);
    ck_assert_uint_eq(c->live, 0);
    ck_assert_uint_eq(put(1, 2), 0);
    ck_assert_int_eq(kb_cluster_assign(c, x, &id), KB_EINVAL);
    ck_assert_int_eq(kb_cluster_fit(c, x + 2, 2, ids), KB_EINVAL);
    centre_is(0, 1, 2);
    ck_assert_uint_eq(c->count[0], 1);
    ck_assert_uint_eq(id, 99);
    ck_assert_uint_eq(ids[0], 7);
}
END_TEST

START_TEST(nothing_is_nearest_to_nothing)
{
    size_t id = 99;
    ck_assert_int_eq(kb_cluster_nearest(c, (double[]) { 0, 0 }, &id),
                     KB_EEMPTY);
    ck_assert_uint_eq(id, 99);
    ck_assert_uint_eq(c->count[K - 1], 0);
}
END_TEST

START_TEST(the_limits_do_not_overflow)
{
    ck_assert_uint_eq(put(1e50, -1e50), 0);
    ck_assert_uint_eq(put(-1e50, 1e50), 1);
    ck_assert_uint_eq(put(0, 1e-60), 2);
    ck_assert_uint_eq(put(9e49, -1e50), 0);
    ck_assert_uint_eq(put(-9e49, 1e50), 1);
    ck_assert_uint_eq(put(1, 1), 2);
    for (size_t id = 0; id < K; id++)
        ck_assert(isfinite(c->centre[id * c->dim + 0]));
}
END_TEST

static const struct {
    size_t k, dim;
} refused[] = {
    { 0, 1 }, { 1, 0 }, { KB_CLUSTER_MAX_K + 1, 1 },
    { 1, KB_CLUSTER_MAX_DIM + 1 }, { SIZE_MAX, SIZE_MAX },
};

START_TEST(bad_arguments_are_refused)
{
    kb_cluster *made = NULL;
    ck_assert_int_eq(kb_cluster_new(refused[_i].k, refused[_i].dim, 0, &made),
                     KB_EINVAL);
    ck_assert_ptr_null(made);
}
END_TEST

START_TEST(the_largest_works)
{
    kb_cluster *big = make(KB_CLUSTER_MAX_K, KB_CLUSTER_MAX_DIM, 0);
    double x[KB_CLUSTER_MAX_DIM];
    for (size_t i = 0; i < 2 * KB_CLUSTER_MAX_K; i++) {
        size_t id = 99;
        for (size_t d = 0; d < KB_CLUSTER_MAX_DIM; d++)
            x[d] = (double)(i % KB_CLUSTER_MAX_K * (d + 1));
        ck_assert_int_eq(kb_cluster_assign(big, x, &id), KB_OK);
        ck_assert_uint_eq(id, i % KB_CLUSTER_MAX_K);
    }
    ck_assert_uint_eq(big->k, KB_CLUSTER_MAX_K);
    ck_assert_uint_eq(big->dim, KB_CLUSTER_MAX_DIM);
    kb_cluster_free(big);
    kb_cluster_free(NULL);
}
END_TEST

static TCase *online(void)
{
    TCase *t = tcase_create("assign");
    tcase_add_checked_fixture(t, open_c, close_c);
    tcase_add_test(t, the_first_distinct_points_open_clusters_in_order);
    tcase_add_test(t, duplicates_are_known_however_often_they_come);
    tcase_add_test(t, a_centre_is_the_mean_of_its_members);
    tcase_add_loop_test(t, distance_is_the_formula_in_the_header, 0, 5);
    tcase_add_test(t, nearest_changes_nothing);
    tcase_add_test(t, the_unit_of_a_coordinate_does_not_matter);
    tcase_add_test(t, a_coordinate_that_never_varied_counts_nothing);
    tcase_add_test(t, a_deviation_next_to_nothing_is_none);
    tcase_add_test(t, ties_go_to_the_lowest_id);
    tcase_add_loop_test(t, a_bad_coordinate_is_refused_and_changes_nothing, 0,
                        sizeof bad / sizeof *bad);
    tcase_add_test(t, nothing_is_nearest_to_nothing);
    tcase_add_test(t, the_limits_do_not_overflow);
    return t;
}

static Suite *tests(void)
{
    Suite *s = suite_create("cluster");
    suite_add_tcase(s, online());
    TCase *t = tcase_create("arguments");
    tcase_add_loop_test(t, bad_arguments_are_refused, 0,
                        sizeof refused / sizeof *refused);
    tcase_add_test(t, the_largest_works);
    suite_add_tcase(s, t);
    return s;
}

TEST_MAIN(tests)
