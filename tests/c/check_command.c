/* This file tests the commands of core/system/child.c: a child process that
 * gets a text, returns two and has a deadline. check_worker.c tests workers. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "system/child.h"
#include "../lib/check_main.h"

static const int64_t ms = 1000000, second = 1000000000;

static kb_child *command;

static void begin(void)
{
    signal(SIGPIPE, SIG_IGN);
    command = NULL;
}

static void end(void)
{
    kb_child_free(command);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);   /* none is left */
}

static struct kb_child_request shell(const char *text)
{
    static const char *argv[4] = { "sh", "-c" };
    argv[2] = text;
    return (struct kb_child_request){ .argv = argv, .max_bytes = 1000,
                                        .timeout_ns = 10 * second };
}

static struct kb_child_result run(const struct kb_child_request *r)
{
    ck_assert_int_eq(kb_child_start(r, &command), KB_OK);
    struct kb_source s = { .kind = &kb_child_source, .object = command };
    struct pollfd scratch[KB_SOURCE_FDS];
    ck_assert_int_eq(kb_wait(&s, 1, scratch, kb_clock_now_ns() + 20 * second), KB_OK);
    ck_assert(kb_child_look(command)->done);
    return *kb_child_look(command);
}

static bool gone(pid_t pid)
{
    for (int i = 0; i < 1000; i++) {
        char path[64], text[256] = "";
        snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
        FILE *f = fopen(path, "r");
        if (!f)
            return true;
        char *line = fgets(text, sizeof text, f);
        fclose(f);
        const char *after = line ? strrchr(line, ')') : NULL;
        if (!after || after[2] == 'Z')
            return true;
        usleep(2000);
    }
    return false;
}

START_TEST(what_cannot_be_started_is_esys_with_errno)
{
    static const struct { const char *path, *dir; int why; } bad[] = {
        { "kernelband-absent", NULL, ENOENT }, { "/etc/passwd", NULL, EACCES },
        { "/nonexistent/x", NULL, ENOENT }, { "sh", "/nonexistent", ENOENT },
        { "/dev/null/x", NULL, ENOTDIR },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *const argv[] = { bad[i].path, NULL };
        struct kb_child_request r = shell("");
        r.argv = argv;
        r.dir = bad[i].dir;
        errno = 0;
        ck_assert_int_eq(kb_child_start(&r, &command), KB_ESYS);
        ck_assert_int_eq(errno, bad[i].why);
        ck_assert_ptr_null(command);
    }
}
END_TEST

START_TEST(no_words_or_too_many_are_einval)
{
    const char *words[KB_CHILD_WORDS + 2] = { NULL };
    struct kb_child_request r = shell("");
    r.argv = words;
    ck_assert_int_eq(kb_child_start(&r, &command), KB_EINVAL);
    for (size_t i = 0; i <= KB_CHILD_WORDS; i++)
        words[i] = "true";
    ck_assert_int_eq(kb_child_start(&r, &command), KB_EINVAL);
    ck_assert_ptr_null(command);
}
END_TEST

START_TEST(a_text_goes_in_and_two_come_out)
{
    struct kb_child_request req = shell("cat; echo err >&2; exit 7");
    req.input = "in";
    req.input_bytes = 2;
    struct kb_child_result r = run(&req);
    ck_assert_int_eq(r.result, KB_OK);
    ck_assert_int_eq(r.status, 7);
    ck_assert_int_eq(r.signal, 0);
    ck_assert_uint_eq(r.output.used, 2);
    ck_assert_int_eq(memcmp(r.output.at, "in", 2), 0);
    ck_assert_uint_eq(r.errors.used, 4);
    ck_assert_int_eq(memcmp(r.errors.at, "err\n", 4), 0);
}
END_TEST

START_TEST(each_signal_is_repeated)
{
    static const char *const text[] = { "kill -KILL $$", "kill -SEGV $$", "kill -INT $$" };
    static const int sig[] = { SIGKILL, SIGSEGV, SIGINT };
    struct kb_child_request req = shell(text[_i]);
    struct kb_child_result r = run(&req);
    ck_assert_int_eq(r.result, KB_OK);
    ck_assert_int_eq(r.signal, sig[_i]);
}
END_TEST

START_TEST(the_bound_is_exact)
{
    struct kb_child_request req = shell("printf 0123456789");
    req.max_bytes = 10;
    ck_assert_int_eq(run(&req).result, KB_OK);
    kb_child_free(command);
    req.max_bytes = 9;
    struct kb_child_result r = run(&req);
    ck_assert_int_eq(r.result, KB_EFULL);
    ck_assert_uint_eq(r.output.used, 9);
    kb_child_free(command);
    req.max_bytes = 0;
    ck_assert_uint_eq(run(&req).output.used, 0);
}
END_TEST

START_TEST(the_deadline_takes_the_children_too)
{
    struct kb_child_request req = shell("sleep 60 & echo $!; wait");
    req.timeout_ns = 150 * ms;
    struct kb_child_result r = run(&req);
    ck_assert_int_eq(r.result, KB_ETIME);
    ck_assert_int_eq(r.signal, SIGKILL);
    ck_assert_uint_gt(r.output.used, 1);
    ck_assert(gone((pid_t)atoi(r.output.at)));
}
END_TEST

START_TEST(freeing_one_that_runs_kills_it)
{
    struct kb_child_request r = shell("exec sleep 60");
    ck_assert_int_eq(kb_child_start(&r, &command), KB_OK);
    ck_assert(!kb_child_look(command)->done);
    pid_t pid = kb_child_look(command)->pid;
    kb_child_free(command);
    command = NULL;
    ck_assert_int_eq(kill(pid, 0), -1);
    kb_child_free(NULL);
}
END_TEST

static Suite *tests(void)
{
    Suite *s = suite_create("command");
    TCase *t = tcase_create("command");
    tcase_add_checked_fixture(t, begin, end);
    tcase_add_test(t, what_cannot_be_started_is_esys_with_errno);
    tcase_add_test(t, no_words_or_too_many_are_einval);
    tcase_add_test(t, a_text_goes_in_and_two_come_out);
    tcase_add_loop_test(t, each_signal_is_repeated, 0, 3);
    tcase_add_test(t, the_bound_is_exact);
    tcase_add_test(t, the_deadline_takes_the_children_too);
    tcase_add_test(t, freeing_one_that_runs_kills_it);
    suite_add_tcase(s, t);
    return s;
}

TEST_MAIN(tests)
