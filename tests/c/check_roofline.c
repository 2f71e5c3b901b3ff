/* This file tests core/cpu/roofline.c. It checks that the measured peaks,
 * bandwidths and cache sizes are plausible for a real machine. */
#include <math.h>
#include <stdio.h>

#include "cpu/cpu.h"
#include "cpu/roofline.h"
#include "../lib/check_main.h"

/* Bounds no machine that can run this leaves: they catch a loop the compiler
 * removed, a count that is off by a factor of vector lanes, a unit. */
START_TEST(the_roofs_are_those_of_a_real_machine)
{
    struct kb_roofline r;
    cpu_device d = { .cc = "/usr/bin/cc" };
    size_t widest = kb_cpu_vector_bytes(&d);
    ck_assert(widest == 16 || widest == 32 || widest == 64);
    ck_assert_int_eq(kb_cpu_roofline(&d.head, &r), KB_OK);
    ck_assert(r.f32_flops_per_s > 1e8 && r.f32_flops_per_s < 2e12);
    ck_assert(r.f64_flops_per_s > 1e8 && r.f64_flops_per_s < 1e12);
    ck_assert(r.l1_bytes_per_s > 1e8 && r.l1_bytes_per_s < 4e12);
    ck_assert(r.l2_bytes_per_s > 1e8 && r.l2_bytes_per_s < 4e12);
    ck_assert(r.dram_bytes_per_s > 1e7 && r.dram_bytes_per_s < 1e12);
    ck_assert(r.dram_copy_bytes_per_s > 1e7);
    ck_assert(r.dram_copy_bytes_per_s < 1e12);
    ck_assert_ptr_nonnull(r.isa);
    ck_assert(r.clock_hz > 3e8 && r.clock_hz < 1e10);
    ck_assert(r.vector_bytes >= 16 && r.vector_bytes <= widest);
    ck_assert_uint_ge(r.l1d_bytes, 4096);
    ck_assert_uint_gt(r.l2_bytes, r.l1d_bytes);
    ck_assert(r.l3_bytes == 0 || r.l3_bytes >= r.l2_bytes);
}
END_TEST

/* A real processor loads one vector at least while it does two multiply-adds.
 * With a sanitizer in the loop it was one load for ten of them. */
START_TEST(loads_of_the_first_cache_keep_up_with_arithmetic_in_every_build)
{
    struct kb_roofline r;
    cpu_device d = { .cc = "/usr/bin/cc" };
    ck_assert_int_eq(kb_cpu_roofline(&d.head, &r), KB_OK);
    if (r.clock_hz < 1e9) {
        puts("skipped: emulated, as by valgrind, whose loads are slow");
        return;
    }
    double vector_bytes = (double)r.vector_bytes;
    double loads = r.l1_bytes_per_s / vector_bytes;
    double multiply_adds = r.f32_flops_per_s / 2 / (vector_bytes / 4);
    ck_assert_double_gt(loads, multiply_adds / 4);
}
END_TEST

static Suite *tests(void)
{
    Suite *s = suite_create("roofline");
    TCase *t = tcase_create("roofline");
    tcase_add_test(t, the_roofs_are_those_of_a_real_machine);
    tcase_add_test(t,
        loads_of_the_first_cache_keep_up_with_arithmetic_in_every_build);
    suite_add_tcase(s, t);
    return s;
}

TEST_MAIN(tests)
