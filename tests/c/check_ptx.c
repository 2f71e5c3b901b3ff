/* This file tests core/cuda/compile/ptx.c. It checks which PTX instructions are
 * refused and which are accepted. */
#include "cuda/compile/ptx.h"
#include "../lib/check_main.h"

static const char *const bad[] = {
    "ld.global.L2::evict_last.v8.b32 {%r1}, [%rd1];",
    "prefetch.global.L2::evict_last [%rd1];",
    "createpolicy.fractional.L2::evict_last.b64 %rd2, 1.0;",
    "createpolicy.cvt.L2.b64 %rd2, %rd1;",
    "createpolicy.fractional.L2::evict_first.b64 %rd2, 1.0;\n"
    "mov.b64 %rd4, 1508840346148864000;\n"
    "ld.global.L2::cache_hint.f32 %f1, [%rd1], %rd4;",
    "createpolicy.fractional.L2::evict_first.b64 %rd2, 1.0;\n"
    "mov.b64 %rd4, 0x14F0000000000000;\n"
    "ld.global.L2::cache_hint.f32 %f1, [%rd1], %rd4;",
    "ld.global.L2::cache_hint.f32 %f1, [%rd1], %rd2;",
    "\tdiscard.global.L2 [%rd1], 128;", "mov.u64 %rd3, %globaltimer;",
};
static const char *const good[] = {
    "", "ld.global.cs.f32 %f1, [%rd1];", "mov.u32 %r1, %clock;",
    "createpolicy.fractional.L2::evict_first.b64 %rd2, 1.0;\n"
    "mov.f64 %fd1, 0d3FF0000000000000; mov.f32 %f2, 0f3F800000;\n"
    "ld.global.L2::cache_hint.f32 %f1, [%rd1], %rd2;",
    "mov.b64 %rd4, 1508840346148864000;",
    ".visible .entry discard(", "call evict_last, ();",
    "ld.global.L1::evict_last.f32 %f1, [%rd1];",
};

START_TEST(what_reaches_over_a_flush_is_named)
{
    ck_assert_ptr_nonnull(kb_ptx_forbidden(bad[_i]));
}
END_TEST

START_TEST(other_text_passes)
{
    ck_assert_ptr_null(kb_ptx_forbidden(good[_i]));
}
END_TEST

static Suite *tests(void)
{
    Suite *s = suite_create("ptx");
    TCase *t = tcase_create("words");
    tcase_add_loop_test(t, what_reaches_over_a_flush_is_named, 0,
                        sizeof bad / sizeof *bad);
    tcase_add_loop_test(t, other_text_passes, 0, sizeof good / sizeof *good);
    suite_add_tcase(s, t);
    return s;
}

TEST_MAIN(tests)
