/* This file tests core/bandit/ucb.c. It checks the score formula, the choice of
 * an arm, pulls that are under way, and refused arguments. */
#include <math.h>

#include "bandit/ucb.h"
#include "rng.h"
#include "../lib/check_main.h"

static const double c = 1.4142135623730951;     /* sqrt 2 */

static kb_ucb *u;

static kb_ucb *make(size_t arms, struct kb_ucb_options how)
{
    kb_ucb *made = NULL;
    ck_assert_int_eq(kb_ucb_new(arms, &how, &made), KB_OK);
    return made;
}

static void open_three(void)
{
    u = make(3, kb_ucb_defaults);
}

static void close_three(void)
{
    kb_ucb_free(u);
}

static void pull(size_t arm, double reward)
{
    ck_assert_int_eq(kb_ucb_update(u, arm, reward), KB_OK);
}

static size_t pick(const struct kb_ucb_cand *cand, size_t n)
{
    size_t best = 99;
    ck_assert_int_eq(kb_ucb_select(u, cand, n, 0, &best), KB_OK);
    return best;
}

static const struct kb_ucb_cand each[] = {
    { 0, 0, 0 }, { 1, 0, 0 }, { 2, 0, 0 }
};

START_TEST(fresh_arms_are_tried_in_the_order_listed)
{
    for (size_t want = 0; want < 3; want++) {
        ck_assert_uint_eq(pick(each, 3), want);
        pull(want, 1.0);
    }
}
END_TEST

START_TEST(pulls_under_way_count_as_made)
{
    struct kb_ucb_cand waiting[] = { { 0, 0, 3 }, { 1, 0, 0 }, { 2, 0, 0 } };
    size_t best = 99;
    ck_assert_int_eq(kb_ucb_select(u, waiting, 3, 3, &best), KB_OK);
    ck_assert_uint_eq(best, 1);         /* the first is no longer fresh */
    for (size_t a = 0; a < 3; a++)
        pull(a, 0.5);
    ck_assert_int_eq(kb_ucb_select(u, waiting, 3, 3, &best), KB_OK);
    ck_assert_uint_eq(best, 1);         /* all alike, but for them */
}
END_TEST

START_TEST(a_fresh_arm_beats_any_bias)
{
    static const struct kb_ucb_cand cand[] = {
        { 0, 1e99, 0 }, { 1, -1e99, 0 }, { 2, 0.5, 0 }
    };
    pull(0, 1e99);
    ck_assert_uint_eq(pick(cand, 3), 2);
    ck_assert_uint_eq(pick(cand, 2), 1);
}
END_TEST

START_TEST(score_is_the_formula_in_the_header)
{
    pull(1, 1.0);
    pull(1, 0.5);
    pull(1, 0.0);
    pull(2, -1.0);
    ck_assert_double_eq_tol(kb_ucb_mean(u, 1), 0.5, 1e-15);
    ck_assert_double_eq(u->arm[1].pulls, 3);
    ck_assert_uint_eq(u->t, 4);
    ck_assert_double_eq_tol(kb_ucb_score(u, 1), 0.5 + c * sqrt(log(4) / 3),
                            1e-12);
    ck_assert_double_eq_tol(kb_ucb_score(u, 2), -1 + c * sqrt(log(4) / 1),
                            1e-12);
}
END_TEST

START_TEST(an_arm_never_pulled_scores_infinity)
{
    pull(1, 1.0);
    ck_assert(isinf(kb_ucb_score(u, 0)) && kb_ucb_score(u, 0) > 0);
    ck_assert_double_eq(kb_ucb_mean(u, 0), 0);
    ck_assert_double_eq(u->arm[0].pulls, 0);
}
END_TEST

START_TEST(the_first_update_leaves_no_exploration_term)
{
    pull(1, 0.25);
    ck_assert_double_eq(kb_ucb_score(u, 1), 0.25);      /* ln 1 = 0 */
}
END_TEST

static const struct {
    struct kb_ucb_options how;
    size_t rewards;             /* of arm 0, each 0.75 */
    size_t others;              /* of arm 1 */
} priors[] = {
    { { 2, 0.5, 1 },     0, 0 },
    { { 2, 0.5, 1 },     0, 5 },
    { { 2, 0.5, 1 },     3, 0 },
    { { 2, 0.5, 1 },     3, 5 },
    { { 0.25, -1, 0.5 }, 2, 7 },
    { { 0.25, -1, 0.5 }, 0, 1 },
    { { 0, 0.1, 2.5 },   4, 4 },
    { { 1, 7, 0 },       2, 2 },
};

START_TEST(a_prior_counts_in_mean_and_pulls_but_not_in_t)
{
    struct kb_ucb_options how = priors[_i].how;
    size_t n = priors[_i].rewards, others = priors[_i].others;
    kb_ucb_free(u);
    u = make(3, how);
    for (size_t i = 0; i < n; i++)
        pull(0, 0.75);
    for (size_t i = 0; i < others; i++)
        pull(1, -0.25);

    double sum = 0.75 * (double)n, pulls = how.prior_pulls + (double)n;
    double mean = (how.prior_mean * how.prior_pulls + sum) / pulls;
    double t = (double)(n + others);
    ck_assert_double_eq_tol(u->arm[0].pulls, pulls, 1e-12);
    ck_assert_double_eq_tol(kb_ucb_mean(u, 0), mean, 1e-12);
    ck_assert_double_eq_tol(kb_ucb_score(u, 0),
                            mean + how.c * sqrt(log(fmax(t, 1)) / pulls),
                            1e-12);
    ck_assert_uint_eq(u->t, n + others);
    ck_assert_double_eq_tol(kb_ucb_mean(u, 2), how.prior_mean, 1e-12);
}
END_TEST

START_TEST(with_a_prior_no_arm_is_fresh)
{
    kb_ucb_free(u);
    u = make(3, (struct kb_ucb_options) { 0, 0.5, 0.25 });
    static const struct kb_ucb_cand cand[] = { { 0, 0, 0 }, { 1, 0.1, 0 } };
    ck_assert_uint_eq(pick(cand, 2), 1);
    pull(0, 1.0);                       /* mean (0.125 + 1) / 1.25 = 0.9 */
    ck_assert_uint_eq(pick(cand, 2), 0);
}
END_TEST

START_TEST(candidates_on_one_arm_differ_by_bias_alone)
{
    static const struct kb_ucb_cand cand[] = {
        { 1, 0.1, 0 }, { 1, 0.3, 0 }, { 1, 0.3, 0 }
    };
    ck_assert_uint_eq(pick(cand, 3), 1);        /* fresh: ties to the first */
    pull(1, 0.7);
    ck_assert_uint_eq(pick(cand, 3), 1);
}
END_TEST

START_TEST(an_arm_not_listed_is_not_chosen)
{
    static const struct kb_ucb_cand cand[] = { { 2, 0, 0 }, { 0, 0, 0 } };
    pull(0, 0.1);
    pull(1, 1.0);
    pull(2, 0.2);
    ck_assert_uint_eq(pick(cand, 2), 0);
    ck_assert_uint_eq(pick(cand + 1, 1), 0);
}
END_TEST

static void shuffle(struct kb_rng *r, size_t *order, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)kb_rng_below(r, i), kept = order[i - 1];
        order[i - 1] = order[j];
        order[j] = kept;
    }
}

/* Distinct biases, so there are no ties for the order to break. */
START_TEST(the_order_of_the_list_decides_nothing_but_ties)
{
    enum { N = 40 };
    struct kb_ucb_cand cand[N], mixed[N];
    size_t order[N];
    struct kb_rng r;
    kb_rng_seed(&r, (uint64_t)_i);
    for (int i = 0; i < 10; i++)
        pull((size_t)kb_rng_below(&r, _i % 2 ? 3 : 2), kb_rng_uniform(&r));
    for (size_t i = 0; i < N; i++) {
        cand[i] = (struct kb_ucb_cand) { i % 3, kb_rng_normal(&r), 0 };
        order[i] = i;
    }
    shuffle(&r, order, N);
    for (size_t i = 0; i < N; i++)
        mixed[i] = cand[order[i]];
    ck_assert_uint_eq(order[pick(mixed, N)], pick(cand, N));
}
END_TEST

/* mean and c scale together, so choices do not depend on the reward's unit.
 * A power of two makes every product exact. */
START_TEST(scaling_rewards_bias_and_c_changes_no_choice)
{
    kb_ucb *big = make(3, (struct kb_ucb_options) { c * 1024, 0, 0 });
    struct kb_rng r;
    kb_rng_seed(&r, 7);
    for (int i = 0; i < 200; i++) {
        struct kb_ucb_cand cand[3], scaled[3];
        for (size_t a = 0; a < 3; a++) {
            cand[a] = (struct kb_ucb_cand) { a, kb_rng_uniform(&r), 0 };
            scaled[a] = (struct kb_ucb_cand) { a, cand[a].bias * 1024, 0 };
        }
        size_t other = 99, here = pick(cand, 3);
        ck_assert_int_eq(kb_ucb_select(big, scaled, 3, 0, &other), KB_OK);
        ck_assert_uint_eq(here, other);
        double reward = kb_rng_normal(&r);
        pull(here, reward);
        ck_assert_int_eq(kb_ucb_update(big, here, reward * 1024), KB_OK);
    }
    kb_ucb_free(big);
}
END_TEST

START_TEST(the_better_arm_is_pulled_more)
{
    static const double pays[] = { 0.1, 0.9, 0.3 };
    for (int i = 0; i < 400; i++) {
        size_t best = pick(each, 3);
        pull(best, pays[best]);
    }
    ck_assert_double_gt(u->arm[1].pulls, 300);
    ck_assert_double_gt(u->arm[0].pulls, 5);         /* never starved */
}
END_TEST

static const struct kb_ucb_cand rejected[] = {
    { 3, 0, 0 }, { SIZE_MAX, 0, 0 }, { 0, NAN, 0 }, { 0, INFINITY, 0 },
    { 0, -INFINITY, 0 }, { 0, 1e101, 0 }, { 0, -1e101, 0 }, { 0, 0, -1 },
    { 0, 0, NAN },
};

START_TEST(a_bad_candidate_is_refused_wherever_it_stands)
{
    struct kb_ucb_cand cand[] = { { 1, 0, 0 }, rejected[_i], { 2, 0, 0 } };
    size_t best = 99;
    ck_assert_int_eq(kb_ucb_select(u, cand, 3, 0, &best), KB_EINVAL);
    ck_assert_int_eq(kb_ucb_select(u, cand + 1, 1, 0, &best), KB_EINVAL);
    pull(rejected[_i].arm == 0 ? 0 : 1, 0.5);           /* not fresh either */
    ck_assert_int_eq(kb_ucb_select(u, cand, 2, 0, &best), KB_EINVAL);
    ck_assert_uint_eq(best, 99);
}
END_TEST

START_TEST(nothing_to_choose_from_is_a_status)
{
    size_t best = 99;
    ck_assert_int_eq(kb_ucb_select(u, NULL, 0, 0, &best), KB_EEMPTY);
    ck_assert_uint_eq(best, 99);
}
END_TEST

static const struct kb_ucb_cand unpaid[] = {       /* arm, reward */
    { 3, 0, 0 }, { SIZE_MAX, 0, 0 }, { 1, NAN, 0 }, { 1, INFINITY, 0 },
    { 1, -INFINITY, 0 },
    { 1, 1.1e100, 0 },
};

START_TEST(a_bad_update_changes_nothing)
{
    pull(1, 0.5);
    double score = kb_ucb_score(u, 1);
    ck_assert_int_eq(kb_ucb_update(u, unpaid[_i].arm, unpaid[_i].bias),
                     KB_EINVAL);
    ck_assert_double_eq(kb_ucb_score(u, 1), score);
    ck_assert_double_eq(u->arm[1].pulls, 1);
    ck_assert_uint_eq(u->t, 1);
}
END_TEST

START_TEST(scores_stay_finite_at_the_limits)
{
    kb_ucb_free(u);
    u = make(3, (struct kb_ucb_options) { 1e100, -1e100, 1e-100 });
    struct kb_ucb_cand cand[] = { { 0, 1e100, 0 }, { 1, -1e100, 0 } };
    for (int i = 0; i < 5; i++) {
        pull(0, 1e100);
        pull(1, -1e100);
        for (size_t a = 0; a < 3; a++)
            ck_assert(isfinite(kb_ucb_score(u, a)));
        ck_assert_uint_eq(pick(cand, 2), 0);
    }
}
END_TEST

static const struct {
    size_t arms;
    struct kb_ucb_options how;
} refused[] = {
    { 0, { 1, 0, 0 } },         { KB_UCB_MAX_ARMS + 1, { 1, 0, 0 } },
    { 3, { -0.1, 0, 0 } },      { 3, { NAN, 0, 0 } },
    { 3, { INFINITY, 0, 0 } },  { 3, { 1, NAN, 1 } },
    { 3, { 1, INFINITY, 1 } },  { 3, { 1, 0, -1 } },
    { 3, { 1, 0, NAN } },       { 3, { 1, 0, INFINITY } },
    { 3, { 1, 0, 1e-101 } },    { 3, { 1, 1e101, 1 } },
};

START_TEST(bad_arguments_are_refused)
{
    kb_ucb *made = NULL;
    ck_assert_int_eq(kb_ucb_new(refused[_i].arms, &refused[_i].how, &made),
                     KB_EINVAL);
    ck_assert_ptr_null(made);
}
END_TEST

START_TEST(the_ends_of_the_ranges_are_accepted)
{
    kb_ucb *made = make(KB_UCB_MAX_ARMS, (struct kb_ucb_options) { 0, 0, 0 });
    ck_assert_uint_eq(made->arms, KB_UCB_MAX_ARMS);
    ck_assert_int_eq(kb_ucb_update(made, KB_UCB_MAX_ARMS - 1, 1), KB_OK);
    kb_ucb_free(made);
    kb_ucb_free(make(1, (struct kb_ucb_options) { 1e100, 1e100, 1e100 }));
    kb_ucb_free(NULL);
}
END_TEST

static TCase *three_arms(void)
{
    TCase *t = tcase_create("three arms");
    tcase_add_checked_fixture(t, open_three, close_three);
    tcase_add_test(t, fresh_arms_are_tried_in_the_order_listed);
    tcase_add_test(t, pulls_under_way_count_as_made);
    tcase_add_test(t, a_fresh_arm_beats_any_bias);
    tcase_add_test(t, score_is_the_formula_in_the_header);
    tcase_add_test(t, an_arm_never_pulled_scores_infinity);
    tcase_add_test(t, the_first_update_leaves_no_exploration_term);
    tcase_add_loop_test(t, a_prior_counts_in_mean_and_pulls_but_not_in_t, 0,
                        sizeof priors / sizeof *priors);
    tcase_add_test(t, with_a_prior_no_arm_is_fresh);
    tcase_add_test(t, candidates_on_one_arm_differ_by_bias_alone);
    tcase_add_test(t, an_arm_not_listed_is_not_chosen);
    tcase_add_loop_test(t, the_order_of_the_list_decides_nothing_but_ties,
                        0, 10);
    tcase_add_test(t, scaling_rewards_bias_and_c_changes_no_choice);
    tcase_add_test(t, the_better_arm_is_pulled_more);
    tcase_add_loop_test(t, a_bad_candidate_is_refused_wherever_it_stands, 0,
                        sizeof rejected / sizeof *rejected);
    tcase_add_test(t, nothing_to_choose_from_is_a_status);
    tcase_add_loop_test(t, a_bad_update_changes_nothing, 0,
                        sizeof unpaid / sizeof *unpaid);
    tcase_add_test(t, scores_stay_finite_at_the_limits);
    return t;
}

static Suite *tests(void)
{
    Suite *s = suite_create("ucb");
    suite_add_tcase(s, three_arms());
    TCase *t = tcase_create("arguments");
    tcase_add_loop_test(t, bad_arguments_are_refused, 0,
                        sizeof refused / sizeof *refused);
    tcase_add_test(t, the_ends_of_the_ranges_are_accepted);
    suite_add_tcase(s, t);
    return s;
}

TEST_MAIN(tests)
