/* The fuzz target of the frame reader on its corpus and on random bytes: brief,
 * and with any compiler. make fuzz does it at length. */
#include <dirent.h>
#include <stdio.h>

#include "../lib/check_main.h"
#include "../fuzz/fuzz_frame.c"
#include "rng.h"

static const char corpus[] = "tests/fuzz/corpus/fuzz_frame";

START_TEST(the_corpus_is_read)
{
    static uint8_t bytes[65536];
    char path[512];
    int files = 0;
    DIR *d = opendir(corpus);
    ck_assert_msg(d != NULL, "run from the project's folder");
    for (struct dirent *e; (e = readdir(d)); ) {
        snprintf(path, sizeof path, "%s/%s", corpus, e->d_name);
        FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "rb");
        if (!f)
            continue;
        size_t n = fread(bytes, 1, sizeof bytes, f);
        fclose(f);
        ck_assert_int_eq(LLVMFuzzerTestOneInput(bytes, n), 0);
        files++;
    }
    closedir(d);
    ck_assert_int_ge(files, 6);
}
END_TEST

START_TEST(random_streams_are_read)
{
    uint8_t bytes[256];
    struct kb_rng rng;
    kb_rng_seed(&rng, 7);
    for (int i = 0; i < 20000; i++) {
        size_t n = (size_t)kb_rng_below(&rng, sizeof bytes);
        for (size_t k = 0; k < n; k++)  /* mostly small numbers: whole frames */
            bytes[k] = (uint8_t)(kb_rng_below(&rng, 4) ? kb_rng_below(&rng, 6)
                                                       : kb_rng_below(&rng, 256));
        ck_assert_int_eq(LLVMFuzzerTestOneInput(bytes, n), 0);
    }
}
END_TEST

static Suite *tests(void)
{
    Suite *s = suite_create("fuzz_frame");
    TCase *t = tcase_create("streams");
    tcase_add_test(t, the_corpus_is_read);
    tcase_add_test(t, random_streams_are_read);
    suite_add_tcase(s, t);
    return s;
}

TEST_MAIN(tests)
