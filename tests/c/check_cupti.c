/* This file tests core/cuda/counters/cupti_sets.c and cupti_host.c. It checks
 * the metric sets, and the number of passes that each set needs on each chip.
 * It needs no GPU. check_cupti_gpu.c tests the counters on a GPU. */
#include <stdio.h>
#include <string.h>

#include "cuda/counters/cupti.h"
#include "../lib/check_main.h"

/* Compute capability 8.0, 8.6, 8.9, 9.0, 10.0 and 12.0. */
static const char *const chips[] = { "GA100", "GA102", "AD102", "GH100",
                                     "GB100", "GB202" };
enum { CHIPS = sizeof chips / sizeof chips[0] };

static const struct kb_cupti_set *const sets[] = {
    &kb_cupti_search, &kb_cupti_lean, &kb_cupti_full
};

START_TEST(sets_are_found_by_name)
{
    for (size_t i = 0; i < 3; i++)
        ck_assert_ptr_eq(kb_cupti_set(sets[i]->name), sets[i]);
    ck_assert_ptr_null(kb_cupti_set("everything"));
}
END_TEST

START_TEST(keys_and_names_of_a_set_differ)
{
    for (size_t n = 0; n < 3; n++) {
        const struct kb_cupti_set *s = sets[n];
        ck_assert_uint_ge(s->metrics, 1);
        ck_assert_uint_le(s->metrics, KB_CUPTI_METRICS);
        for (size_t i = 0; i < s->metrics; i++)
            for (size_t k = 0; k < i; k++) {
                ck_assert_str_ne(s->metric[i].key, s->metric[k].key);
                ck_assert_str_ne(s->metric[i].name, s->metric[k].name);
            }
    }
}
END_TEST

START_TEST(a_larger_set_begins_with_the_smaller)
{
    for (size_t i = 0; i < 2; i++) {
        ck_assert_uint_lt(sets[i]->metrics, sets[i + 1]->metrics);
        for (size_t k = 0; k < sets[i]->metrics; k++)
            ck_assert_str_eq(sets[i]->metric[k].name,
                             sets[i + 1]->metric[k].name);
    }
}
END_TEST

/* Every name exists and no chip needs more passes than the table says; some
 * chip needs as many. */
START_TEST(passes_of_a_set_are_as_told)
{
    const struct kb_cupti_set *set = sets[_i];
    size_t most = 0;
    char line[256];
    int at = snprintf(line, sizeof line, "cupti: %-10s %2zu metrics, passes",
                      set->name, set->metrics);
    for (size_t i = 0; i < CHIPS; i++) {
        char why[KB_CUPTI_WHY] = "";
        size_t passes = 99;
        kb_status st = kb_cupti_host_passes(chips[i], set, &passes, why,
                                            sizeof why);
        if (st == KB_ENODEV) {
            printf("cupti: pass counts not checked: %s\n", why);
            return;
        }
        ck_assert_msg(st == KB_OK, "%s, set %s: %s: %s", chips[i], set->name,
                      kb_status_name(st), why);
        ck_assert_msg(passes <= set->passes, "%s, set %s: %zu passes",
                      chips[i], set->name, passes);
        at += snprintf(line + at, sizeof line - (size_t)at, " %s %zu",
                       chips[i], passes);
        if (passes > most)
            most = passes;
    }
    ck_assert_uint_eq(most, set->passes);
    puts(line);
}
END_TEST

START_TEST(what_a_chip_lacks_is_named)
{
    static const struct kb_cupti_metric odd[] = {
        { "time_ns", "gpu__time_duration.sum" },
        { "wish", "sm__wishes_granted.sum" }
    };
    static const struct kb_cupti_set set = { "odd", odd, 2, 1 };
    char why[KB_CUPTI_WHY] = "";
    size_t passes = 99;
    kb_status st = kb_cupti_host_passes("GH100", &set, &passes, why,
                                        sizeof why);
    if (st == KB_ENODEV)
        return;
    ck_assert_int_eq(st, KB_EINVAL);
    ck_assert_ptr_nonnull(strstr(why, "sm__wishes_granted.sum"));
    st = kb_cupti_host_passes("NV1", &kb_cupti_lean, &passes, why, sizeof why);
    ck_assert_int_eq(st, KB_EINVAL);
    ck_assert_uint_eq(passes, 99);
}
END_TEST

/* Where there is no GPU, or there is no context: a sentence, and no crash. */
START_TEST(without_a_context_there_are_no_counters)
{
    kb_cupti *c = (kb_cupti *)&c;
    char why[KB_CUPTI_WHY] = "";
    ck_assert_int_eq(kb_cupti_open(NULL, 0, NULL, &c, why, sizeof why), KB_ENODEV);
    ck_assert_ptr_eq(c, (kb_cupti *)&c);
    ck_assert_uint_gt(strlen(why), 20);
    kb_cupti_close(NULL);
}
END_TEST

static Suite *tests(void)
{
    Suite *s = suite_create("cupti");
    TCase *t = tcase_create("sets");
    tcase_add_test(t, sets_are_found_by_name);
    tcase_add_test(t, keys_and_names_of_a_set_differ);
    tcase_add_test(t, a_larger_set_begins_with_the_smaller);
    tcase_add_loop_test(t, passes_of_a_set_are_as_told, 0, 3);
    tcase_add_test(t, what_a_chip_lacks_is_named);
    tcase_add_test(t, without_a_context_there_are_no_counters);
    suite_add_tcase(s, t);
    return s;
}

TEST_MAIN(tests)
