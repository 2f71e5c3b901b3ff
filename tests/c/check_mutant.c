/* This file tests core/measure/mutant.c, which makes wrong answers from right
 * ones. It checks each kind of answer and the count of changed elements. */
#include <math.h>
#include <string.h>

#include "measure/mutant.h"
#include "../lib/check_main.h"

static const float right[16] = { 1.0009765625f, -2, 3.3333333f, 4, 5, 6, 7, 8,
                                 9, 10, 11, 12, 13, 14, 15, 16.000002f };

static size_t make(enum kb_mutant kind, float *out)
{
    static const float input[5] = { 1, 2, 3, 4, 5 };
    struct kb_mutation m = {
        .kind = kind, .dtype = KB_F32, .n = 16, .input = input,
        .input_dtype = KB_F32, .input_n = 5, .rows = 4, .cols = 4, .seed = 21
    };
    return kb_mutant_make(out, right, &m);
}

START_TEST(each_kind_is_what_it_says)
{
    float out[16];
    ck_assert_uint_eq(make(KB_MUTANT_ZEROS, out), 16);
    ck_assert_float_eq(out[15], 0);
    ck_assert_uint_eq(make(KB_MUTANT_MEAN, out), 16);
    ck_assert_float_eq(out[0], out[15]);
    ck_assert_uint_eq(make(KB_MUTANT_COPY, out), 14);   /* 4 and 5 */
    ck_assert_float_eq(out[7], 3);
    ck_assert_uint_eq(make(KB_MUTANT_HALF, out), 2);    /* small integers stay */
    ck_assert_float_eq(out[2], 3.3339844f);
    ck_assert_float_eq(out[15], 16);
    ck_assert_uint_eq(make(KB_MUTANT_ONE, out), 1);
    ck_assert(out[5] - right[5] >= 0.6f);
    ck_assert_uint_eq(make(KB_MUTANT_TAIL, out), 1);
    ck_assert(isnan(out[15]) && out[14] == 15);
    ck_assert_uint_eq(make(KB_MUTANT_SWAP, out), 12);   /* not the diagonal */
    ck_assert_float_eq(out[1], right[4]);
    ck_assert_float_eq(out[12], right[3]);
}
END_TEST

START_TEST(a_mutant_that_is_the_answer_says_so)
{
    float zeros[4] = { 0, -0.0f, 0, 0 }, out[4];
    struct kb_mutation m = { .kind = KB_MUTANT_ZEROS, .dtype = KB_F32, .n = 4,
                             .rows = 2, .cols = 2 };
    ck_assert_uint_eq(kb_mutant_make(out, zeros, &m), 0);
    m.kind = KB_MUTANT_MEAN;
    ck_assert_uint_eq(kb_mutant_make(out, zeros, &m), 0);
    m.kind = KB_MUTANT_SWAP;
    ck_assert_uint_eq(kb_mutant_make(out, zeros, &m), 0);
    m.kind = KB_MUTANT_ONE;
    ck_assert_uint_eq(kb_mutant_make(out, zeros, &m), 1);
    const int32_t whole[4] = { 1, 2, 3, INT32_MAX };
    int32_t other[4];
    m.dtype = KB_I32;
    m.kind = KB_MUTANT_HALF;
    ck_assert_uint_eq(kb_mutant_make(other, whole, &m), 0);
    m.kind = KB_MUTANT_ONE;
    m.seed = 3;                         /* saturates upwards: goes down */
    ck_assert_uint_eq(kb_mutant_make(other, whole, &m), 1);
    m.kind = KB_MUTANT_TAIL;
    ck_assert_uint_eq(kb_mutant_make(other, whole, &m), 1);
    ck_assert_int_eq(other[3], 0);
}
END_TEST

START_TEST(arrays_turn)
{
    float a[5] = { 1, 2, 3, 4, 5 };
    ck_assert_int_eq(kb_tensor_turn(a, KB_F32, 5, 2), KB_OK);
    ck_assert(a[0] == 3 && a[2] == 5 && a[3] == 1 && a[4] == 2);
    ck_assert_int_eq(kb_tensor_turn(a, KB_F32, 5, 0), KB_OK);
    ck_assert(a[0] == 3);
    ck_assert_int_eq(kb_tensor_turn(a, KB_F32, 1, 0), KB_OK);
}
END_TEST

START_TEST(names_are_read)
{
    enum kb_mutant m;
    ck_assert_int_eq(kb_mutant_parse("swap", &m), KB_OK);
    ck_assert_int_eq(m, KB_MUTANT_SWAP);
    ck_assert_int_eq(kb_mutant_parse("stale", &m), KB_EINVAL);
    ck_assert_int_eq(kb_mutant_parse(NULL, &m), KB_EINVAL);
}
END_TEST

static Suite *tests(void)
{
    Suite *s = suite_create("mutant");
    TCase *t = tcase_create("kinds");
    tcase_add_test(t, each_kind_is_what_it_says);
    tcase_add_test(t, a_mutant_that_is_the_answer_says_so);
    tcase_add_test(t, arrays_turn);
    tcase_add_test(t, names_are_read);
    suite_add_tcase(s, t);
    return s;
}

TEST_MAIN(tests)
