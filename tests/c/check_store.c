#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "system/store.h"
#include "../lib/check_main.h"

static char dir[64], path[96];
static kb_store *store;

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
    ck_assert_int_eq(kb_store_exec(store,
        "CREATE TABLE t (n INTEGER PRIMARY KEY, i INTEGER, r REAL, s TEXT, "
        "b BLOB, k INTEGER REFERENCES t (n)) STRICT;"), KB_OK);
}

static void remove_folder(void)
{
    static const char *const ends[] = { "", "-wal", "-shm" };
    kb_store_close(store);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char file[128];
        snprintf(file, sizeof file, "%s%s", path, ends[i]);
        unlink(file);
    }
    rmdir(dir);
}

static kb_query *ask(const char *sql)
{
    kb_query *q = NULL;
    ck_assert_int_eq(kb_query_new(store, sql, &q), KB_OK);
    return q;
}

static bool step(kb_query *q)
{
    bool row = false;
    ck_assert_int_eq(kb_query_step(q, &row), KB_OK);
    return row;
}

static struct kb_value read_column(kb_query *q, size_t col)
{
    struct kb_value v = { .type = KB_STORE_NULL };
    ck_assert_ptr_nonnull(kb_query_column(q, col, &v));
    return v;
}

static kb_status bind_integer(kb_query *q, size_t i, int64_t n)
{
    return kb_query_bind(q, i, &(struct kb_value){ .type = KB_STORE_INTEGER,
                                                   .integer = n });
}

static int64_t number(const char *sql)
{
    kb_query *q = ask(sql);
    ck_assert(step(q));
    int64_t n = read_column(q, 0).integer;
    kb_query_free(q);
    return n;
}

START_TEST(every_type_comes_back_as_it_went)
{
    static const char text[] = "a\0b";
    kb_query *q = ask("INSERT INTO t (n, i, r, s, b) VALUES (1, ?, ?, ?, ?)");
    ck_assert_uint_eq(kb_query_parameters(q), 4);
    const struct kb_value in[] = {
        { .type = KB_STORE_INTEGER, .integer = INT64_MIN },
        { .type = KB_STORE_REAL, .real = 0.1 },
        { .type = KB_STORE_TEXT, .bytes = text, .n = 3 },
        { .type = KB_STORE_BLOB, .bytes = text, .n = 3 },
        { .type = KB_STORE_NULL },
    };
    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(kb_query_bind(q, i, &in[i]), KB_OK);
    ck_assert(!step(q));
    kb_query_free(q);
    ck_assert_int_eq(kb_store_changes(store), 1);

    struct kb_value v;
    q = ask("SELECT i, r, s, b, k FROM t");
    ck_assert(step(q));
    ck_assert_str_eq(kb_query_column(q, 2, &v), "s");
    ck_assert_ptr_null(kb_query_column(q, 5, &v));
    for (size_t c = 0; c < 5; c++) {
        v = read_column(q, c);
        ck_assert_int_eq(v.type, in[c].type);
        ck_assert_int_eq(v.integer, in[c].integer);
        ck_assert_double_eq(v.real, in[c].real);
        ck_assert_uint_eq(v.n, in[c].n);
        if (v.n)
            ck_assert_mem_eq(v.bytes, text, 3);
    }
    ck_assert(!step(q));
    kb_query_free(q);
}
END_TEST

START_TEST(parameters_out_of_range_are_refused)
{
    kb_query *q = ask("SELECT ?");
    ck_assert_int_eq(bind_integer(q, 1, 1), KB_EINVAL);
    ck_assert_int_eq(bind_integer(q, SIZE_MAX, 1), KB_EINVAL);
    kb_query_free(q);
}
END_TEST

static const struct {
    const char *sql, *why;
    kb_status st;
} bad[] = {
    { "SELEKT 1", "syntax error", KB_ESTORE },
    { "SELECT * FROM absent", "no such table", KB_ESTORE },
    { "", "", KB_EINVAL },
    { "-- a remark", "", KB_EINVAL },
    { "SELECT 1; SELECT 2", "", KB_EINVAL },
};

START_TEST(a_statement_that_is_not_one_is_refused)
{
    kb_query *q = NULL;
    ck_assert_int_eq(kb_query_new(store, bad[_i].sql, &q), bad[_i].st);
    ck_assert_ptr_null(q);
    if (bad[_i].st == KB_ESTORE)
        ck_assert_ptr_nonnull(strstr(kb_store_error(store), bad[_i].why));
}
END_TEST

static const struct {
    const char *sql, *why;
} broken[] = {
    { "INSERT INTO t (n, i) VALUES (1, 'x')", "cannot store TEXT" },
    { "INSERT INTO t (n, k) VALUES (1, 7)", "FOREIGN KEY" },
    { "INSERT INTO t (n) VALUES (1), (1)", "UNIQUE" },
};

START_TEST(a_constraint_says_which)
{
    ck_assert_int_eq(kb_store_exec(store, broken[_i].sql), KB_ESTORE);
    ck_assert_ptr_nonnull(strstr(kb_store_error(store), broken[_i].why));
    ck_assert_int_eq(number("SELECT count(*) FROM t"), 0);
}
END_TEST

START_TEST(the_settings_are_those_of_the_header)
{
    ck_assert_int_eq(number("PRAGMA synchronous"), 2);
    ck_assert_int_eq(number("PRAGMA foreign_keys"), 1);
    ck_assert_int_eq(number("PRAGMA busy_timeout"), 5000);
    kb_query *q = ask("PRAGMA journal_mode");
    ck_assert(step(q));
    ck_assert_str_eq(read_column(q, 0).bytes, "wal");
    kb_query_free(q);
}
END_TEST

START_TEST(a_script_stops_at_its_first_error)
{
    ck_assert_int_eq(kb_store_exec(store, "INSERT INTO t (n) VALUES (1); "
        "INSERT INTO t (n) VALUES (1); INSERT INTO t (n) VALUES (2)"),
        KB_ESTORE);
    ck_assert_int_eq(number("SELECT count(*) FROM t"), 1);
}
END_TEST

START_TEST(what_was_committed_survives_a_kill)
{
    kb_store_close(store);
    store = NULL;
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        char why[10];
        if (kb_store_open(path, false, why, sizeof why, &store)
            || kb_store_exec(store, "INSERT INTO t (n) VALUES (1); BEGIN; "
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
    ck_assert_int_eq(kb_store_exec(store, "INSERT INTO t (n) VALUES (1)"),
                     KB_OK);
    struct rlimit old, small = { 65536, 65536 };
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
    small.rlim_max = old.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    kb_status st = kb_store_exec(store,
        "INSERT INTO t (b) VALUES (zeroblob(200000))");
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
    ck_assert_int_eq(st, KB_ESTORE);
    ck_assert_ptr_nonnull(strstr(kb_store_error(store), "full"));
    ck_assert_int_eq(number("SELECT count(*) FROM t"), 1);
    kb_store_close(store);
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
    kb_store *reader = NULL;
    ck_assert_int_eq(kb_store_open(path, true, why, sizeof why, &reader), KB_OK);
    ck_assert_int_eq(kb_store_exec(reader, "INSERT INTO t (n) VALUES (7)"), KB_ESTORE);
    ck_assert_int_eq(kb_store_exec(store, "INSERT INTO t (n) VALUES (8)"), KB_OK);
    ck_assert_int_eq(kb_store_exec(reader, "SELECT n FROM t"), KB_OK);
    kb_store_close(reader);
    reader = NULL;
    ck_assert_int_eq(kb_store_open("/tmp/kb-no-such.db", true, why, sizeof why, &reader),
                     KB_ESTORE);
    ck_assert_ptr_null(reader);
}
END_TEST

START_TEST(a_statement_that_comes_again_has_no_values_of_before)
{
    bool row;
    for (int64_t n = 1; n <= 3; n++) {
        kb_query *q = ask("INSERT INTO t (n, s) VALUES (?, ?)");
        ck_assert_int_eq(bind_integer(q, 0, n), KB_OK);
        if (n == 1)
            ck_assert_int_eq(kb_query_bind(q, 1, &(struct kb_value){
                .type = KB_STORE_TEXT, .bytes = "one", .n = 3 }), KB_OK);
        ck_assert(!step(q));
        kb_query_free(q);
        ck_assert_int_eq(kb_store_last_id(store), n);
    }
    ck_assert_int_eq(number("SELECT count(*) FROM t WHERE s IS NULL"), 2);
    kb_query *q = ask("INSERT INTO t (n) VALUES (1)");
    ck_assert_int_eq(kb_query_step(q, &row), KB_ESTORE);
    kb_query_free(q);
    ck_assert_int_eq(number("SELECT count(*) FROM t"), 3);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(kb_store_exec(store, "BEGIN"), KB_OK);
        ck_assert_int_eq(kb_store_exec(store, "DELETE FROM t"), KB_OK);
        ck_assert_int_eq(number("SELECT count(*) FROM t"), 0);
        ck_assert_int_eq(kb_store_exec(store, "ROLLBACK"), KB_OK);
        ck_assert_int_eq(number("SELECT count(*) FROM t"), 3);
    }
}
END_TEST

START_TEST(a_statement_half_read_holds_no_lock_once_freed)
{
    ck_assert_int_eq(kb_store_exec(store, "INSERT INTO t (n) VALUES (1), (2)"), KB_OK);
    kb_query *q = ask("SELECT n FROM t"), *other = ask("SELECT n FROM t");
    ck_assert(step(q));
    ck_assert(step(other));
    ck_assert(step(other));
    kb_query_free(q);
    kb_query_free(other);
    ck_assert_int_eq(kb_store_exec(store, "ALTER TABLE t ADD COLUMN later INTEGER"), KB_OK);
    ck_assert_int_eq(kb_store_exec(store, "DROP TABLE t"), KB_OK);
    ck_assert_int_eq(kb_query_new(store, "SELECT n FROM t", &q), KB_ESTORE);
}
END_TEST

START_TEST(a_pragma_is_read_anew)
{
    ck_assert_int_eq(number("PRAGMA foreign_keys"), 1);
    ck_assert_int_eq(kb_store_exec(store, "PRAGMA foreign_keys = OFF"), KB_OK);
    ck_assert_int_eq(number("PRAGMA foreign_keys"), 0);
    ck_assert_int_eq(kb_store_exec(store, "PRAGMA foreign_keys = ON"), KB_OK);
    ck_assert_int_eq(kb_store_exec(store, "PRAGMA foreign_keys = OFF"), KB_OK);
    ck_assert_int_eq(number("PRAGMA foreign_keys"), 0);
    int64_t version = number("PRAGMA data_version");
    kb_store *other = NULL;
    ck_assert_int_eq(kb_store_open(path, false, NULL, 0, &other), KB_OK);
    ck_assert_int_eq(kb_store_exec(other, "INSERT INTO t (n) VALUES (1)"), KB_OK);
    kb_store_close(other);
    ck_assert_int_ne(number("PRAGMA data_version"), version);
}
END_TEST

START_TEST(a_query_may_outlive_its_store)
{
    kb_query *q = ask("SELECT 1"), *other = ask("SELECT 2");
    ck_assert(step(q));
    kb_store_close(store);
    store = NULL;
    kb_query_free(q);
    kb_query_free(other);
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
    tcase_add_test(t, every_type_comes_back_as_it_went);
    tcase_add_test(t, parameters_out_of_range_are_refused);
    tcase_add_loop_test(t, a_statement_that_is_not_one_is_refused, 0,
                        sizeof bad / sizeof *bad);
    tcase_add_loop_test(t, a_constraint_says_which, 0,
                        sizeof broken / sizeof *broken);
    tcase_add_test(t, the_settings_are_those_of_the_header);
    tcase_add_test(t, a_script_stops_at_its_first_error);
    tcase_add_test(t, a_statement_that_comes_again_has_no_values_of_before);
    tcase_add_test(t, a_statement_half_read_holds_no_lock_once_freed);
    tcase_add_test(t, a_pragma_is_read_anew);
    tcase_add_test(t, a_query_may_outlive_its_store);
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
