/* Files and folders: writes are all or nothing. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "system/files.h"
#include "system/host.h"
#include "../lib/check_main.h"

enum { PATH_BYTES = 512 };

static char dir[PATH_BYTES];

static const char *at(const char *name)
{
    static char path[2 * PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void set_up(void)
{
    ck_assert_int_eq(kb_files_temp_dir(dir, sizeof dir), KB_OK);
}

static void tear_down(void)
{
    DIR *d = opendir(dir);
    ck_assert_ptr_nonnull(d);
    for (struct dirent *e; (e = readdir(d)); )
        if (unlink(at(e->d_name)))
            rmdir(at(e->d_name));
    closedir(d);
    rmdir(dir);
}

static void put(const char *name, const char *text)
{
    ck_assert_int_eq(kb_files_write(at(name), text, strlen(text)), KB_OK);
}

static void holds(const char *name, const char *text)
{
    char *data = NULL;
    size_t n = 0;
    ck_assert_int_eq(kb_files_read(at(name), 1 << 20, &data, &n), KB_OK);
    ck_assert_uint_eq(n, strlen(text));
    ck_assert_mem_eq(data, text, n);
    free(data);
}

static size_t entries(void)
{
    size_t count = 0;
    DIR *d = opendir(dir);
    ck_assert_ptr_nonnull(d);
    for (struct dirent *e; (e = readdir(d)); )
        count += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
    closedir(d);
    return count;
}

START_TEST(a_write_replaces_the_whole_file)
{
    put("f", "a longer text than the next");
    put("f", "short");
    holds("f", "short");
    put("f", "");
    holds("f", "");
    ck_assert_uint_eq(entries(), 1);
}
END_TEST

START_TEST(a_failed_write_leaves_the_old_file_and_nothing_else)
{
    static const char text[64 << 10];
    struct rlimit small = { 4096, 4096 };
    put("f", "old");
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    ck_assert_int_eq(kb_files_write(at("f"), text, sizeof text), KB_ESYS);
    ck_assert_int_eq(errno, EFBIG);
    holds("f", "old");
    ck_assert_uint_eq(entries(), 1);
}
END_TEST

START_TEST(a_write_to_what_is_no_file_is_refused)
{
    ck_assert_int_eq(kb_files_write(dir, "x", 1), KB_EINVAL);
    ck_assert_int_eq(kb_files_write("/dev/null", "x", 1), KB_EINVAL);
    ck_assert_int_eq(kb_files_write(at("no/f"), "x", 1), KB_ESYS);
    ck_assert_int_eq(errno, ENOENT);
}
END_TEST

START_TEST(a_read_beyond_the_limit_is_refused)
{
    char *data = NULL;
    size_t n = 99;
    put("f", "12345");
    ck_assert_int_eq(kb_files_read(at("f"), 4, &data, &n), KB_ESYS);
    ck_assert_int_eq(errno, EFBIG);
    ck_assert_int_eq(kb_files_read(at("none"), 4, &data, &n), KB_ESYS);
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_int_eq(kb_files_read(dir, 4, &data, &n), KB_ESYS);
    ck_assert_int_eq(errno, EISDIR);
    ck_assert_ptr_null(data);
    ck_assert_uint_eq(n, 99);
}
END_TEST

START_TEST(folders_are_made_with_those_above)
{
    ck_assert_int_eq(kb_files_mkdir_p(at("d/e//f/")), KB_OK);
    ck_assert_str_eq(kb_files_kind(at("d/e/f")), "dir");
    ck_assert_int_eq(kb_files_mkdir_p(at("d/e/f")), KB_OK);
    put("file", "");
    ck_assert_int_eq(kb_files_mkdir_p(at("file/x")), KB_ESYS);
    ck_assert_int_eq(errno, ENOTDIR);
    ck_assert_int_eq(kb_files_mkdir_p(at("file")), KB_ESYS);
    ck_assert_int_eq(errno, EEXIST);
    rmdir(at("d/e/f"));
    rmdir(at("d/e"));
}
END_TEST

START_TEST(kinds_are_told_apart)
{
    put("f", "");
    ck_assert_str_eq(kb_files_kind(at("f")), "file");
    ck_assert_str_eq(kb_files_kind(dir), "dir");
    ck_assert_str_eq(kb_files_kind("/dev/null"), "other");
    ck_assert_ptr_null(kb_files_kind(at("none")));
}
END_TEST

START_TEST(errors_have_names)
{
    ck_assert_str_eq(kb_files_errno_name(ENOSPC), "ENOSPC");
    ck_assert_str_eq(kb_files_errno_name(ENOENT), "ENOENT");
    ck_assert_str_eq(kb_files_errno_name(12345), "ESYS");
}
END_TEST

START_TEST(a_given_library_folder_is_the_only_one)
{
    char path[KB_HOST_PATH_BYTES] = "untouched";
    ck_assert_int_eq(setenv("KERNELBAND_LIB", dir, 1), 0);
    ck_assert_int_eq(kb_host_lib_dir(path, sizeof path), KB_ESYS);
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_str_eq(path, "untouched");
}
END_TEST

static Suite *tests(void)
{
    Suite *suite = suite_create("files");
    TCase *t = tcase_create("files");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, a_write_replaces_the_whole_file);
    tcase_add_test(t, a_failed_write_leaves_the_old_file_and_nothing_else);
    tcase_add_test(t, a_write_to_what_is_no_file_is_refused);
    tcase_add_test(t, a_read_beyond_the_limit_is_refused);
    tcase_add_test(t, folders_are_made_with_those_above);
    tcase_add_test(t, kinds_are_told_apart);
    tcase_add_test(t, errors_have_names);
    tcase_add_test(t, a_given_library_folder_is_the_only_one);
    suite_add_tcase(suite, t);
    return suite;
}

TEST_MAIN(tests)
