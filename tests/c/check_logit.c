/* This file tests core/bandit/logit.c, a logistic regression. It checks the
 * probability, the minimum that a fit finds, extreme samples and refused
 * arguments. */
#include <math.h>
#include <string.h>

#include "bandit/logit.h"
#include "rng.h"
#include "../lib/check_main.h"

enum { DIM = 2, MAX = 600 };

static kb_logit *h;

static kb_logit *make(size_t dim, double l2, size_t buffer)
{
    kb_logit *made = NULL;
    struct kb_logit_options how = { l2, buffer };
    ck_assert_int_eq(kb_logit_new(dim, &how, &made), KB_OK);
    return made;
}

static void open_h(void)
{
    h = make(DIM, 1.0, 50);
}

static void close_h(void)
{
    kb_logit_free(h);
}

static void teach(double x, double y, bool yes)
{
    ck_assert_int_eq(kb_logit_learn(h, (double[]) { x, y }, yes), KB_OK);
}

static double p_of(double x, double y)
{
    double p = -1;
    ck_assert_int_eq(kb_logit_p(h, (double[]) { x, y }, &p), KB_OK);
    return p;
}

/* Samples whose answer leans on their features, n of them. */
struct lesson {
    size_t n, dim;
    double x[MAX * 4];
    bool yes[MAX];
};

static void draw_lesson(struct lesson *l, size_t n, size_t dim, uint64_t seed)
{
    struct kb_rng r;
    kb_rng_seed(&r, seed);
    l->n = n;
    l->dim = dim;
    for (size_t i = 0; i < n; i++) {
        double z = 0.3;
        for (size_t d = 0; d < dim; d++) {
            double x = kb_rng_normal(&r);
            l->x[i * dim + d] = x;
            z += (d % 2 ? -1.5 : 1.0) * x;
        }
        l->yes[i] = z + kb_rng_normal(&r) > 0;
    }
}

static void teach_lesson(kb_logit *to, const struct lesson *l, size_t from)
{
    for (size_t i = from; i < l->n; i++)
        ck_assert_int_eq(kb_logit_learn(to, l->x + i * l->dim, l->yes[i]),
                         KB_OK);
}

/* J of the header over samples from .. n-1, as it is written there. */
static double objective(const struct lesson *l, size_t from, double l2,
                        const double *w)
{
    double sum = 1e-6 / 2 * w[0] * w[0];
    for (size_t d = 0; d < l->dim; d++)
        sum += l2 / 2 * w[d + 1] * w[d + 1];
    for (size_t i = from; i < l->n; i++) {
        double z = w[0];
        for (size_t d = 0; d < l->dim; d++)
            z += w[d + 1] * l->x[i * l->dim + d];
        double p = 1 / (1 + exp(-z));
        sum += l->yes[i] ? -log(p) : -log1p(-p);
    }
    return sum;
}

/* The slope of J along weight d, from its derivative: sum of (p - yes) x. */
static double slope(const struct lesson *l, size_t from, double l2,
                    const double *w, size_t d)
{
    double sum = d == 0 ? 1e-6 * w[0] : l2 * w[d];
    for (size_t i = from; i < l->n; i++) {
        double z = w[0];
        for (size_t k = 0; k < l->dim; k++)
            z += w[k + 1] * l->x[i * l->dim + k];
        double p = 1 / (1 + exp(-z));
        sum += (p - l->yes[i]) * (d == 0 ? 1 : l->x[i * l->dim + d - 1]);
    }
    return sum;
}

START_TEST(a_head_that_learnt_nothing_is_undecided)
{
    ck_assert_double_eq(p_of(3, -4), 0.5);
    ck_assert_int_eq(kb_logit_fit(h), 0);
    ck_assert_double_eq(p_of(3, -4), 0.5);
}
END_TEST

START_TEST(p_never_fits_by_itself)
{
    teach(1, 1, true);
    teach(-1, -1, false);
    ck_assert_double_eq(p_of(1, 1), 0.5);
    ck_assert_int_gt(kb_logit_fit(h), 0);
    ck_assert_double_gt(p_of(1, 1), 0.6);
    ck_assert_int_eq(kb_logit_fit(h), 0);       /* nothing new */
}
END_TEST

START_TEST(p_is_the_formula_in_the_header)
{
    for (int i = 0; i < 9; i++)
        teach(i, 1 - i * i, i % 3 == 0);
    kb_logit_fit(h);
    const double *w = h->weights;
    double z = w[0] + w[1] * 0.5 + w[2] * -2;
    ck_assert_double_eq_tol(p_of(0.5, -2), 1 / (1 + exp(-z)), 1e-15);
    ck_assert_double_eq_tol(p_of(0, 0), 1 / (1 + exp(-w[0])), 1e-15);
}
END_TEST

static const struct {
    size_t n, dim, buffer;
    double l2;
} lessons[] = {
    { 1, 1, 500, 1 },    { 3, 2, 500, 1 },     { 40, 2, 500, 1 },
    { 500, 4, 500, 1 },  { 600, 4, 500, 1 },   { 600, 3, 512, 0.1 },
    { 513, 2, 600, 10 }, { 60, 2, 7, 1e-3 },   { 600, 4, 600, 1e3 },
};

START_TEST(a_fit_is_the_minimum_of_the_objective)
{
    static struct lesson l;
    double l2 = lessons[_i].l2;
    draw_lesson(&l, lessons[_i].n, lessons[_i].dim, (uint64_t)_i);
    kb_logit *head = make(l.dim, l2, lessons[_i].buffer);
    teach_lesson(head, &l, 0);
    int steps = kb_logit_fit(head);
    ck_assert_int_ge(steps, 1);
    ck_assert_int_lt(steps, KB_LOGIT_MAX_STEPS);

    size_t held = head->count, from = l.n - held;
    ck_assert_uint_eq(held, l.n < lessons[_i].buffer ? l.n
                                                     : lessons[_i].buffer);
    double w[5];
    memcpy(w, head->weights, (l.dim + 1) * sizeof *w);
    double least = objective(&l, from, l2, w);
    for (size_t d = 0; d <= l.dim; d++) {
        ck_assert_double_eq_tol(slope(&l, from, l2, w, d), 0, 1e-7);
        for (int sign = -1; sign <= 1; sign += 2) {
            double kept = w[d];
            w[d] += sign * 1e-2;
            ck_assert_double_gt(objective(&l, from, l2, w), least);
            w[d] = kept;
        }
    }
    kb_logit_free(head);
}
END_TEST

START_TEST(the_ring_drops_the_oldest)
{
    static struct lesson l;
    draw_lesson(&l, 120, DIM, 5);
    kb_logit *recent = make(DIM, 1.0, 50);
    for (size_t i = 0; i < 70; i++)             /* to be forgotten */
        l.yes[i] = i % 2;
    teach_lesson(h, &l, 0);
    teach_lesson(recent, &l, 70);
    kb_logit_fit(h);
    kb_logit_fit(recent);
    for (size_t d = 0; d <= DIM; d++)
        ck_assert_double_eq_tol(h->weights[d],
                                recent->weights[d], 1e-9);
    ck_assert_uint_eq(h->count, 50);
    kb_logit_free(recent);
}
END_TEST

START_TEST(a_warm_fit_ends_where_a_cold_one_does)
{
    static struct lesson l;
    draw_lesson(&l, 200, DIM, (uint64_t)_i);
    for (size_t i = 0; i < l.n; i++) {
        teach(l.x[i * DIM], l.x[i * DIM + 1], l.yes[i]);
        if (i % 3 == 0)
            kb_logit_fit(h);
    }
    kb_logit_fit(h);
    kb_logit *cold = make(DIM, 1.0, 50);
    teach_lesson(cold, &l, 0);
    kb_logit_fit(cold);
    for (size_t d = 0; d <= DIM; d++)
        ck_assert_double_eq_tol(h->weights[d],
                                cold->weights[d], 1e-8);
    kb_logit_free(cold);
}
END_TEST

START_TEST(a_warm_fit_is_short)
{
    static struct lesson l;
    draw_lesson(&l, 400, DIM, 9);
    kb_logit_free(h);
    h = make(DIM, 1.0, 500);
    for (size_t i = 0; i < l.n; i++) {
        teach(l.x[i * DIM], l.x[i * DIM + 1], l.yes[i]);
        int steps = kb_logit_fit(h);
        ck_assert(i < 100 || steps <= 4);
    }
}
END_TEST

START_TEST(the_order_of_samples_does_not_matter)
{
    static struct lesson l;
    draw_lesson(&l, 50, DIM, 6);
    kb_logit *back = make(DIM, 1.0, 50);
    teach_lesson(h, &l, 0);
    for (size_t i = l.n; i-- > 0;)
        ck_assert_int_eq(kb_logit_learn(back, l.x + i * DIM, l.yes[i]), KB_OK);
    kb_logit_fit(h);
    kb_logit_fit(back);
    for (size_t d = 0; d <= DIM; d++)
        ck_assert_double_eq_tol(h->weights[d],
                                back->weights[d], 1e-9);
    kb_logit_free(back);
}
END_TEST

START_TEST(swapping_answers_swaps_the_sign)
{
    static struct lesson l;
    draw_lesson(&l, 50, DIM, 7);
    kb_logit *other = make(DIM, 1.0, 50);
    teach_lesson(h, &l, 0);
    for (size_t i = 0; i < l.n; i++)
        l.yes[i] = !l.yes[i];
    teach_lesson(other, &l, 0);
    kb_logit_fit(h);
    kb_logit_fit(other);
    for (size_t d = 0; d <= DIM; d++)
        ck_assert_double_eq_tol(h->weights[d],
                                -other->weights[d], 1e-9);
    kb_logit_free(other);
}
END_TEST

/* x -> s x with l2 -> s^2 l2 only renames w -> w / s. */
START_TEST(the_unit_of_features_can_be_undone_by_l2)
{
    static struct lesson l;
    draw_lesson(&l, 50, DIM, 8);
    kb_logit *scaled = make(DIM, 1e6, 50);
    teach_lesson(h, &l, 0);
    for (size_t i = 0; i < l.n * DIM; i++)
        l.x[i] *= 1e3;
    teach_lesson(scaled, &l, 0);
    kb_logit_fit(h);
    kb_logit_fit(scaled);
    for (size_t d = 0; d <= DIM; d++)
        ck_assert_double_eq_tol(h->weights[d],
                                scaled->weights[d] * (d ? 1e3 : 1),
                                1e-8);
    kb_logit_free(scaled);
}
END_TEST

START_TEST(samples_of_one_kind_have_a_finite_fit)
{
    bool yes = _i % 2;
    size_t n = _i < 2 ? 1 : 500;
    kb_logit_free(h);
    h = make(DIM, 1.0, 500);
    for (size_t i = 0; i < n; i++)
        teach(0.5, 0.25, yes);
    int steps = kb_logit_fit(h);
    ck_assert_int_lt(steps, KB_LOGIT_MAX_STEPS);
    double p = p_of(0.5, 0.25);
    ck_assert(yes ? p > 0.99 && p < 1 : p < 0.01 && p > 0);
}
END_TEST

START_TEST(separable_samples_have_a_finite_fit)
{
    static const double l2[] = { KB_LOGIT_LEAST_L2, 1e-3, 1, 1e6 };
    kb_logit_free(h);
    h = make(DIM, l2[_i], 100);
    for (int i = 1; i <= 50; i++) {
        teach(i, -i, true);
        teach(-i, i, false);
    }
    kb_logit_fit(h);
    const double *w = h->weights;
    for (size_t d = 0; d <= DIM; d++)
        ck_assert(isfinite(w[d]));
    ck_assert_double_gt(p_of(1, -1), 0.5);
    ck_assert_double_eq_tol(w[1], -w[2], 1e-6);
}
END_TEST

/* Nothing a script can teach may leave the head with weights or an answer that
 * is not a number, nor with more loss than knowing nothing. */
START_TEST(features_of_any_size_leave_a_sane_head)
{
    static const double size[] = { 1e-50, 1e-9, 1e3, 1e9, 1e20, 1e50 };
    static struct lesson l;
    draw_lesson(&l, 50, DIM, 10);
    for (size_t i = 0; i < l.n; i++) {
        l.x[i * DIM] = fmax(-1, fmin(1, l.x[i * DIM])) * size[_i];
        l.x[i * DIM + 1] = _i % 2 ? l.x[i * DIM] : l.x[i * DIM + 1];
    }
    teach_lesson(h, &l, 0);
    ck_assert_int_le(kb_logit_fit(h), KB_LOGIT_MAX_STEPS);
    const double *w = h->weights;
    double loss = 0;
    for (size_t i = 0; i < l.n; i++) {
        double p = p_of(l.x[i * DIM], l.x[i * DIM + 1]);
        ck_assert(p >= 0 && p <= 1);
        loss -= log(l.yes[i] ? p : 1 - p);
    }
    for (size_t d = 0; d <= DIM; d++)
        ck_assert(isfinite(w[d]));
    double know_nothing = 50 * log(2);
    ck_assert_double_le(loss, know_nothing + 1e-9);
    if (_i >= 2)                        /* and here there was a lot to learn */
        ck_assert_double_lt(loss, 0.95 * know_nothing);
}
END_TEST

/* A full Newton step would overshoot a thousandfold: the head is sure, so J is
 * all but flat where it stands, and steep where it has to go. */
START_TEST(one_contradiction_does_not_throw_a_sure_head)
{
    static struct lesson l;
    l.n = 49;
    l.dim = DIM;
    for (size_t i = 0; i < l.n; i++) {
        l.x[i * DIM] = i % 2 ? 1000 : -1000;
        l.yes[i] = i % 2;
    }
    l.yes[48] = true;
    for (size_t i = 0; i < l.n; i++) {
        teach(l.x[i * DIM], 0, l.yes[i]);
        if (i >= 47)
            ck_assert_int_lt(kb_logit_fit(h), KB_LOGIT_MAX_STEPS);
    }
    for (size_t d = 0; d <= DIM; d++)
        ck_assert_double_eq_tol(slope(&l, 0, 1.0, h->weights, d), 0,
                                1e-4);
    ck_assert_double_gt(p_of(1000, 0), 0.9);
}
END_TEST

/* Fitting again and again drives the margins of enormous features up, as l2
 * hardly bounds them. J is flat there: from such a start no 40 halvings of a
 * Newton step find the middle ground that a ring of mixed answers asks for. */
START_TEST(a_head_surer_than_sure_can_be_turned_round)
{
    for (int i = 0; i < 2000; i++) {
        teach(i % 2 ? 1e20 : -1e20, 0, i % 2);
        if (i > 50)
            kb_logit_fit(h);
    }
    for (int i = 0; i < 50; i++)
        teach(i % 2 ? 1e20 : -1e20, 0, (i % 2 == 0) == (i % 10 < 6));
    kb_logit_fit(h);
    ck_assert_double_eq_tol(p_of(1e20, 0), 0.4, 1e-6);
    ck_assert_double_eq_tol(p_of(-1e20, 0), 0.6, 1e-6);
}
END_TEST

static const double bad[] = { NAN, INFINITY, -INFINITY, 1.1e50, -1.1e50 };

START_TEST(a_bad_feature_is_refused_and_changes_nothing)
{
    double x[DIM] = { 0, 0 }, p = -1;
    x[_i % DIM] = bad[_i];
    ck_assert_int_eq(kb_logit_p(h, x, &p), KB_EINVAL);
    ck_assert_int_eq(kb_logit_learn(h, x, true), KB_EINVAL);
    ck_assert_double_eq(p, -1);
    ck_assert_uint_eq(h->count, 0);
}
END_TEST

static const struct {
    size_t dim;
    struct kb_logit_options how;
} refused[] = {
    { 0, { 1, 500 } },          { KB_LOGIT_MAX_DIM + 1, { 1, 500 } },
    { 2, { 0, 500 } },          { 2, { -1, 500 } },
    { 2, { NAN, 500 } },        { 2, { INFINITY, 500 } },
    { 2, { 1e-7, 500 } },       { 2, { 1, 0 } },
    { 2, { 1, KB_LOGIT_MAX_BUFFER + 1 } },
    { 2, { 1, SIZE_MAX } },
};

START_TEST(one_sample_at_a_time_ends_where_all_at_once_do)
{
    static struct lesson l;
    draw_lesson(&l, 200, 3, 5);
    kb_logit *step = make(3, 1.0, 500), *whole = make(3, 1.0, 500);
    for (size_t i = 0; i < l.n; i++) {
        ck_assert_int_eq(kb_logit_learn(step, l.x + 3 * i, l.yes[i]), KB_OK);
        ck_assert_int_eq(kb_logit_learn(whole, l.x + 3 * i, l.yes[i]), KB_OK);
        kb_logit_fit(step);
    }
    kb_logit_fit(whole);
    for (int i = 0; i <= 3; i++)
        ck_assert_double_eq_tol(step->weights[i],
                                whole->weights[i], 1e-7);
    kb_logit_free(step);
    kb_logit_free(whole);
}
END_TEST

START_TEST(bad_arguments_are_refused)
{
    kb_logit *made = NULL;
    ck_assert_int_eq(kb_logit_new(refused[_i].dim, &refused[_i].how, &made),
                     KB_EINVAL);
    ck_assert_ptr_null(made);
}
END_TEST

START_TEST(the_largest_and_the_smallest_work)
{
    double x[KB_LOGIT_MAX_DIM] = { 0 };
    kb_logit *big = make(KB_LOGIT_MAX_DIM, 1, KB_LOGIT_MAX_DIM * 2);
    for (size_t i = 0; i < KB_LOGIT_MAX_DIM * 3; i++) {
        x[i % KB_LOGIT_MAX_DIM] += i % 2 ? 1 : -1;
        ck_assert_int_eq(kb_logit_learn(big, x, i % 2), KB_OK);
    }
    ck_assert_int_gt(kb_logit_fit(big), 0);
    ck_assert_uint_eq(big->count, KB_LOGIT_MAX_DIM * 2);
    ck_assert_uint_eq(big->dim, KB_LOGIT_MAX_DIM);
    kb_logit_free(big);

    kb_logit *tiny = make(1, 1, 1);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(kb_logit_learn(tiny, x, i % 2), KB_OK);
        kb_logit_fit(tiny);
        ck_assert_uint_eq(tiny->count, 1);
    }
    kb_logit_free(tiny);
    kb_logit_free(NULL);
}
END_TEST

static TCase *one_head(void)
{
    TCase *t = tcase_create("head");
    tcase_add_checked_fixture(t, open_h, close_h);
    tcase_add_test(t, a_head_that_learnt_nothing_is_undecided);
    tcase_add_test(t, p_never_fits_by_itself);
    tcase_add_test(t, p_is_the_formula_in_the_header);
    tcase_add_loop_test(t, a_fit_is_the_minimum_of_the_objective, 0,
                        sizeof lessons / sizeof *lessons);
    tcase_add_test(t, the_ring_drops_the_oldest);
    tcase_add_loop_test(t, a_warm_fit_ends_where_a_cold_one_does, 0, 5);
    tcase_add_test(t, a_warm_fit_is_short);
    tcase_add_test(t, the_order_of_samples_does_not_matter);
    tcase_add_test(t, swapping_answers_swaps_the_sign);
    tcase_add_test(t, the_unit_of_features_can_be_undone_by_l2);
    tcase_add_loop_test(t, samples_of_one_kind_have_a_finite_fit, 0, 4);
    tcase_add_loop_test(t, separable_samples_have_a_finite_fit, 0, 4);
    tcase_add_loop_test(t, features_of_any_size_leave_a_sane_head, 0, 6);
    tcase_add_test(t, one_contradiction_does_not_throw_a_sure_head);
    tcase_add_test(t, a_head_surer_than_sure_can_be_turned_round);
    tcase_add_test(t, one_sample_at_a_time_ends_where_all_at_once_do);
    tcase_add_loop_test(t, a_bad_feature_is_refused_and_changes_nothing, 0,
                        sizeof bad / sizeof *bad);
    return t;
}

static Suite *tests(void)
{
    Suite *s = suite_create("logit");
    suite_add_tcase(s, one_head());
    TCase *t = tcase_create("arguments");
    tcase_add_loop_test(t, bad_arguments_are_refused, 0,
                        sizeof refused / sizeof *refused);
    tcase_add_test(t, the_largest_and_the_smallest_work);
    suite_add_tcase(s, t);
    return s;
}

TEST_MAIN(tests)
