/* A disassembler in its jail: most of the tests bring one of their own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cuda/compile/sass.h"
#include "../lib/check_main.h"

static char dir[64], tool[96];
static char text[1 << 16];
static size_t used;

static void open_folder(void)
{
    strcpy(dir, "/tmp/kb-sass-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert_int_eq(chmod(dir, 0755), 0);
    snprintf(tool, sizeof tool, "%s/tool", dir);
}

static void close_folder(void)
{
    unlink(tool);
    ck_assert_int_eq(rmdir(dir), 0);    /* nothing else was left there */
}

static void make_tool(const char *lines, mode_t mode)
{
    FILE *f = fopen(tool, "w");
    fprintf(f, "#!/bin/sh\n%s\n", lines);
    fclose(f);
    ck_assert_int_eq(chmod(tool, mode), 0);
}

static kb_status print(const char *path, size_t cap)
{
    return kb_sass_text(path, "1234567", 7, text, cap, &used);
}

START_TEST(a_tool_is_given_the_cubin_and_its_words_are_kept)
{
    make_tool("echo \"$@\"; cat cubin; echo word >&2", 0755);
    ck_assert_int_eq(print(tool, sizeof text), KB_OK);
    ck_assert_str_eq(text, "-c -ndf cubin\n1234567word\n");
    ck_assert_uint_eq(used, strlen(text));
    ck_assert_int_eq(print(tool, 6), KB_OK);
    ck_assert_str_eq(text, "-c -n");
}
END_TEST

START_TEST(it_reads_and_writes_nothing_else)
{
    make_tool("cat /etc/passwd /proc/self/environ; echo x > ../kb-sass-y; "
              "echo x > /tmp/kb-sass-x; echo $HOME; : > $0", 0755);
    if (print(tool, sizeof text) == KB_OK) {
        ck_assert_ptr_null(strstr(text, "root:"));
        ck_assert_ptr_null(strstr(text, "HOME="));
    }
    ck_assert_int_ne(access("/tmp/kb-sass-x", F_OK), 0);
    ck_assert_int_ne(access("/tmp/kb-sass-y", F_OK), 0);
    make_tool("echo whole", 0755);
    ck_assert_int_eq(print(tool, sizeof text), KB_OK);
    ck_assert_str_eq(text, "whole\n");
}
END_TEST

START_TEST(one_that_fails_or_is_none_gives_nothing)
{
    ck_assert_int_eq(print(tool, sizeof text), KB_EINVAL);
    ck_assert_int_eq(print(dir, sizeof text), KB_ESYS);
    make_tool("echo x", 0644);
    if (geteuid() != 0)
        ck_assert_int_eq(print(tool, sizeof text), KB_EINVAL);
    make_tool("echo x; exit 3", 0755);
    ck_assert_int_eq(print(tool, sizeof text), KB_EWORKER);
    make_tool("echo x; kill -9 $$", 0755);
    ck_assert_int_eq(print(tool, sizeof text), KB_EWORKER);
}
END_TEST

/* nvdisasm of this machine, by PATH or in the toolkit's usual place. */
static bool find_nvdisasm(char *out, size_t cap)
{
    char path[4096];
    snprintf(path, sizeof path, "%s:/usr/local/cuda/bin", getenv("PATH"));
    for (char *p = strtok(path, ":"); p; p = strtok(NULL, ":")) {
        snprintf(out, cap, "%s/nvdisasm", p);
        if (access(out, X_OK) == 0)
            return true;
    }
    return false;
}

START_TEST(the_machines_own_prints_a_cubin)
{
    static char cubin[1 << 14];
    char path[4200];
    if (!find_nvdisasm(path, sizeof path)) {
        printf("check_sass: skipped: there is no nvdisasm\n");
        return;
    }
    FILE *f = fopen("tests/lib/sass/sums.cubin", "r");
    ck_assert_ptr_nonnull(f);
    size_t n = fread(cubin, 1, sizeof cubin, f);
    fclose(f);
    ck_assert_int_eq(kb_sass_text(path, cubin, n, text, sizeof text, &used),
                     KB_OK);
    ck_assert_ptr_nonnull(strstr(text, "\n.text.sums:\n"));
    ck_assert_ptr_nonnull(strstr(text, "BRA `(.L_x_"));
    for (size_t cut = 0; cut < n; cut += n / 7)
        if (kb_sass_text(path, cubin, cut, text, sizeof text, &used) == KB_OK)
            ck_assert_uint_eq(used, strlen(text));
}
END_TEST

static Suite *tests(void)
{
    Suite *s = suite_create("sass");
    TCase *t = tcase_create("tool");
    tcase_add_checked_fixture(t, open_folder, close_folder);
    tcase_add_test(t, a_tool_is_given_the_cubin_and_its_words_are_kept);
    tcase_add_test(t, it_reads_and_writes_nothing_else);
    tcase_add_test(t, one_that_fails_or_is_none_gives_nothing);
    tcase_add_test(t, the_machines_own_prints_a_cubin);
    suite_add_tcase(s, t);
    return s;
}

TEST_MAIN(tests)
