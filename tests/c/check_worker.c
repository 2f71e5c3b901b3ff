/* This file tests the workers of core/system/child.c: child processes that
 * answer requests in frames. It checks replies, deadlines, deaths and the log.
 * check_command.c tests commands. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "system/child.h"
#include "../lib/check_main.h"

static const int64_t ms = 1000000, second = 1000000000;

enum { MOST = 4 };
static kb_child *worker[MOST];

static void begin(void)
{
    signal(SIGPIPE, SIG_IGN);
    memset(worker, 0, sizeof worker);
    alarm(3);
}

static void end(void)
{
    for (size_t i = 0; i < MOST; i++)
        kb_child_free(worker[i]);
}

static void start(size_t i, const char *command)
{
    const char *const argv[] = { "/bin/sh", "-c", command, NULL };
    ck_assert_int_eq(kb_child_start(&(struct kb_child_request){ .argv = argv,
                         .worker = true }, &worker[i]), KB_OK);
}

static void ask(size_t i, const char *text)
{
    ck_assert_int_eq(kb_child_send(worker[i], text, strlen(text)), KB_OK);
}

static kb_status wait_for(size_t n, int64_t timeout_ns, size_t *which)
{
    struct kb_source source[MOST];
    struct pollfd scratch[MOST * KB_SOURCE_FDS];
    for (size_t i = 0; i < n; i++)
        source[i] = (struct kb_source){ .kind = &kb_child_source,
                                        .object = worker[i] };
    kb_status st = kb_wait(source, n, scratch, kb_clock_now_ns() + timeout_ns);
    for (size_t i = 0; !st && i < n; i++)
        if (source[i].ready) {
            *which = i;
            return kb_child_listen(worker[i]);
        }
    return st;
}

static void expect(size_t i, const char *text)
{
    size_t n = 0;
    const char *got = kb_child_reply(worker[i], &n);
    ck_assert_ptr_nonnull(got);
    ck_assert_uint_eq(n, strlen(text));
    ck_assert_int_eq(memcmp(got, text, n), 0);
}

static void expect_from(size_t n, size_t i, const char *text)
{
    size_t which = 99;
    ck_assert_int_eq(wait_for(n, second, &which), KB_OK);
    ck_assert_uint_eq(which, i);
    expect(i, text);
    kb_child_next(worker[i]);
}

START_TEST(a_missing_program_is_esys)
{
    const char *const argv[] = { "/nonexistent/worker", NULL };
    kb_child *w = NULL;
    errno = 0;
    ck_assert_int_eq(kb_child_start(&(struct kb_child_request){ .argv = argv,
                         .worker = true }, &w), KB_ESYS);
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_ptr_null(w);
}
END_TEST

START_TEST(replies_come_back_in_order)
{
    start(0, "exec cat");
    ask(0, "one");
    ask(0, "");
    ask(0, "three");
    expect_from(1, 0, "one");
    expect_from(1, 0, "");
    expect_from(1, 0, "three");
    ck_assert_ptr_null(kb_child_reply(worker[0], &(size_t){ 0 }));
}
END_TEST

START_TEST(silence_is_etime)
{
    size_t which = 99;
    start(0, "exec cat");
    int64_t begun = kb_clock_now_ns();
    ck_assert_int_eq(wait_for(1, 30 * ms, &which), KB_ETIME);
    ck_assert_int_ge(kb_clock_now_ns() - begun, 30 * ms);
    ck_assert_uint_eq(which, 99);
    ck_assert_int_eq(wait_for(1, 0, &which), KB_ETIME);
    ck_assert_int_eq(wait_for(1, -second, &which), KB_ETIME);
}
END_TEST

START_TEST(nothing_to_watch_is_a_sleep)
{
    int64_t begun = kb_clock_now_ns();
    ck_assert_int_eq(kb_wait(NULL, 0, NULL, begun + 20 * ms), KB_ETIME);
    ck_assert_int_ge(kb_clock_now_ns() - begun, 20 * ms);
}
END_TEST

START_TEST(all_that_have_a_reply_are_named)
{
    struct kb_source source[3];
    struct pollfd scratch[3 * KB_SOURCE_FDS];
    for (size_t i = 0; i < 3; i++) {
        start(i, "exec cat");
        source[i] = (struct kb_source){ .kind = &kb_child_source,
                                        .object = worker[i] };
    }
    ask(0, "a");
    ask(2, "c");
    usleep(50000);
    ck_assert_int_eq(kb_wait(source, 3, scratch, kb_clock_now_ns() + second),
                     KB_OK);
    ck_assert(source[0].ready && !source[1].ready && source[2].ready);
    /* What was heard and not fetched is ready still, with nothing to poll. */
    ck_assert_int_eq(kb_wait(source, 3, scratch, 0), KB_OK);
    ck_assert(source[0].ready && !source[1].ready && source[2].ready);
}
END_TEST

START_TEST(the_worker_that_has_a_reply_is_named)
{
    start(0, "exec cat");
    start(1, "exec cat");
    start(2, "exec cat");
    ask(2, "c");
    expect_from(3, 2, "c");
    ask(1, "b");
    expect_from(3, 1, "b");
    ask(0, "a");
    expect_from(3, 0, "a");
}
END_TEST

START_TEST(a_large_reply_arrives_whole)
{
    enum { SIZE = 3000000 };
    size_t which = 99, n = 0;
    char *text = malloc(SIZE);
    memset(text, 'x', SIZE);
    /* A peer that reads all before it answers, as workers do. */
    start(0, "f=/tmp/kb-$$; head -c 3000004 >$f; exec 3<$f; rm $f; cat <&3; "
             "exec cat");
    ck_assert_int_eq(kb_child_send(worker[0], text, SIZE), KB_OK);
    ck_assert_int_eq(wait_for(1, second, &which), KB_OK);
    const char *got = kb_child_reply(worker[0], &n);
    ck_assert_uint_eq(n, SIZE);
    ck_assert_int_eq(memcmp(got, text, SIZE), 0);
    free(text);
}
END_TEST

START_TEST(a_death_is_eworker_with_its_index)
{
    size_t which = 99;
    start(0, "exec cat");
    start(1, "echo last words >&2; exit 3");
    start(2, "exec cat");
    ck_assert_int_eq(wait_for(3, second, &which), KB_EWORKER);
    ck_assert_uint_eq(which, 1);
    ck_assert_str_eq(kb_child_look(worker[1])->errors.at, "last words\n");
}
END_TEST

START_TEST(a_killed_worker_is_eworker_and_cannot_be_asked)
{
    size_t which = 99;
    start(0, "exec cat");
    start(1, "exec cat");
    siginfo_t info;
    kill(kb_child_look(worker[1])->pid, SIGKILL);
    ck_assert_int_eq(waitid(P_PID, (id_t)kb_child_look(worker[1])->pid, &info,
                            WEXITED | WNOWAIT), 0);
    ck_assert_int_eq(wait_for(2, second, &which), KB_EWORKER);
    ck_assert_uint_eq(which, 1);
    errno = 0;
    ck_assert_int_eq(kb_child_send(worker[1], "a", 1), KB_ESYS);
    ck_assert_int_eq(errno, EPIPE);
    ask(0, "alive");
    expect_from(1, 0, "alive");
}
END_TEST

START_TEST(a_reply_before_a_death_is_not_lost)
{
    size_t which = 99;
    start(0, "printf '\\002\\0\\0\\0ok\\001\\0\\0\\0!'; exit 0");
    int ignored;
    waitpid(-1, &ignored, 0);       /* both are certainly in the pipe now */
    expect_from(1, 0, "ok");
    expect_from(1, 0, "!");
    ck_assert_int_eq(wait_for(1, second, &which), KB_EWORKER);
}
END_TEST

START_TEST(a_broken_stream_is_eworker)
{
    static const char *const command[] = {
        "printf '\\377\\377\\377\\377'; exec sleep 60",
        "printf '\\001\\0\\0'; exit 0",
        "printf '\\001\\0\\0\\0a\\377\\377\\377\\377'; exec sleep 60",
        "exec >&-; exec sleep 60",
    };
    size_t which = 99;
    start(0, command[_i]);
    if (_i == 2)
        expect_from(1, 0, "a");
    ck_assert_int_eq(wait_for(1, second, &which), KB_EWORKER);
    ck_assert_uint_eq(which, 0);
}
END_TEST

START_TEST(the_log_keeps_the_last_bytes)
{
    size_t which = 99;
    start(0, "i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i + 1)); "
             "done >&2; printf end >&2");
    ck_assert_int_eq(wait_for(1, 2 * second, &which), KB_EWORKER);
    const char *log = kb_child_look(worker[0])->errors.at;
    ck_assert_uint_eq(strlen(log), KB_CHILD_WORKER_ERRORS);
    ck_assert_str_eq(log + KB_CHILD_WORKER_ERRORS - 23, "line 2998\nline 2999\nend");
}
END_TEST

START_TEST(the_log_is_empty_before_a_word)
{
    start(0, "exec cat");
    ck_assert_str_eq(kb_child_look(worker[0])->errors.at, "");
}
END_TEST

START_TEST(a_flood_does_not_hold_up_the_deadline)
{
    static const char *const command[] = {
        "yes >&2; true", "cat /dev/zero >&2; true"
    };
    size_t which = 99;
    start(0, command[_i]);
    ck_assert_int_eq(wait_for(1, 100 * ms, &which), KB_ETIME);
}
END_TEST

START_TEST(a_flood_of_replies_is_read_one_at_a_time)
{
    /* /dev/zero is an endless stream of empty frames. */
    start(0, "exec cat /dev/zero");
    for (int i = 0; i < 50; i++)
        expect_from(1, 0, "");
}
END_TEST

START_TEST(a_signal_is_eintr)
{
    size_t which = 99;
    start(0, "sleep 0.1; kill -s USR1 $PPID; exec sleep 60");
    ck_assert_int_eq(wait_for(1, second, &which), KB_EINTR);
    ck_assert_uint_eq(which, 99);
}
END_TEST

static void ignore_signal(int sig)
{
    (void)sig;
}

static void note_signals(void)
{
    struct sigaction act = { .sa_handler = ignore_signal };
    begin();
    sigaction(SIGUSR1, &act, NULL);
}

static bool gone(pid_t pid)
{
    for (int i = 0; i < 500; i++) {
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

START_TEST(stop_takes_the_children_too)
{
    size_t which = 99;
    start(0, "sleep 60 & echo $! >&2; printf '\\0\\0\\0\\0'; wait");
    ck_assert_int_eq(wait_for(1, second, &which), KB_OK);
    pid_t pid = kb_child_look(worker[0])->pid;
    pid_t child = (pid_t)atoi(kb_child_look(worker[0])->errors.at);
    for (int i = 0; i < 100 && child == 0; i++) {
        kb_child_next(worker[0]);      /* the frame came before the line */
        ck_assert_int_eq(wait_for(1, 10 * ms, &which), KB_ETIME);
        child = (pid_t)atoi(kb_child_look(worker[0])->errors.at);
    }
    ck_assert_int_gt(child, 1);
    kb_child_free(worker[0]);
    worker[0] = NULL;
    ck_assert(gone(pid));
    ck_assert(gone(child));
}
END_TEST

START_TEST(quit_waits_for_an_idle_worker_to_end)
{
    char dir[] = "/tmp/kernelband-quit-XXXXXX", command[128];
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(command, sizeof command, "cat >/dev/null; rmdir %s", dir);
    start(0, command);
    kb_child_quit(worker[0], kb_clock_now_ns() + 600 * second);
    worker[0] = NULL;
    ck_assert_int_eq(access(dir, F_OK), -1);
}
END_TEST

START_TEST(quit_kills_one_that_does_not_end)
{
    start(0, "sleep 9");
    pid_t pid = kb_child_look(worker[0])->pid;
    kb_child_quit(worker[0], kb_clock_now_ns() + 50 * ms);
    worker[0] = NULL;
    ck_assert_int_eq(kill(pid, 0), -1);
    kb_child_quit(NULL, 0);
}
END_TEST

START_TEST(stop_accepts_null_and_the_dead)
{
    kb_child_free(NULL);
    start(0, "exit 0");
    usleep(20000);
}
END_TEST

static Suite *tests(void)
{
    Suite *s = suite_create("worker");
    TCase *t = tcase_create("worker");
    tcase_add_checked_fixture(t, begin, end);
    tcase_add_test(t, a_missing_program_is_esys);
    tcase_add_test(t, replies_come_back_in_order);
    tcase_add_test(t, silence_is_etime);
    tcase_add_test(t, nothing_to_watch_is_a_sleep);
    tcase_add_test(t, all_that_have_a_reply_are_named);
    tcase_add_test(t, the_worker_that_has_a_reply_is_named);
    tcase_add_test(t, a_large_reply_arrives_whole);
    tcase_add_test(t, a_death_is_eworker_with_its_index);
    tcase_add_test(t, a_killed_worker_is_eworker_and_cannot_be_asked);
    tcase_add_test(t, a_reply_before_a_death_is_not_lost);
    tcase_add_loop_test(t, a_broken_stream_is_eworker, 0, 4);
    tcase_add_test(t, the_log_keeps_the_last_bytes);
    tcase_add_test(t, the_log_is_empty_before_a_word);
    tcase_add_loop_test(t, a_flood_does_not_hold_up_the_deadline, 0, 2);
    tcase_add_test(t, a_flood_of_replies_is_read_one_at_a_time);
    tcase_add_test(t, stop_takes_the_children_too);
    tcase_add_test(t, quit_waits_for_an_idle_worker_to_end);
    tcase_add_test(t, quit_kills_one_that_does_not_end);
    tcase_add_test(t, stop_accepts_null_and_the_dead);
    suite_add_tcase(s, t);

    t = tcase_create("signals");
    tcase_add_checked_fixture(t, note_signals, end);
    tcase_add_test(t, a_signal_is_eintr);
    suite_add_tcase(s, t);
    return s;
}

TEST_MAIN(tests)
