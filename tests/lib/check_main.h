/* check_main.h - the main() of every tests/c/check_*.c. It includes check.h.
 *
 *     static Suite *tests(void) { ... return s; }
 *     TEST_MAIN(tests)
 *
 * NULL for a suite: there is nothing to run here, and tests() has said why. */
#ifndef CHECK_MAIN_H
#define CHECK_MAIN_H

#include <check.h>
#include <stdlib.h>

static inline int run_suite(Suite *suite)
{
    if (!suite)
        return EXIT_SUCCESS;
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* A test has a minute: the machine may have other work. */
#define TEST_MAIN(tests)                       \
    int main(void)                             \
    {                                          \
        setenv("CK_DEFAULT_TIMEOUT", "60", 0); \
        return run_suite(tests());             \
    }

#endif
