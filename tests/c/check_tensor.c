/* This file tests core/measure/tensor.c, tensor_fill.c and tensor_trace.c. It
 * checks the element types, the fills, the poison and the red zones.
 * check_tensor_compare.c tests the comparison. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "measure/tensor.h"
#include "rng.h"
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

/* ---- element types ------------------------------------------------------- */

START_TEST(a_dtype_has_a_name_a_size_and_a_roundoff)
{
    enum kb_dtype dtype = (enum kb_dtype)_i, parsed = KB_DTYPES;
    static const size_t bytes[] = { 8, 4, 2, 2, 1, 1, 4, 8 };
    static const double u[] = { DBL_EPSILON / 2, FLT_EPSILON / 2.0, 0x1p-11,
                                0x1p-8, 0, 0, 0, 0 };
    static const char *const names[] = { "f64", "f32", "f16", "bf16", "i8",
                                         "u8", "i32", "i64" };
    ck_assert_int_eq(kb_dtype_parse(names[_i], &parsed), KB_OK);
    ck_assert_int_eq(parsed, dtype);
    ck_assert_uint_eq(kb_dtype_bytes(dtype), bytes[_i]);
    ck_assert(kb_dtype_roundoff(dtype) == u[_i]);
    ck_assert_int_eq(kb_dtype_is_float(dtype), u[_i] > 0);
}
END_TEST

START_TEST(a_name_that_is_none_is_refused)
{
    enum kb_dtype dtype = KB_I8;
    enum kb_fill kind = KB_FILL_TIES;
    ck_assert_int_eq(kb_dtype_parse("float", &dtype), KB_EINVAL);
    ck_assert_int_eq(kb_dtype_parse(NULL, &dtype), KB_EINVAL);
    ck_assert_int_eq(kb_fill_parse("Normal", &kind), KB_EINVAL);
    ck_assert_int_eq(dtype, KB_I8);
    ck_assert_int_eq(kind, KB_FILL_TIES);
}
END_TEST

/* From the tables of IEEE 754 and of bfloat16: bits, value. */
static const struct {
    enum kb_dtype dtype;
    uint16_t bits;
    double value;
} small[] = {
    { KB_F16, 0x0000, 0 },              { KB_F16, 0x3c00, 1 },
    { KB_F16, 0xc000, -2 },             { KB_F16, 0x7bff, 65504 },
    { KB_F16, 0x0400, 0x1p-14 },        { KB_F16, 0x03ff, 0x3ffp-24 },
    { KB_F16, 0x0001, 0x1p-24 },        { KB_F16, 0x3555, 0x555p-12 },
    { KB_F16, 0x7c00, INFINITY },       { KB_F16, 0xfc00, -INFINITY },
    { KB_BF16, 0x3f80, 1 },             { KB_BF16, 0xc049, -3.140625 },
    { KB_BF16, 0x7f7f, 0xffp120 },      { KB_BF16, 0x0080, 0x1p-126 },
    { KB_BF16, 0x0001, 0x1p-133 },      { KB_BF16, 0xff80, -INFINITY },
};

START_TEST(small_floats_have_the_published_bits)
{
    uint16_t bits;
    ck_assert(kb_tensor_get(&small[_i].bits, small[_i].dtype, 0)
              == small[_i].value);
    kb_tensor_set(&bits, small[_i].dtype, 0, small[_i].value);
    ck_assert_uint_eq(bits, small[_i].bits);
}
END_TEST

START_TEST(every_small_float_survives_the_way_through_double)
{
    enum kb_dtype dtype = _i ? KB_BF16 : KB_F16;
    unsigned wrong = 0;
    for (unsigned bits = 0; bits < 0x10000; bits++) {
        uint16_t from = (uint16_t)bits, to;
        double x = kb_tensor_get(&from, dtype, 0);
        kb_tensor_set(&to, dtype, 0, x);
        if (isnan(x))
            wrong += isnan(kb_tensor_get(&to, dtype, 0)) == 0;
        else
            wrong += to != from;
    }
    ck_assert_uint_eq(wrong, 0);
}
END_TEST

/* Between neighbours a < b of a dtype everything below the middle goes to a,
 * above to b, and the middle to the even one. */
START_TEST(writing_a_small_float_rounds_to_nearest_even)
{
    enum kb_dtype dtype = _i ? KB_BF16 : KB_F16;
    unsigned last = _i ? 0x7f7f : 0x7bff, wrong = 0;
    for (unsigned bits = 0; bits < last; bits++) {
        uint16_t low = (uint16_t)bits, high = (uint16_t)(bits + 1), to;
        double middle = (kb_tensor_get(&low, dtype, 0)
                         + kb_tensor_get(&high, dtype, 0)) / 2;
        kb_tensor_set(&to, dtype, 0, middle);
        wrong += to != (bits & 1 ? high : low);
        kb_tensor_set(&to, dtype, 0, nextafter(middle, 0));
        wrong += to != low;
        kb_tensor_set(&to, dtype, 0, nextafter(middle, INFINITY));
        wrong += to != high;
    }
    ck_assert_uint_eq(wrong, 0);
}
END_TEST

static const struct {
    enum kb_dtype dtype;
    double in, out;
} written[] = {
    { KB_F16, 65519.99, 65504 },        { KB_F16, 65520, INFINITY },
    { KB_F32, 0x1.fffffefp127, FLT_MAX }, { KB_F32, 1e39, INFINITY },
    { KB_BF16, -1e39, -INFINITY },      { KB_F16, 1e-30, 0 },
    { KB_BF16, 4e38, INFINITY },        { KB_F16, 1e5, INFINITY },
    { KB_I8, 127.5, 127 },              { KB_I8, -1e9, -128 },
    { KB_I8, 2.5, 2 },                  { KB_I8, -3.5, -4 },
    { KB_I8, NAN, 0 },                  { KB_U8, -1, 0 },
    { KB_U8, 300, 255 },                { KB_I32, 1e10, INT32_MAX },
    { KB_I32, -INFINITY, INT32_MIN },   { KB_I64, 1e30, 0x1p63 },
    { KB_I64, -1e30, -0x1p63 },         { KB_I64, -7, -7 },
};

START_TEST(what_does_not_fit_overflows_or_saturates)
{
    double buffer;
    kb_tensor_set(&buffer, written[_i].dtype, 0, written[_i].in);
    ck_assert(kb_tensor_get(&buffer, written[_i].dtype, 0) == written[_i].out);
}
END_TEST

START_TEST(denormal_numbers_are_those_between_0_and_the_smallest_normal)
{
    const double x[] = { 0, -0.0, 0x1p-126, 0x1p-127, -0x1p-149, 0x1p-14, 0x1p-15,
                         1, NAN, INFINITY };
    size_t n = sizeof x / sizeof *x;
    ck_assert_uint_eq(kb_tensor_denormals(x, n, KB_F32), 2);
    ck_assert_uint_eq(kb_tensor_denormals(x, n, KB_BF16), 2);
    ck_assert_uint_eq(kb_tensor_denormals(x, n, KB_F16), 4);
    ck_assert_uint_eq(kb_tensor_denormals(x, n, KB_F64), 0);
    ck_assert_uint_eq(kb_tensor_denormals(x, n, KB_I32), 0);
}
END_TEST

START_TEST(abs_is_the_absolute_value)
{
    enum kb_dtype dtype = (enum kb_dtype)_i;
    fill(dtype, KB_FILL_WIDE, 3);
    kb_tensor_set(room, dtype, 5, -INFINITY);
    kb_tensor_set(room, dtype, 6, -0.0);
    kb_tensor_widen(values, room, N, dtype);
    kb_tensor_abs(room, room, N - 1, dtype);
    size_t right = 0;
    for (size_t i = 0; i < N - 1; i++) {
        double got = kb_tensor_get(room, dtype, i), want = fabs(values[i]);
        if (dtype == KB_I8 || dtype == KB_I32)
            want = fmin(want, dtype == KB_I8 ? INT8_MAX : INT32_MAX);
        right += got == want && !signbit(got);
    }
    ck_assert_uint_eq(right, N - 1);
    ck_assert(kb_tensor_get(room, dtype, N - 1) == values[N - 1]);
}
END_TEST

/* ---- inputs -------------------------------------------------------------- */

START_TEST(a_nudge_moves_every_number_by_a_rounding)
{
    double d[N], by = 0x1p-23;
    float f[N];
    size_t up = 0;
    for (int i = 0; i < N; i++)
        d[i] = f[i] = (float)(i - 3);
    kb_tensor_nudge(d, N, KB_F64, by, 1, 7);
    kb_tensor_nudge(f, N, KB_F32, by, 1, 7);
    for (int i = 0; i < N; i++) {
        double x = i - 3;
        ck_assert(d[i] == x * (1 + by) || d[i] == x * (1 - by));
        ck_assert(f[i] == (float)d[i]);
        ck_assert(x == 0 || f[i] != (float)x);
        up += fabs(d[i]) > fabs(x);
    }
    ck_assert(up > 0 && up < N - 1);
}
END_TEST

START_TEST(a_nudge_moves_numbers_by_up_to_as_many_roundings_as_asked)
{
    double d[N];
    size_t met[2][4] = { { 0 } };
    for (int i = 0; i < N; i++)
        d[i] = 1;
    kb_tensor_nudge(d, N, KB_F64, 0x1p-23, 3, 7);
    for (int i = 0; i < N; i++) {
        int by = (int)((d[i] - 1) * 0x1p23);
        ck_assert(d[i] == 1 + by * 0x1p-23 && by != 0 && abs(by) <= 3);
        met[by > 0][abs(by)]++;
    }
    for (int by = 1; by <= 3; by++)
        ck_assert(met[0][by] > 0 && met[1][by] > 0);
}
END_TEST

static const char *const fills[] = { "normal", "wide", "uniform", "lognormal",
                                     "spikes", "ties", "integers", "denormal" };

START_TEST(a_fill_is_a_function_of_its_seed)
{
    enum kb_fill kind = (enum kb_fill)(_i / KB_DTYPES), parsed = KB_FILLS;
    enum kb_dtype dtype = (enum kb_dtype)(_i % KB_DTYPES);
    size_t bytes = N * kb_dtype_bytes(dtype);
    ck_assert_int_eq(kb_fill_parse(fills[kind], &parsed), KB_OK);
    ck_assert_int_eq(parsed, kind);
    fill(dtype, kind, 1);
    uint64_t first = kb_hash(0, room, bytes);
    fill(dtype, kind, 2);
    ck_assert(kb_hash(0, room, bytes) != first);
    fill(dtype, kind, 1);
    ck_assert(kb_hash(0, room, bytes) == first);
    size_t finite = 0;
    for (size_t i = 0; i < N; i++)
        finite += isfinite(values[i]) != 0;
    ck_assert_uint_eq(finite, N);
}
END_TEST

START_TEST(a_fill_takes_one_draw_whatever_its_size)
{
    struct kb_rng a, b;
    kb_rng_seed(&a, 9);
    kb_rng_seed(&b, 9);
    kb_tensor_fill(room, KB_F32, N, KB_FILL_SPIKES, &a);
    kb_tensor_fill(room, KB_I8, 0, KB_FILL_TIES, &b);
    ck_assert(kb_rng_next(&a) == kb_rng_next(&b));
}
END_TEST

/* Moments of 1,024 N draws, against their standard errors for a true normal
 * (sqrt(1/n), sqrt(2/n), sqrt(15/n), sqrt(96/n)), four of them allowed; the
 * inner half; the share far out on either side, and how far beyond its numbers
 * lie (inverse Mills ratio). */
START_TEST(a_normal_is_a_normal)
{
    const double edge = 3.6541528853610088;
    double sum[5] = { 0 }, excess = 0;
    size_t n = 0, above = 0, below = 0, inner = 0;
    for (uint64_t seed = 0; seed < 1024; seed++) {
        fill(KB_F64, KB_FILL_NORMAL, seed);
        for (size_t i = 0; i < N; i++, n++) {
            double x = values[i], power = 1;
            for (int k = 1; k < 5; k++)
                sum[k] += power *= x;
            above += x > edge;
            below += x < -edge;
            excess += fmax(fabs(x) - edge, 0);
            inner += fabs(x) < 0.6744897501960817;
        }
    }
    double m = (double)n, root = sqrt(m), tail = erfc(edge / sqrt(2)) / 2;
    ck_assert_double_eq_tol(sum[1] / m, 0, 4 / root);
    ck_assert_double_eq_tol(sum[2] / m, 1, 4 * sqrt(2) / root);
    ck_assert_double_eq_tol(sum[3] / m, 0, 4 * sqrt(15) / root);
    ck_assert_double_eq_tol(sum[4] / m, 3, 4 * sqrt(96) / root);
    ck_assert_double_eq_tol((double)inner / m, 0.5, 4 * 0.5 / root);
    ck_assert_double_eq_tol((double)above / m, tail, 4 * sqrt(tail) / root);
    ck_assert_double_eq_tol((double)below / m, tail, 4 * sqrt(tail) / root);
    double beyond = (double)(above + below);
    double mills = exp(-0.5 * edge * edge) / sqrt(2 * acos(-1)) / tail - edge;
    ck_assert_double_eq_tol(excess / beyond, mills, 3 * mills / sqrt(beyond));
}
END_TEST

START_TEST(each_fill_has_the_shape_it_promises)
{
    size_t big = 0, equal = 0, zero = 0, denormal = 0;
    double sum = 0, low = INFINITY, high = 0;
    fill(KB_F32, KB_FILL_SPIKES, 11);
    for (size_t i = 0; i < N; i++)
        big += fabs(values[i]) > 5;
    ck_assert_uint_ge(big, 1);
    ck_assert_uint_le(big, 12);
    fill(KB_F32, KB_FILL_TIES, 11);
    for (size_t i = 1; i < N; i++)
        equal += values[i] == values[i - 1];
    ck_assert_uint_gt(equal, N / 2);
    fill(KB_F32, KB_FILL_UNIFORM, 11);
    for (size_t i = 0; i < N; i++) {
        ck_assert(values[i] >= 0 && values[i] <= 1);
        sum += values[i];
    }
    ck_assert_double_eq_tol(sum / N, 0.5, 4 * sqrt(1.0 / 12 / N));
    fill(KB_F32, KB_FILL_INTEGERS, 11);
    for (size_t i = 0; i < N; i++)
        ck_assert(fabs(values[i]) <= 8 && values[i] == trunc(values[i]));
    fill(KB_F32, KB_FILL_WIDE, 11);
    for (size_t i = 0; i < N; i++) {
        low = fmin(low, fabs(values[i]));
        high = fmax(high, fabs(values[i]));
    }
    ck_assert(low < 1e-3 && high > 1e3 && high < 1e4);
    for (size_t k = 0; k < 4; k++) {
        static const double least[] = { DBL_MIN, FLT_MIN, 0x1p-14, FLT_MIN };
        fill(floats[k], KB_FILL_DENORMAL, 11);
        zero = denormal = 0;
        for (size_t i = 0; i < N; i++) {
            zero += values[i] == 0;
            denormal += values[i] != 0 && fabs(values[i]) < least[k];
        }
        ck_assert_uint_gt(zero, N / 5);
        ck_assert_uint_gt(denormal, N / 5);
    }
}
END_TEST

/* ---- traces -------------------------------------------------------------- */

static size_t count_poison(const void *src, size_t n, enum kb_dtype dtype,
                           uint64_t seed)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += kb_tensor_is_poison(src, dtype, i, seed);
    return found;
}

START_TEST(poison_is_nan_in_every_element_and_is_found_again)
{
    enum kb_dtype dtype = (enum kb_dtype)_i;
    size_t n = N - 5, nan = 0, poisoned = 0;
    kb_tensor_poison(room, n * kb_dtype_bytes(dtype), dtype, 42);
    kb_tensor_widen(values, room, n, dtype);
    for (size_t i = 0; i < n; i++) {
        nan += isnan(values[i]) != 0;
        poisoned += kb_tensor_is_poison(room, dtype, i, 42);
    }
    ck_assert_uint_eq(nan, kb_dtype_is_float(dtype) ? n : 0);
    ck_assert_uint_eq(poisoned, n);
    ck_assert_uint_eq(count_poison(room, n, dtype, 42), n);
    for (size_t i = 0; i < n; i += 3)
        kb_tensor_set(room, dtype, i, 1);
    size_t left = count_poison(room, n, dtype, 42);
    ck_assert_uint_ge(left, n - (n + 2) / 3);
    ck_assert_uint_le(left, n - (n + 2) / 3 + (dtype < KB_I8 ? 0 : 40));
    ck_assert_uint_lt(count_poison(room, n, dtype, 43), n / 8);
    kb_tensor_poison(room, n * kb_dtype_bytes(dtype), dtype, 42);
    uint64_t next = 42 + UINT64_C(0x9e3779b97f4a7c15);
    ck_assert_uint_lt(count_poison(room + 1, n - 8, dtype, next),
                      n / 8);
}
END_TEST

/* The NaNs of x86, Arm and CUDA, in each width. */
START_TEST(no_processors_own_nan_is_taken_for_poison)
{
    static const uint32_t f32[] = { 0x7fc00000, 0xffc00000, 0x7fffffff };
    static const uint16_t f16[] = { 0x7e00, 0xfe00, 0x7fff };
    static const uint16_t bf16[] = { 0x7fc0, 0xffc0, 0x7fff };
    for (size_t i = 0; i < N; i++) {
        memcpy((char *)room + 8 * i, &f32[i % 3], 4);
        memcpy((char *)room + 8 * i + 4, &f32[i % 3], 4);
    }
    ck_assert_uint_eq(count_poison(room, 2 * N, KB_F32, 42), 0);
    for (size_t i = 0; i < 4 * N; i++)
        memcpy((char *)room + 2 * i, &f16[i % 3], 2);
    ck_assert_uint_eq(count_poison(room, 4 * N, KB_F16, 42), 0);
    for (size_t i = 0; i < 4 * N; i++)
        memcpy((char *)room + 2 * i, &bf16[i % 3], 2);
    ck_assert_uint_eq(count_poison(room, 4 * N, KB_BF16, 42), 0);
}
END_TEST

START_TEST(a_red_zone_names_the_first_damaged_byte)
{
    unsigned char *zone = (unsigned char *)room + 1;
    for (size_t bytes = 0; bytes < 70; bytes++) {
        kb_tensor_poison(zone, bytes, KB_U8, 5);
        ck_assert(kb_tensor_guard_check(zone, bytes, 5) == SIZE_MAX);
        for (size_t i = bytes; i-- > 0;) {
            zone[i] ^= 0x10;
            ck_assert_uint_eq(kb_tensor_guard_check(zone, bytes, 5), i);
        }
    }
}
END_TEST

#define COUNT(table) (int)(sizeof (table) / sizeof *(table))

static TCase *elements(void)
{
    TCase *t = tcase_create("elements");
    tcase_add_loop_test(t, a_dtype_has_a_name_a_size_and_a_roundoff, 0,
                        KB_DTYPES);
    tcase_add_test(t, a_name_that_is_none_is_refused);
    tcase_add_loop_test(t, small_floats_have_the_published_bits, 0,
                        COUNT(small));
    tcase_add_loop_test(t, every_small_float_survives_the_way_through_double,
                        0, 2);
    tcase_add_loop_test(t, writing_a_small_float_rounds_to_nearest_even, 0, 2);
    tcase_add_loop_test(t, what_does_not_fit_overflows_or_saturates, 0,
                        COUNT(written));
    tcase_add_loop_test(t, denormal_numbers_are_those_between_0_and_the_smallest_normal, 0, KB_DTYPES);
    tcase_add_loop_test(t, abs_is_the_absolute_value, 0, KB_DTYPES);
    return t;
}

static TCase *memory(void)
{
    TCase *t = tcase_create("memory");
    tcase_add_loop_test(t, a_fill_is_a_function_of_its_seed, 0,
                        KB_FILLS * KB_DTYPES);
    tcase_add_test(t, a_fill_takes_one_draw_whatever_its_size);
    tcase_add_test(t, a_normal_is_a_normal);
    tcase_add_test(t, each_fill_has_the_shape_it_promises);
    tcase_add_loop_test(t, poison_is_nan_in_every_element_and_is_found_again,
                        0, KB_DTYPES);
    tcase_add_test(t, no_processors_own_nan_is_taken_for_poison);
    tcase_add_test(t, a_red_zone_names_the_first_damaged_byte);
    tcase_add_test(t, a_nudge_moves_every_number_by_a_rounding);
    tcase_add_test(t,
                   a_nudge_moves_numbers_by_up_to_as_many_roundings_as_asked);
    return t;
}

static Suite *tests(void)
{
    Suite *s = suite_create("tensor");
    suite_add_tcase(s, elements());
    suite_add_tcase(s, memory());
    return s;
}

TEST_MAIN(tests)
