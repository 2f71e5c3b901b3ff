/* This file tests core/measure/tensor_compare.c. It checks the error limit and
 * how wrong elements are found. It also checks that core/cuda/judge.h, compiled
 * as C, decides in the same way. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "measure/tensor.h"
#include "rng.h"

#define DEVICE static
#include "cuda/judge.h"
#include "../lib/check_main.h"

enum { N = 4096 };

static const enum kb_dtype floats[] = { KB_F64, KB_F32, KB_F16, KB_BF16 };

static double room[N];          /* large enough for N of any dtype */
static double values[N];

static void fill(enum kb_dtype dtype, enum kb_fill kind, uint64_t seed)
{
    struct kb_rng rng;
    kb_rng_seed(&rng, seed);
    kb_tensor_fill(room, dtype, N, kind, &rng);
    kb_tensor_widen(values, room, N, dtype);
}

static struct kb_compare compare(const void *got, enum kb_dtype dtype,
                                 const double *want, size_t n,
                                 struct kb_bound bound)
{
    struct kb_compare out;
    ck_assert_int_eq(kb_tensor_compare(got, dtype, want, NULL, n, &bound, 7,
                                       &out), KB_OK);
    return out;
}

START_TEST(the_limit_is_the_formula_in_the_header)
{
    double want = -3, scale = 100, k = _i ? 1000 : 9;
    struct kb_bound b = kb_tensor_bound(KB_F32, k);
    double limit = 4 * 0x1p-24 * 3
                 + (_i ? 8 * sqrt(1000) : 9) * 0x1p-24 * 100 + FLT_MIN;
    struct kb_compare out;
    double got = -3 + 0.999 * limit;
    float f = (float)got;
    ck_assert_int_eq(kb_tensor_compare(&f, KB_F32, &want, &scale, 1, &b, 0,
                                       &out), KB_OK);
    ck_assert_uint_eq(out.bad, 0);
    ck_assert_double_eq_tol(out.max_excess, (f + 3.0) / limit, 1e-12);
    f = (float)(-3 - 1.01 * limit);
    ck_assert_int_eq(kb_tensor_compare(&f, KB_F32, &want, &scale, 1, &b, 0,
                                       &out), KB_OK);
    ck_assert_uint_eq(out.bad, 1);
    ck_assert_uint_eq(out.first_bad, 0);
    ck_assert(out.got == f && out.want == -3);
    ck_assert_double_eq_tol(out.limit, limit, 1e-18);
    ck_assert_double_eq_tol(out.err_ss, (f + 3.0) * (f + 3.0), 1e-20);
    ck_assert(out.ref_ss == 9);
}
END_TEST

/* One wrong element at any place of whole and partial blocks is found, counted
 * and named, and the sums are those of a plain loop. */
START_TEST(one_wrong_element_is_found_wherever_it_is)
{
    static const size_t places[] = { 0, 1, 511, 512, 1023, 1500, 2000, 2002 };
    size_t n = 2003, at = places[_i];
    double err_ss = 0, excess = 0;
    fill(KB_F64, KB_FILL_WIDE, 5);
    float *got = (float *)room;
    for (size_t i = 0; i < n; i++)
        got[i] = (float)values[i];
    struct kb_bound b = kb_tensor_bound(KB_F32, 1);
    struct kb_compare out = compare(got, KB_F32, values, n, b);
    for (size_t i = 0; i < n; i++) {
        double d = got[i] - values[i];
        err_ss += d * d;
        excess = fmax(excess, fabs(d) / (5 * 0x1p-24 * fabs(values[i])
                                         + FLT_MIN));
    }
    ck_assert_uint_eq(out.n, n);
    ck_assert_uint_eq(out.bad, 0);
    ck_assert(out.first_bad == SIZE_MAX);
    ck_assert_double_eq_tol(out.err_ss, err_ss, 1e-12 * err_ss);
    ck_assert_double_eq_tol(out.max_excess, excess, 1e-12);
    got[at] *= 1.00001f;
    out = compare(got, KB_F32, values, n, b);
    ck_assert_uint_eq(out.bad, 1);
    ck_assert_uint_eq(out.first_bad, at);
    ck_assert(out.got == got[at] && out.want == values[at]);
    ck_assert(out.max_excess > 1);
}
END_TEST

/* A block is skimmed by the largest excess so far; once that is over 1 it must
 * not become the measure of what is right. */
START_TEST(a_gross_error_does_not_cover_later_ones)
{
    size_t n = 2048;
    float *got = (float *)room;
    for (size_t i = 0; i < n; i++)
        got[i] = (float)(values[i] = 1);
    got[10] = 2;
    got[700] = 1.001f;
    got[1999] = 1.5f;
    struct kb_compare out = compare(got, KB_F32, values, n,
                                    kb_tensor_bound(KB_F32, 1));
    ck_assert_uint_eq(out.bad, 3);
    ck_assert_uint_eq(out.first_bad, 10);
}
END_TEST

START_TEST(a_scale_that_is_no_number_forgives_nothing)
{
    static const double useless[] = { INFINITY, -INFINITY, NAN };
    size_t n = 1024;
    double scale[1024];
    float *got = (float *)room;
    for (size_t i = 0; i < n; i++) {
        got[i] = (float)(values[i] = 1);
        scale[i] = 1;
    }
    got[0] = 1 + FLT_EPSILON;
    got[600] = 1.001f;
    scale[600] = useless[_i];
    struct kb_bound b = kb_tensor_bound(KB_F32, 1);
    struct kb_compare out;
    ck_assert_int_eq(kb_tensor_compare(got, KB_F32, values, scale, n, &b, 0,
                                       &out), KB_OK);
    ck_assert_uint_eq(out.bad, 1);
    ck_assert_uint_eq(out.first_bad, 600);
}
END_TEST

static const struct {
    const char *name;
    double got, want;
    bool ok;
} specials[] = {
    { "nan for nan", NAN, NAN, true },
    { "nan for a number", NAN, 1, false },
    { "nan for infinity", NAN, INFINITY, false },
    { "a number for nan", 1, NAN, false },
    { "infinity for infinity", INFINITY, INFINITY, true },
    { "the other infinity", -INFINITY, INFINITY, false },
    { "a number for infinity", 3e38, INFINITY, false },
    { "infinity for a number", INFINITY, 1, false },
    { "infinity for what overflows", INFINITY, 1e39, true },
    { "infinity for almost an overflow", INFINITY, FLT_MAX, true },
    { "infinity for the other overflow", -INFINITY, 1e39, false },
    { "infinity for half the largest", INFINITY, 1.7e38, false },
    { "the largest for what overflows", FLT_MAX, 1e39, false },
    { "minus zero for zero", -0.0, 0, true },
    { "a flushed denormal", 0, 1e-39, true },
};

START_TEST(nan_and_infinity_must_stand_where_the_reference_has_them)
{
    double special = specials[_i / 3].got, wanted = specials[_i / 3].want;
    bool ok = specials[_i / 3].ok;
    static const size_t places[] = { 3, 900, 1700 };
    size_t n = 1800, at = places[_i % 3];
    float *got = (float *)room;
    for (size_t i = 0; i < n; i++) {
        values[i] = (double)i;
        got[i] = (float)i;
    }
    got[1] += FLT_EPSILON;
    got[at] = (float)special;
    values[at] = wanted;
    struct kb_compare out = compare(got, KB_F32, values, n,
                                    kb_tensor_bound(KB_F32, 1));
    ck_assert_msg(out.bad == !ok, "%s", specials[_i / 3].name);
    ck_assert(isfinite(out.err_ss) && isfinite(out.ref_ss));
    bool finite = isfinite(special) && isfinite(wanted);
    bool over = isinf(special) && special * wanted > 0 && isfinite(wanted);
    ck_assert_uint_eq(out.nan_mismatch, !ok && !finite && !over);
    ck_assert(isinf(out.max_excess) == (!ok && !finite && !over));
}
END_TEST

START_TEST(leftover_poison_is_wrong_even_for_nan)
{
    enum kb_dtype dtype = floats[_i];
    size_t n = 1100;
    kb_tensor_poison(room, n * kb_dtype_bytes(dtype), dtype, 7);
    for (size_t i = 0; i < n; i++)
        values[i] = i % 2 ? NAN : 1;
    for (size_t i = 0; i < n - 100; i++)
        kb_tensor_set(room, dtype, i, values[i]);
    struct kb_compare out = compare(room, dtype, values, n,
                                    kb_tensor_bound(dtype, 1));
    ck_assert_uint_eq(out.bad, 100);
    ck_assert_uint_eq(out.poison_left, 100);
    ck_assert_uint_eq(out.nan_mismatch, 50);
    ck_assert_uint_eq(out.first_bad, n - 100);
}
END_TEST

START_TEST(integers_and_copies_are_exact)
{
    enum kb_dtype dtype = (enum kb_dtype)_i;
    struct kb_bound b = kb_tensor_bound(dtype, 100);
    ck_assert_int_eq(b.exact, !kb_dtype_is_float(dtype));
    b.exact = true;
    fill(dtype, KB_FILL_NORMAL, 21);
    if (b.u_out > DBL_EPSILON)
        values[1000] *= 1 + 0x1p-40;
    ck_assert_uint_eq(compare(room, dtype, values, N, b).bad, 0);
    kb_tensor_set(room, dtype, 1000, values[1000] > 0 ? 0 : 1);
    struct kb_compare out = compare(room, dtype, values, N, b);
    ck_assert_uint_eq(out.bad, 1);
    ck_assert(isinf(out.max_excess));
}
END_TEST

START_TEST(an_i64_that_no_double_equals_is_wrong)
{
    static const int64_t got[] = { INT64_C(1) << 53, (INT64_C(1) << 53) + 1,
                                   INT64_MIN, INT64_MAX };
    static const double want[] = { 0x1p53, 0x1p53, -0x1p63, 0x1p63 };
    struct kb_compare out = compare(got, KB_I64, want, 4,
                                    kb_tensor_bound(KB_I64, 1));
    ck_assert_uint_eq(out.bad, 2);
    ck_assert_uint_eq(out.first_bad, 1);
    ck_assert_uint_eq(out.nan_mismatch, 0);
}
END_TEST

/* The rules of the GPU's kernel, compiled as C. */
static double rounded(double v, int dtype)
{
    double word;
    kb_tensor_set(&word, (enum kb_dtype)dtype, 0, v);
    return kb_tensor_get(&word, (enum kb_dtype)dtype, 0);
}

static struct bound of(const struct kb_bound *b)
{
    return (struct bound){ b->u_out, b->u_acc, b->reduction, b->tiny,
                           b->exact };
}

static int gpu_says(const void *got, enum kb_dtype dtype, double r, double s,
                    const struct kb_bound *b, int *mismatch)
{
    double c = kb_tensor_get(got, dtype, 0);
    double limit = limit_of(of(b), r, fmax(fabs(r), isfinite(s) ? s : 0));
    int64_t v = 0;
    if (dtype == KB_I64)
        memcpy(&v, got, sizeof v);
    return is_wrong(c, r, limit, (int)dtype, b->exact, mismatch)
        || (dtype == KB_I64 && !is_double(v, c));
}

START_TEST(the_gpu_calls_an_i64_that_no_double_equals_wrong)
{
    static const int64_t got[] = { INT64_C(1) << 53, (INT64_C(1) << 53) + 1,
                                   INT64_MIN, INT64_MAX, INT64_MAX - 1 };
    static const double want[] = { 0x1p53, 0x1p53, -0x1p63, 0x1p63, 0x1p63 };
    static const int wrong[] = { 0, 1, 0, 1, 1 };
    struct kb_bound b = kb_tensor_bound(KB_I64, 1);
    for (size_t i = 0; i < 5; i++) {
        int mismatch;
        ck_assert_int_eq(gpu_says(&got[i], KB_I64, want[i], 0, &b, &mismatch),
                         wrong[i]);
    }
}
END_TEST

/* A reference: any size, whole and half numbers, and what is not finite. */
static double some_reference(struct kb_rng *rng)
{
    static const double odd[] = { 0, -0.0, INFINITY, -INFINITY, NAN, 2.5,
        -2.5, 127.5, 200, 255.5, 300, -3, 65504, 65520, 3.4e38, 3.5e38,
        0x1p31, -0x1p31, 0x1p53, 0x1p63, 0x1p64, 1e-40, 1e-310 };
    uint64_t n = sizeof odd / sizeof *odd;
    return kb_rng_below(rng, 3) == 0 ? odd[kb_rng_below(rng, n)]
         : kb_rng_normal(rng) * pow(10, (double)kb_rng_below(rng, 12) - 4);
}

/* A result beside it: the same, rounded, a little off, or something else. */
static double some_result(struct kb_rng *rng, double r)
{
    switch (kb_rng_below(rng, 4)) {
    case 0: return r;
    case 1: return r * (1 + kb_rng_normal(rng) * 1e-6);
    case 2: return -r;
    default: return some_reference(rng);
    }
}

START_TEST(the_gpu_judges_as_the_host_does)
{
    enum kb_dtype dtype = (enum kb_dtype)_i;
    struct kb_rng rng;
    uint64_t wrong = 0;
    kb_rng_seed(&rng, 26);
    for (int i = 0; i < 100000; i++) {
        double r = some_reference(&rng), s = fabs(r) * 2, word = 0;
        struct kb_bound b = kb_tensor_bound(dtype, 1 + i % 100);
        struct kb_compare host;
        int mismatch;
        if (isnan(r) && dtype == KB_I64)
            continue;           /* the host's NaN for what no double equals */
        b.exact = b.exact || i % 5 == 0;
        kb_tensor_set(&word, dtype, 0, some_result(&rng, r));
        ck_assert_int_eq(kb_tensor_compare(&word, dtype, &r, &s, 1, &b, 7,
                                           &host), KB_OK);
        int gpu = gpu_says(&word, dtype, r, s, &b, &mismatch);
        double excess = excess_of(kb_tensor_get(&word, dtype, 0), r,
                                  limit_of(of(&b), r, s), (int)dtype);
        ck_assert_msg(b.exact || mismatch || dtype >= KB_I8
                      || (float)excess == (float)host.max_excess,
                      "dtype %d: %g for %g: off %g limits, on the host %g",
                      (int)dtype, kb_tensor_get(&word, dtype, 0), r, excess,
                      host.max_excess);
        ck_assert_msg(gpu == (int)host.bad && (b.exact || mismatch
                                               == (int)host.nan_mismatch),
                      "dtype %d: %g for %g, exact %d: host %d %d, GPU %d %d",
                      (int)dtype, kb_tensor_get(&word, dtype, 0), r,
                      b.exact, (int)host.bad, (int)host.nan_mismatch, gpu,
                      mismatch);
        wrong += host.bad;
    }
    ck_assert(wrong > 10000 && wrong < 90000);
}
END_TEST

static const struct kb_bound refused[] = {
    { .reduction = 0 },                 { .reduction = NAN },
    { .u_out = -1, .reduction = 1 },    { .u_out = NAN, .reduction = 1 },
    { .u_acc = -1, .reduction = 1 },    { .tiny = INFINITY, .reduction = 1 },
    { .reduction = INFINITY },
};

START_TEST(a_bound_without_meaning_is_refused)
{
    double x = 1;
    struct kb_compare out = { .n = 99 };
    ck_assert_int_eq(kb_tensor_compare(&x, KB_F64, &x, NULL, 1, &refused[_i],
                                       0, &out), KB_EINVAL);
    ck_assert_uint_eq(out.n, 99);
}
END_TEST

#define COUNT(table) (int)(sizeof (table) / sizeof *(table))

static TCase *comparison(void)
{
    TCase *t = tcase_create("comparison");
    tcase_add_loop_test(t, the_limit_is_the_formula_in_the_header, 0, 2);
    tcase_add_loop_test(t, one_wrong_element_is_found_wherever_it_is, 0, 8);
    tcase_add_test(t, a_gross_error_does_not_cover_later_ones);
    tcase_add_loop_test(t, a_scale_that_is_no_number_forgives_nothing, 0, 3);
    tcase_add_loop_test(
        t, nan_and_infinity_must_stand_where_the_reference_has_them, 0,
        3 * COUNT(specials));
    tcase_add_loop_test(t, leftover_poison_is_wrong_even_for_nan, 0, 4);
    tcase_add_loop_test(t, integers_and_copies_are_exact, 0, KB_DTYPES);
    tcase_add_test(t, an_i64_that_no_double_equals_is_wrong);
    tcase_add_test(t, the_gpu_calls_an_i64_that_no_double_equals_wrong);
    tcase_add_loop_test(t, the_gpu_judges_as_the_host_does, 0, KB_DTYPES);
    tcase_add_loop_test(t, a_bound_without_meaning_is_refused, 0,
                        COUNT(refused));
    return t;
}

static Suite *tests(void)
{
    Suite *s = suite_create("tensor comparison");
    suite_add_tcase(s, comparison());
    return s;
}

TEST_MAIN(tests)
