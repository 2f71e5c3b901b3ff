#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cluster.h"
#include "rng.h"

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
    const double *at = kb_cluster_centre(c, id);
    ck_assert_double_eq_tol(at[0], x, 1e-12 * (1 + fabs(x)));
    ck_assert_double_eq_tol(at[1], y, 1e-12 * (1 + fabs(y)));
}

START_TEST(the_first_distinct_points_open_clusters_in_order)
{
    ck_assert_uint_eq(kb_cluster_live(c), 0);
    ck_assert_uint_eq(put(1, 1), 0);
    ck_assert_uint_eq(put(1, 1), 0);            /* a duplicate joins */
    ck_assert_uint_eq(kb_cluster_live(c), 1);
    ck_assert_uint_eq(put(1, 1.0000001), 1);    /* close is not equal */
    ck_assert_uint_eq(put(1, 1), 0);
    ck_assert_uint_eq(put(9, 9), 2);
    ck_assert_uint_eq(kb_cluster_live(c), 3);
    ck_assert_uint_eq(kb_cluster_count(c, 0), 3);
    ck_assert_uint_eq(put(5, 100), 2);          /* no fourth */
    ck_assert_uint_eq(kb_cluster_live(c), 3);
}
END_TEST

START_TEST(duplicates_are_known_however_often_they_come)
{
    for (int i = 0; i < 1000; i++)
        ck_assert_uint_eq(put(0.1, 1.0 / 3), 0);
    ck_assert_uint_eq(put(-0.0, 1), 1);
    ck_assert_uint_eq(put(0.0, 1), 1);
    ck_assert_uint_eq(kb_cluster_live(c), 2);
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
    ck_assert_uint_eq(kb_cluster_count(c, 0), 3);
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
    for (size_t i = 0; i < kb_cluster_live(c); i++) {
        double sum = 0;
        for (size_t d = 0; d < DIM; d++)
            if (deviation[d] > 0)
                sum += pow((at[d] - kb_cluster_centre(c, i)[d])
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
        size_t want = kb_cluster_live(c) < K ? i
                    : nearest_by_formula(x, i, at);
        ck_assert(kb_cluster_live(c) < K || near(at[0], at[1]) == want);
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
    ck_assert_uint_eq(kb_cluster_count(c, 1), 1);
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
    ck_assert_uint_eq(kb_cluster_live(c), 0);
    ck_assert_uint_eq(put(1, 2), 0);
    ck_assert_int_eq(kb_cluster_assign(c, x, &id), KB_EINVAL);
    ck_assert_int_eq(kb_cluster_fit(c, x + 2, 2, ids), KB_EINVAL);
    centre_is(0, 1, 2);
    ck_assert_uint_eq(kb_cluster_count(c, 0), 1);
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
    ck_assert_uint_eq(kb_cluster_count(c, K - 1), 0);
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
        ck_assert(isfinite(kb_cluster_centre(c, id)[0]));
}
END_TEST

/* Three clouds far apart, their points taken in turns. */
static void clouds(double *x, size_t n, uint64_t seed)
{
    struct kb_rng r;
    kb_rng_seed(&r, seed);
    for (size_t i = 0; i < n; i++) {
        x[i * DIM] = 20 * (double)(i % 3) + kb_rng_normal(&r);
        x[i * DIM + 1] = 1e4 * (double)(i % 3 == 1) + kb_rng_normal(&r);
    }
}

START_TEST(fit_finds_clouds_whatever_the_seed)
{
    enum { N = 60 };
    double x[N * DIM];
    size_t ids[N];
    clouds(x, N, (uint64_t)_i);
    kb_cluster_free(c);
    c = make(K, DIM, (uint64_t)_i * 77);
    ck_assert_int_eq(kb_cluster_fit(c, x, N, ids), KB_OK);
    for (size_t i = 0; i < N; i++)
        ck_assert_uint_eq(ids[i], i % 3);       /* named by first member */
    for (size_t id = 0; id < K; id++)
        ck_assert_uint_eq(kb_cluster_count(c, id), N / 3);
}
END_TEST

START_TEST(fit_forgets_what_was_there_and_assign_goes_on_from_it)
{
    enum { N = 30 };
    double x[N * DIM];
    size_t ids[N];
    clouds(x, N, 4);
    put(-500, 3);
    put(-600, 3);
    ck_assert_int_eq(kb_cluster_fit(c, x, N, ids), KB_OK);
    ck_assert_uint_eq(put(20.5, 1e4), 1);
    ck_assert_uint_eq(kb_cluster_count(c, 1), N / 3 + 1);

    double mean = 20.5;
    for (size_t i = 1; i < N; i += 3)
        mean += x[i * DIM];
    ck_assert_double_eq_tol(kb_cluster_centre(c, 1)[0], mean / (N / 3 + 1),
                            1e-12);
}
END_TEST

START_TEST(fit_is_a_function_of_the_list_and_the_seed)
{
    enum { N = 200 };
    double x[N * DIM];
    size_t ids[2][N];
    struct kb_rng r;
    kb_rng_seed(&r, (uint64_t)_i);
    for (size_t i = 0; i < N * DIM; i++)
        x[i] = kb_rng_uniform(&r);
    ck_assert_int_eq(kb_cluster_fit(c, x, N, ids[0]), KB_OK);
    for (int i = 0; i < 7; i++)
        put(i, -i);
    ck_assert_int_eq(kb_cluster_fit(c, x, N, ids[1]), KB_OK);
    ck_assert_mem_eq(ids[0], ids[1], sizeof ids[0]);
}
END_TEST

START_TEST(the_seed_decides_where_there_is_no_structure)
{
    enum { N = 40 };
    double x[N * DIM];
    size_t ids[N], first[N];
    int same = 0;
    struct kb_rng r;
    kb_rng_seed(&r, 21);
    for (size_t i = 0; i < N * DIM; i++)
        x[i] = kb_rng_uniform(&r);
    for (uint64_t seed = 0; seed < 10; seed++) {
        kb_cluster_free(c);
        c = make(K, DIM, seed);
        ck_assert_int_eq(kb_cluster_fit(c, x, N, seed ? ids : first), KB_OK);
        same += seed && memcmp(ids, first, sizeof ids) == 0;
    }
    ck_assert_int_lt(same, 9);
}
END_TEST

/* What Lloyd's iterations promise: every point is with its nearest centre, and
 * each centre is the mean of its points. Ids come in order of first member. */
START_TEST(a_fit_is_a_fixed_point)
{
    enum { N = 300 };
    double x[N * DIM], sum[8 * DIM] = { 0 };
    size_t ids[N], seen = 0, count[8] = { 0 };
    struct kb_rng r;
    kb_rng_seed(&r, (uint64_t)_i);
    kb_cluster_free(c);
    c = make(8, DIM, (uint64_t)_i);
    for (size_t i = 0; i < N; i++) {
        x[i * DIM] = kb_rng_normal(&r);
        x[i * DIM + 1] = 1000 * kb_rng_uniform(&r);
    }
    ck_assert_int_eq(kb_cluster_fit(c, x, N, ids), KB_OK);
    ck_assert_uint_eq(kb_cluster_live(c), 8);
    for (size_t i = 0; i < N; i++) {
        ck_assert_uint_le(ids[i], seen);
        seen += ids[i] == seen;
        ck_assert_uint_eq(ids[i], near(x[i * DIM], x[i * DIM + 1]));
        count[ids[i]]++;
        for (size_t d = 0; d < DIM; d++)
            sum[ids[i] * DIM + d] += x[i * DIM + d];
    }
    for (size_t id = 0; id < 8; id++) {
        ck_assert_uint_eq(kb_cluster_count(c, id), count[id]);
        centre_is(id, sum[id * DIM] / (double)count[id],
                  sum[id * DIM + 1] / (double)count[id]);
    }
}
END_TEST

/* Found by search: with the seed 0 a cluster of each runs empty on the way.
 * The ids are what came out when it took the farthest point; the nearest, or
 * any other draw, leads elsewhere. */
static const struct {
    size_t k, n;
    const char *ids;
    double x[11 * DIM];
} emptied[] = {
    { 4, 9, "001223322", { 4, 29, 11, 27, 28, 4, 21, 24, 26, 14, 4, 7, 5, 12,
                           26, 23, 20, 16 } },
    { 4, 10, "0123030223", { 13, 25, 28, 21, 8, 5, 19, 13, 9, 23, 19, 9, 11, 28,
                             0, 18, 7, 15, 16, 10 } },
    { 6, 10, "0120314351", { 8, 20, 10, 7, 24, 18, 8, 16, 21, 26, 10, 6, 1, 20,
                             19, 14, 1, 0, 10, 4 } },
    { 4, 11, "01111210312", { 13, 21, 0, 13, 10, 16, 7, 12, 6, 15, 26, 8, 5, 20,
                              13, 27, 26, 3, 1, 24, 21, 3 } },
    { 5, 11, "01213041240", { 7, 23, 14, 3, 26, 12, 10, 10, 1, 3, 4, 14, 29, 28,
                              13, 0, 26, 6, 23, 27, 12, 12 } },
};

START_TEST(a_cluster_run_empty_is_filled_again)
{
    const double *x = emptied[_i].x;
    size_t ids[11], sum = 0;
    kb_cluster_free(c);
    c = make(emptied[_i].k, DIM, 0);
    ck_assert_int_eq(kb_cluster_fit(c, x, emptied[_i].n, ids), KB_OK);
    ck_assert_uint_eq(kb_cluster_live(c), emptied[_i].k);
    for (size_t id = 0; id < emptied[_i].k; id++) {
        ck_assert_uint_ge(kb_cluster_count(c, id), 1);
        sum += kb_cluster_count(c, id);
    }
    ck_assert_uint_eq(sum, emptied[_i].n);
    for (size_t i = 0; i < emptied[_i].n; i++) {
        ck_assert_uint_eq(ids[i], near(x[i * DIM], x[i * DIM + 1]));
        ck_assert_uint_eq(ids[i], (size_t)(emptied[_i].ids[i] - '0'));
    }
}
END_TEST

/* Few distinct points, far more clusters than groups, much repetition: as
 * many clusters as values, each with all of one value. */
START_TEST(fit_tells_every_distinct_point_apart_when_it_may)
{
    enum { N = 40 };
    double x[N * DIM];
    size_t ids[N];
    bool seen[8] = { 0 };
    size_t distinct = 0;
    struct kb_rng r;
    kb_rng_seed(&r, (uint64_t)_i);
    kb_cluster_free(c);
    c = make(12, DIM, (uint64_t)_i);
    for (size_t i = 0; i < N; i++) {
        size_t at = (size_t)kb_rng_below(&r, 8);
        x[i * DIM] = (double)(at % 4) * (at % 4 == 3 ? 1e6 : 1);
        x[i * DIM + 1] = (double)(at / 4);
        distinct += !seen[at];
        seen[at] = true;
    }
    ck_assert_int_eq(kb_cluster_fit(c, x, N, ids), KB_OK);
    ck_assert_uint_eq(kb_cluster_live(c), distinct);
    for (size_t i = 0; i < N; i++) {
        ck_assert_uint_ge(kb_cluster_count(c, ids[i]), 1);
        for (size_t j = 0; j < i; j++)          /* one cluster a value */
            ck_assert_int_eq(ids[i] == ids[j],
                             memcmp(x + i * DIM, x + j * DIM,
                                    DIM * sizeof *x) == 0);
    }
}
END_TEST

START_TEST(few_points_make_few_clusters_and_more_may_follow)
{
    double x[] = { 1, 1, 1, 1, 2, 1 };
    size_t ids[3] = { 9, 9, 9 };
    ck_assert_int_eq(kb_cluster_fit(c, x, 3, ids), KB_OK);
    ck_assert_uint_eq(kb_cluster_live(c), 2);
    ck_assert_uint_eq(ids[0], 0);
    ck_assert_uint_eq(ids[1], 0);
    ck_assert_uint_eq(ids[2], 1);
    ck_assert_uint_eq(put(2, 1), 1);
    ck_assert_uint_eq(put(1, 1), 0);
    ck_assert_uint_eq(put(1.5, 1), 2);
}
END_TEST

START_TEST(fitting_nothing_empties_the_state)
{
    put(1, 1);
    ck_assert_int_eq(kb_cluster_fit(c, NULL, 0, NULL), KB_OK);
    ck_assert_uint_eq(kb_cluster_live(c), 0);
    ck_assert_uint_eq(kb_cluster_count(c, 0), 0);
    ck_assert_uint_eq(put(5, 5), 0);
    centre_is(0, 5, 5);
    ck_assert_int_eq(kb_cluster_fit(c, NULL, KB_CLUSTER_MAX_POINTS + 1, NULL),
                     KB_EINVAL);
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
    ck_assert_uint_eq(kb_cluster_k(big), KB_CLUSTER_MAX_K);
    ck_assert_uint_eq(kb_cluster_dim(big), KB_CLUSTER_MAX_DIM);
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

static TCase *batch(void)
{
    TCase *t = tcase_create("fit");
    tcase_add_checked_fixture(t, open_c, close_c);
    tcase_add_loop_test(t, fit_finds_clouds_whatever_the_seed, 0, 20);
    tcase_add_test(t, fit_forgets_what_was_there_and_assign_goes_on_from_it);
    tcase_add_loop_test(t, fit_is_a_function_of_the_list_and_the_seed, 0, 5);
    tcase_add_test(t, the_seed_decides_where_there_is_no_structure);
    tcase_add_loop_test(t, a_fit_is_a_fixed_point, 0, 10);
    tcase_add_loop_test(t, a_cluster_run_empty_is_filled_again, 0,
                        sizeof emptied / sizeof *emptied);
    tcase_add_loop_test(t, fit_tells_every_distinct_point_apart_when_it_may,
                        0, 40);
    tcase_add_test(t, few_points_make_few_clusters_and_more_may_follow);
    tcase_add_test(t, fitting_nothing_empties_the_state);
    return t;
}

int main(void)
{
    Suite *s = suite_create("cluster");
    suite_add_tcase(s, online());
    suite_add_tcase(s, batch());
    TCase *t = tcase_create("arguments");
    tcase_add_loop_test(t, bad_arguments_are_refused, 0,
                        sizeof refused / sizeof *refused);
    tcase_add_test(t, the_largest_works);
    suite_add_tcase(s, t);

    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_ENV);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
