#include <math.h>

#include "cpu/roofline.h"
#include "../lib/check_main.h"

/* Bounds no machine that can run this leaves: they catch a loop the compiler
 * removed, a count that is off by a factor of vector lanes, a unit. */
START_TEST(the_roofs_are_those_of_a_real_machine)
{
    struct kb_roofline r;
    ck_assert_int_eq(kb_roofline_measure(&r), KB_OK);
    ck_assert(r.f32_flops_per_s > 1e8 && r.f32_flops_per_s < 2e12);
    ck_assert(r.f64_flops_per_s > 1e8 && r.f64_flops_per_s < 1e12);
    ck_assert(r.l1_bytes_per_s > 1e8 && r.l1_bytes_per_s < 4e12);
    ck_assert(r.l2_bytes_per_s > 1e8 && r.l2_bytes_per_s < 4e12);
    ck_assert(r.dram_bytes_per_s > 1e7 && r.dram_bytes_per_s < 1e12);
    ck_assert(r.dram_copy_bytes_per_s > 1e7);
    ck_assert(r.dram_copy_bytes_per_s < 1e12);
    ck_assert_ptr_nonnull(r.isa);
    ck_assert(r.clock_hz > 3e8 && r.clock_hz < 1e10);
    ck_assert(r.vector_bytes >= 16 && r.vector_bytes <= 64);
}
END_TEST

START_TEST(caches_grow_outward)
{
    size_t l1 = 0, l2 = 0, l3 = 1;
    kb_roofline_caches(&l1, &l2, &l3);
    ck_assert_uint_ge(l1, 4096);
    ck_assert_uint_gt(l2, l1);
    ck_assert(l3 == 0 || l3 >= l2);
}
END_TEST

static Suite *tests(void)
{
    Suite *s = suite_create("roofline");
    TCase *t = tcase_create("roofline");
    tcase_add_test(t, the_roofs_are_those_of_a_real_machine);
    tcase_add_test(t, caches_grow_outward);
    suite_add_tcase(s, t);
    return s;
}

TEST_MAIN(tests)
