/* This file tests core/system/gzip.c. It checks that packed data are unpacked
 * unchanged, the size limit, and data that are cut or damaged. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "system/gzip.h"
#include "../lib/check_main.h"

static char text[300000];
static char *packed, *out;
static size_t packed_n, out_n;

/* One member of n bytes, malloc'd. */
static char *pack(const char *bytes, size_t n, size_t *used)
{
    z_stream z = { .next_in = (unsigned char *)(uintptr_t)bytes,
                   .avail_in = (uInt)n };
    ck_assert_int_eq(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 9,
                                  Z_DEFAULT_STRATEGY), Z_OK);
    uLong most = deflateBound(&z, (uLong)n);
    char *member = malloc(most);
    z.next_out = (unsigned char *)member;
    z.avail_out = (uInt)most;
    ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    *used = z.total_out;
    deflateEnd(&z);
    return member;
}

static void setup(void)
{
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)((i * i / 7) & 0x7f);
    packed = pack(text, sizeof text, &packed_n);
    out = NULL;
    out_n = 0;
}

static void teardown(void)
{
    free(packed);
    free(out);
}

START_TEST(what_was_packed_comes_back)
{
    ck_assert_int_eq(kb_gzip_unpack(packed, packed_n, sizeof text, &out,
                                    &out_n), KB_OK);
    ck_assert_uint_eq(out_n, sizeof text);
    ck_assert_int_eq(memcmp(out, text, out_n), 0);
}
END_TEST

START_TEST(nothing_packs_to_something_and_back)
{
    size_t n;
    char *none = pack("", 0, &n);
    ck_assert_uint_gt(n, 0);
    ck_assert_int_eq(kb_gzip_unpack(none, n, 10, &out, &out_n), KB_OK);
    ck_assert_uint_eq(out_n, 0);
    free(none);
}
END_TEST

START_TEST(members_one_after_another_are_joined)
{
    char *two = malloc(2 * packed_n);
    memcpy(two, packed, packed_n);
    memcpy(two + packed_n, packed, packed_n);
    ck_assert_int_eq(kb_gzip_unpack(two, 2 * packed_n, 2 * sizeof text, &out,
                                    &out_n), KB_OK);
    ck_assert_uint_eq(out_n, 2 * sizeof text);
    ck_assert_int_eq(memcmp(out + sizeof text, text, sizeof text), 0);
    free(two);
}
END_TEST

START_TEST(one_byte_too_many_is_refused)
{
    ck_assert_int_eq(kb_gzip_unpack(packed, packed_n, sizeof text - 1, &out,
                                    &out_n), KB_ESYS);
    ck_assert_int_eq(errno, EFBIG);
}
END_TEST

START_TEST(data_that_end_early_give_what_there_is)
{
    size_t n = packed_n * (size_t)_i / 8;
    ck_assert_int_eq(kb_gzip_unpack(packed, n, sizeof text, &out, &out_n),
                     KB_EINVAL);
    ck_assert_uint_lt(out_n, sizeof text);
    ck_assert(out_n == 0 || memcmp(out, text, out_n) == 0);
}
END_TEST

START_TEST(damage_and_foreign_data_are_told)
{
    packed[packed_n - 6] ^= 1;                          /* the checksum */
    ck_assert_int_eq(kb_gzip_unpack(packed, packed_n, sizeof text, &out,
                                    &out_n), KB_EINVAL);
    free(out);
    ck_assert_int_eq(kb_gzip_unpack("hello, world", 12, 100, &out, &out_n),
                     KB_EINVAL);
}
END_TEST

static Suite *tests(void)
{
    Suite *suite = suite_create("gzip");
    TCase *tc = tcase_create("gzip");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, what_was_packed_comes_back);
    tcase_add_test(tc, nothing_packs_to_something_and_back);
    tcase_add_test(tc, members_one_after_another_are_joined);
    tcase_add_test(tc, one_byte_too_many_is_refused);
    tcase_add_loop_test(tc, data_that_end_early_give_what_there_is, 0, 8);
    tcase_add_test(tc, damage_and_foreign_data_are_told);
    suite_add_tcase(suite, tc);
    return suite;
}

TEST_MAIN(tests)
