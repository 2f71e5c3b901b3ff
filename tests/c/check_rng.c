/* This file tests core/rng.c. It checks the generator against its published
 * outputs, the distributions of the draws, and streams split by name. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "rng.h"
#include "../lib/check_main.h"

static struct kb_rng child(const struct kb_rng *r, const char *name)
{
    struct kb_rng out;
    kb_rng_split(r, name, strlen(name), &out);
    return out;
}

static bool same_stream(struct kb_rng a, struct kb_rng b)
{
    for (int i = 0; i < 8; i++)
        if (kb_rng_next(&a) != kb_rng_next(&b))
            return false;
    return true;
}

/* Published outputs of xoshiro256** from the state 1, 2, 3, 4. */
START_TEST(draws_are_xoshiro256_star_star)
{
    static const uint64_t want[] = {
        11520u, 0u, 1509978240u, 1215971899390074240u, 1216172134540287360u,
        607988272756665600u, 16172922978634559625u, 8476171486693032832u,
        10595114339597558777u, 2904607092377533576u,
    };
    struct kb_rng r = { { 1, 2, 3, 4 }, 0 };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        ck_assert_uint_eq(kb_rng_next(&r), want[i]);
}
END_TEST

/* Published outputs of splitmix64 from the seed 1234567. */
START_TEST(the_state_is_filled_by_splitmix64)
{
    static const uint64_t want[4] = {
        6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
        4593380528125082431u,
    };
    struct kb_rng r;
    kb_rng_seed(&r, 1234567);
    for (int i = 0; i < 4; i++)
        ck_assert_uint_eq(r.s[i], want[i]);
    ck_assert_uint_eq(r.root, 1234567);
}
END_TEST

START_TEST(equal_seeds_give_equal_streams_and_others_do_not)
{
    struct kb_rng a, b, c;
    kb_rng_seed(&a, 0);
    kb_rng_seed(&b, 0);
    kb_rng_seed(&c, UINT64_MAX);
    ck_assert(same_stream(a, b));
    ck_assert(!same_stream(a, c));
}
END_TEST

START_TEST(uniform_is_in_the_half_open_unit_interval)
{
    struct kb_rng r = { { 0, 0, 0, 0 }, 0 };    /* draws 0 only */
    ck_assert_double_eq(kb_rng_uniform(&r), 0);
    ck_assert_double_lt((double)(UINT64_MAX >> 11) * 0x1p-53, 1);

    kb_rng_seed(&r, 5);
    double sum = 0, square = 0;
    for (int i = 0; i < 20000; i++) {
        double u = kb_rng_uniform(&r);
        ck_assert(u >= 0 && u < 1);
        sum += u;
        square += u * u;
    }
    ck_assert_double_eq_tol(sum / 20000, 1.0 / 2, 0.01);
    ck_assert_double_eq_tol(square / 20000, 1.0 / 3, 0.01);
}
END_TEST

START_TEST(below_stays_below_and_reaches_everything_alike)
{
    static const uint64_t n[] = { 1, 2, 3, 7, 10, 64 };
    struct kb_rng r;
    kb_rng_seed(&r, 11);
    unsigned hits[64] = { 0 };
    for (int i = 0; i < 20000; i++) {
        uint64_t x = kb_rng_below(&r, n[_i]);
        ck_assert_uint_lt(x, n[_i]);
        hits[x]++;
    }
    double share = 20000 / (double)n[_i];
    for (uint64_t i = 0; i < n[_i]; i++)        /* five deviations */
        ck_assert_double_eq_tol(hits[i], share, 5 * sqrt(share) + 1e-9);
}
END_TEST

/* Without rejection, two thirds of 2^64 would favour its lower half 2 : 1. */
START_TEST(below_has_no_modulo_bias)
{
    uint64_t n = UINT64_MAX / 3 * 2;
    struct kb_rng r;
    kb_rng_seed(&r, 12);
    int low = 0;
    for (int i = 0; i < 10000; i++)
        low += kb_rng_below(&r, n) < n / 2;
    ck_assert_int_ge(low, 4750);
    ck_assert_int_le(low, 5250);
    ck_assert_uint_lt(kb_rng_below(&r, UINT64_MAX), UINT64_MAX);
}
END_TEST

START_TEST(a_hash_sees_every_bit_and_the_length)
{
    unsigned char x[40] = { 0 };
    uint64_t last = kb_hash(0, x, 0);
    ck_assert(kb_hash(1, x, 0) != last);
    for (size_t n = 1; n <= sizeof x; n++) {
        uint64_t h = kb_hash(0, x, n);
        ck_assert(h != last);
        for (size_t bit = 0; bit < 8 * n; bit++) {
            x[bit / 8] ^= (unsigned char)(1 << bit % 8);
            ck_assert(kb_hash(0, x, n) != h);
            x[bit / 8] ^= (unsigned char)(1 << bit % 8);
        }
        last = h;
    }
}
END_TEST

START_TEST(normal_has_the_moments_of_a_normal)
{
    struct kb_rng r;
    kb_rng_seed(&r, 13);
    double m1 = 0, m2 = 0, m3 = 0, m4 = 0;
    enum { N = 40000 };
    for (int i = 0; i < N; i++) {
        double x = kb_rng_normal(&r);
        ck_assert(isfinite(x));
        m1 += x / N;
        m2 += x * x / N;
        m3 += x * x * x / N;
        m4 += x * x * x * x / N;
    }
    ck_assert_double_eq_tol(m1, 0, 0.025);
    ck_assert_double_eq_tol(m2, 1, 0.04);
    ck_assert_double_eq_tol(m3, 0, 0.10);
    ck_assert_double_eq_tol(m4, 3, 0.25);
}
END_TEST

START_TEST(a_split_does_not_see_the_draws_made_before)
{
    struct kb_rng fresh, used;
    kb_rng_seed(&fresh, 42);
    used = fresh;
    for (int i = 0; i < 100; i++)
        (void)kb_rng_next(&used);
    struct kb_rng before = used;
    ck_assert(same_stream(child(&fresh, "policy"), child(&used, "policy")));
    ck_assert(same_stream(before, used));       /* and moves nothing */
}
END_TEST

START_TEST(a_split_depends_on_the_seed_the_name_and_the_path)
{
    struct kb_rng r, other, a, b, deep[3];
    kb_rng_seed(&r, 1);
    kb_rng_seed(&other, 2);
    a = child(&r, "a");
    b = child(&r, "b");
    deep[0] = child(&a, "b");
    deep[1] = child(&b, "a");
    deep[2] = child(&r, "ab");
    ck_assert(!same_stream(a, b));
    ck_assert(!same_stream(a, r));
    ck_assert(!same_stream(a, child(&other, "a")));
    ck_assert(!same_stream(child(&r, ""), r));
    for (int i = 0; i < 3; i++)
        ck_assert(!same_stream(deep[i], deep[(i + 1) % 3]));
}
END_TEST

START_TEST(a_name_is_all_of_its_bytes)
{
    struct kb_rng r, one, two, self;
    kb_rng_seed(&r, 1);
    kb_rng_split(&r, "a\0b", 3, &one);
    kb_rng_split(&r, "a\0c", 3, &two);
    ck_assert(!same_stream(one, two));
    kb_rng_split(&r, "\xff", 1, &one);          /* bytes, whatever char is */
    kb_rng_split(&r, "\x7f", 1, &two);
    ck_assert(!same_stream(one, two));

    self = r;                                   /* out may be from */
    kb_rng_split(&self, "x", 1, &self);
    ck_assert(same_stream(self, child(&r, "x")));
}
END_TEST

/* Streams are part of recorded runs: these may never change. */
START_TEST(named_streams_are_the_same_in_every_release)
{
    struct kb_rng r;
    kb_rng_seed(&r, 1);
    ck_assert_uint_eq(child(&r, "policy").root, 8576891675167415711u);
    ck_assert_uint_eq(child(&r, "").root, 499877656222611158u);
    ck_assert_uint_eq(child(&r, "\xc3\xa9").root,
                      8034279003901296382u);
}
END_TEST

static Suite *tests(void)
{
    Suite *s = suite_create("rng");
    TCase *t = tcase_create("rng");
    tcase_add_test(t, draws_are_xoshiro256_star_star);
    tcase_add_test(t, the_state_is_filled_by_splitmix64);
    tcase_add_test(t, equal_seeds_give_equal_streams_and_others_do_not);
    tcase_add_test(t, uniform_is_in_the_half_open_unit_interval);
    tcase_add_loop_test(t, below_stays_below_and_reaches_everything_alike,
                        0, 6);
    tcase_add_test(t, below_has_no_modulo_bias);
    tcase_add_test(t, a_hash_sees_every_bit_and_the_length);
    tcase_add_test(t, normal_has_the_moments_of_a_normal);
    tcase_add_test(t, a_split_does_not_see_the_draws_made_before);
    tcase_add_test(t, a_split_depends_on_the_seed_the_name_and_the_path);
    tcase_add_test(t, a_name_is_all_of_its_bytes);
    tcase_add_test(t, named_streams_are_the_same_in_every_release);
    suite_add_tcase(s, t);
    return s;
}

TEST_MAIN(tests)
