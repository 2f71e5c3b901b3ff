/* This file tests core/system/store.c. It checks the settings of an SQLite
 * file, its state after a kill or a full disk, and the errors. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sqlite3.h>

#include "system/store.h"
#include "../lib/check_main.h"

static char dir[64], path[96];
static sqlite3 *store;

static kb_status exec(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL) ? KB_ESTORE : KB_OK;
}

static void make_folder(void)
{
    strcpy(dir, "/tmp/kb-store-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/run.db", dir);
    store = NULL;
}

static void open_file(void)
{
    char why[200];
    ck_assert_int_eq(kb_store_open(path, false, why, sizeof why, &store), KB_OK);
}

static void open_fresh(void)
{
    make_folder();
    open_file();
    ck_assert_int_eq(exec(store,
        "CREATE TABLE t (n INTEGER PRIMARY KEY, i INTEGER, r REAL, s TEXT, "
        "b BLOB, k INTEGER REFERENCES t (n)) STRICT;"), KB_OK);
}

static void remove_folder(void)
{
    static const char *const ends[] = { "", "-wal", "-shm" };
    sqlite3_close_v2(store);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char file[128];
        snprintf(file, sizeof file, "%s%s", path, ends[i]);
        unlink(file);
    }
    rmdir(dir);
}

/* The first column of the first row. */
static const char *answer(const char *sql)
{
    static char text[64];
    sqlite3_stmt *q = NULL;
    ck_assert_int_eq(sqlite3_prepare_v2(store, sql, -1, &q, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(q), SQLITE_ROW);
    snprintf(text, sizeof text, "%s", (const char *)sqlite3_column_text(q, 0));
    sqlite3_finalize(q);
    return text;
}

static long number(const char *sql)
{
    return strtol(answer(sql), NULL, 10);
}

static const struct {
    const char *sql, *why;
} broken[] = {
    { "INSERT INTO t (n, i) VALUES (1, 'x')", "cannot store TEXT" },
    { "INSERT INTO t (n, k) VALUES (1, 7)", "FOREIGN KEY" },
    { "INSERT INTO t (n) VALUES (1), (1)", "UNIQUE" },
};

START_TEST(a_constraint_says_which)
{
    ck_assert_int_eq(exec(store, broken[_i].sql), KB_ESTORE);
    ck_assert_ptr_nonnull(strstr(kb_store_error(store), broken[_i].why));
    ck_assert_int_eq(number("SELECT count(*) FROM t"), 0);
}
END_TEST

START_TEST(the_settings_are_those_of_the_header)
{
    ck_assert_int_eq(number("PRAGMA synchronous"), 2);
    ck_assert_int_eq(number("PRAGMA foreign_keys"), 1);
    ck_assert_int_eq(number("PRAGMA busy_timeout"), 5000);
    ck_assert_str_eq(answer("PRAGMA journal_mode"), "wal");
}
END_TEST

START_TEST(a_script_stops_at_its_first_error)
{
    ck_assert_int_eq(exec(store, "INSERT INTO t (n) VALUES (1); "
        "INSERT INTO t (n) VALUES (1); INSERT INTO t (n) VALUES (2)"),
        KB_ESTORE);
    ck_assert_int_eq(number("SELECT count(*) FROM t"), 1);
}
END_TEST

START_TEST(what_was_committed_survives_a_kill)
{
    sqlite3_close_v2(store);
    store = NULL;
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        char why[10];
        if (kb_store_open(path, false, why, sizeof why, &store)
            || exec(store, "INSERT INTO t (n) VALUES (1); BEGIN; "
                                    "INSERT INTO t (n) VALUES (2)"))
            _exit(1);
        raise(SIGKILL);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status));
    open_file();
    ck_assert_int_eq(number("SELECT max(n) FROM t"), 1);
}
END_TEST

/* A file size limit is the full disk that a test can bring about anywhere. */
START_TEST(a_full_disk_is_an_error_and_loses_nothing)
{
    ck_assert_int_eq(exec(store, "INSERT INTO t (n) VALUES (1)"),
                     KB_OK);
    struct rlimit old, small = { 65536, 65536 };
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
    small.rlim_max = old.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    kb_status st = exec(store,
        "INSERT INTO t (b) VALUES (zeroblob(200000))");
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
    ck_assert_int_eq(st, KB_ESTORE);
    ck_assert_ptr_nonnull(strstr(kb_store_error(store), "full"));
    ck_assert_int_eq(number("SELECT count(*) FROM t"), 1);
    sqlite3_close_v2(store);
    open_file();
    ck_assert_int_eq(number("SELECT max(n) FROM t"), 1);
}
END_TEST

START_TEST(what_is_no_database_is_refused)
{
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs("this is a text file, and a long enough one to be looked at.\n"
          "............................................................\n", f);
    fclose(f);
    char why[200] = "";
    ck_assert_int_eq(kb_store_open(path, false, why, sizeof why, &store), KB_ESTORE);
    ck_assert_ptr_null(store);
    ck_assert_ptr_nonnull(strstr(why, "not a"));
}
END_TEST

START_TEST(a_file_opened_to_read_is_not_changed)
{
    char why[200];
    sqlite3 *reader = NULL;
    ck_assert_int_eq(kb_store_open(path, true, why, sizeof why, &reader), KB_OK);
    ck_assert_int_eq(exec(reader, "INSERT INTO t (n) VALUES (7)"), KB_ESTORE);
    ck_assert_int_eq(exec(store, "INSERT INTO t (n) VALUES (8)"), KB_OK);
    ck_assert_int_eq(exec(reader, "SELECT n FROM t"), KB_OK);
    sqlite3_close_v2(reader);
    reader = NULL;
    ck_assert_int_eq(kb_store_open("/tmp/kb-no-such.db", true, why, sizeof why, &reader),
                     KB_ESTORE);
    ck_assert_ptr_null(reader);
}
END_TEST

START_TEST(a_pragma_is_read_anew)
{
    ck_assert_int_eq(number("PRAGMA foreign_keys"), 1);
    ck_assert_int_eq(exec(store, "PRAGMA foreign_keys = OFF"), KB_OK);
    ck_assert_int_eq(number("PRAGMA foreign_keys"), 0);
    ck_assert_int_eq(exec(store, "PRAGMA foreign_keys = ON"), KB_OK);
    ck_assert_int_eq(exec(store, "PRAGMA foreign_keys = OFF"), KB_OK);
    ck_assert_int_eq(number("PRAGMA foreign_keys"), 0);
    long version = number("PRAGMA data_version");
    sqlite3 *other = NULL;
    ck_assert_int_eq(kb_store_open(path, false, NULL, 0, &other), KB_OK);
    ck_assert_int_eq(exec(other, "INSERT INTO t (n) VALUES (1)"), KB_OK);
    sqlite3_close_v2(other);
    ck_assert_int_ne(number("PRAGMA data_version"), version);
}
END_TEST

START_TEST(a_folder_that_is_not_there_is_refused)
{
    char why[8] = "";
    ck_assert_int_eq(kb_store_open("/nowhere/at/all.db", false, why, sizeof why,
                                   &store), KB_ESTORE);
    ck_assert_uint_eq(strlen(why), 7);          /* cut, and terminated */
    ck_assert_int_eq(kb_store_open("/nowhere/at/all.db", false, NULL, 0, &store),
                     KB_ESTORE);
    ck_assert_ptr_null(store);
}
END_TEST

static Suite *tests(void)
{
    Suite *s = suite_create("store");
    TCase *t = tcase_create("a table");
    tcase_add_checked_fixture(t, open_fresh, remove_folder);
    tcase_add_loop_test(t, a_constraint_says_which, 0,
                        sizeof broken / sizeof *broken);
    tcase_add_test(t, the_settings_are_those_of_the_header);
    tcase_add_test(t, a_script_stops_at_its_first_error);
    tcase_add_test(t, a_pragma_is_read_anew);
    tcase_add_test(t, what_was_committed_survives_a_kill);
    tcase_add_test(t, a_file_opened_to_read_is_not_changed);
    tcase_add_test(t, a_full_disk_is_an_error_and_loses_nothing);
    suite_add_tcase(s, t);
    t = tcase_create("no file yet");
    tcase_add_checked_fixture(t, make_folder, remove_folder);
    tcase_add_test(t, what_is_no_database_is_refused);
    tcase_add_test(t, a_folder_that_is_not_there_is_refused);
    suite_add_tcase(s, t);
    return s;
}

TEST_MAIN(tests)
