/* This file tests core/system/process.c. It checks how child processes are
 * started, awaited and killed, and how the output of a child is collected. It
 * also tests the sleep function of core/clock.c and the removal of folders. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "system/process.h"
#include "../lib/check_main.h"

static const int64_t ms = 1000000, second = 1000000000;

static int64_t in(int64_t ns)
{
    return kb_clock_now_ns() + ns;
}

static struct kb_process_spec shell(const char *const *argv)
{
    return (struct kb_process_spec){ .argv = argv, .fd = { -1, -1, -1 },
                                     .fds = 3 };
}

static pid_t start(const struct kb_process_spec *spec)
{
    pid_t pid = 0;
    ck_assert_int_eq(kb_process_start(spec, &pid), KB_OK);
    ck_assert_int_gt(pid, 1);
    return pid;
}

/* Runs a shell command to its end and returns what it printed. */
static const char *output_of(const char *command, const char *const *env)
{
    static char text[4096];
    const char *const argv[] = { "/bin/sh", "-c", command, NULL };
    struct kb_process_spec spec = { .argv = argv, .env = env };
    size_t used = 0;
    int wstatus = -1;
    ck_assert_int_eq(kb_process_run(&spec, in(5 * second), text, sizeof text,
                                    &used, &wstatus), KB_OK);
    ck_assert_int_eq(wstatus, 0);
    ck_assert_uint_eq(used, strlen(text));
    return text;
}

/* Waits up to 2 s for a process to be gone; a zombie counts as gone. */
static bool ends(pid_t pid)
{
    for (int64_t limit = in(2 * second); kb_clock_now_ns() < limit;) {
        char path[64], text[256] = "";
        snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
        FILE *f = fopen(path, "r");
        if (!f)
            return true;
        size_t n = fread(text, 1, sizeof text - 1, f);
        fclose(f);
        const char *after = strrchr(text, ')');
        if (n == 0 || (after && after[2] == 'Z'))
            return true;
        usleep(1000);
    }
    return false;
}

START_TEST(a_sleep_lasts_at_least_as_long_as_asked)
{
    int64_t from = kb_clock_now_ns();
    ck_assert_int_eq(kb_clock_sleep_ns(2000000), KB_OK);
    ck_assert_int_ge(kb_clock_now_ns() - from, 2000000);
    ck_assert_int_eq(kb_clock_sleep_ns(0), KB_OK);
    ck_assert_int_eq(kb_clock_sleep_ns(-1), KB_OK);
}
END_TEST

START_TEST(a_failed_exec_is_esys_with_its_errno)
{
    static const struct { const char *path; int why; } bad[] = {
        { "/nonexistent/program", ENOENT }, { "/etc/passwd", EACCES },
        { "/tmp", EACCES }, { "relative-and-absent", ENOENT },
        { "/dev/null/x", ENOTDIR }, { "/dev/null", EACCES },
    };
    const char *const argv[] = { bad[_i].path, NULL };
    struct kb_process_spec spec = shell(argv);
    pid_t pid = 99;
    errno = 0;
    ck_assert_int_eq(kb_process_start(&spec, &pid), KB_ESYS);
    ck_assert_int_eq(errno, bad[_i].why);
    ck_assert_int_eq(pid, 99);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);   /* none is left */
}
END_TEST

START_TEST(a_bad_folder_is_esys_with_its_errno)
{
    const char *const argv[] = { "/bin/true", NULL };
    struct kb_process_spec spec = shell(argv);
    pid_t pid = 99;
    spec.dir = "/nonexistent";
    ck_assert_int_eq(kb_process_start(&spec, &pid), KB_ESYS);
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_int_eq(pid, 99);
}
END_TEST

START_TEST(a_bad_spec_is_einval)
{
    const char *const none[] = { NULL }, *const some[] = { "/bin/true", NULL };
    struct kb_process_spec spec = shell(none);
    pid_t pid = 99;
    ck_assert_int_eq(kb_process_start(&spec, &pid), KB_EINVAL);
    spec = shell(some);
    spec.fds = 2;
    ck_assert_int_eq(kb_process_start(&spec, &pid), KB_EINVAL);
    spec.fds = KB_PROCESS_FDS + 1;
    ck_assert_int_eq(kb_process_start(&spec, &pid), KB_EINVAL);
    ck_assert_int_eq(pid, 99);
}
END_TEST

/* A grandchild in a group of its own, whose number goes to stdout. */
static int have_child(void *arg)
{
    (void)arg;
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        execl("/bin/sleep", "sleep", "60", (char *)NULL);
        _exit(127);
    }
    setpgid(pid, pid);
    return pid > 0 && dprintf(1, "%d\n", (int)pid) > 0 ? 0 : errno;
}

static int refuse(void *arg)
{
    return *(int *)arg;
}

static int die(void *arg)
{
    (void)arg;
    raise(SIGKILL);
    return 0;
}

static int remember_group(void *arg)
{
    (void)arg;
    return getpgid(0) == getpid() && getsid(0) != getpid() ? 0 : EPROTO;
}

static int remember_session(void *arg)
{
    (void)arg;
    return getsid(0) == getpid() ? 0 : EPROTO;
}

START_TEST(an_enter_that_refuses_is_esys_with_its_errno)
{
    const char *const argv[] = { "/bin/true", NULL };
    struct kb_process_spec spec = shell(argv);
    int why = EDOM;
    pid_t pid = 99;
    spec.enter = refuse;
    spec.arg = &why;
    ck_assert_int_eq(kb_process_start(&spec, &pid), KB_ESYS);
    ck_assert_int_eq(errno, EDOM);
    ck_assert_int_eq(pid, 99);
}
END_TEST

START_TEST(a_child_that_dies_before_exec_has_not_started)
{
    const char *const argv[] = { "/bin/true", NULL };
    struct kb_process_spec spec = shell(argv);
    pid_t pid = 99;
    spec.enter = die;
    ck_assert_int_eq(kb_process_start(&spec, &pid), KB_ESYS);
    ck_assert_int_eq(errno, ECHILD);
    ck_assert_int_eq(pid, 99);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
}
END_TEST

START_TEST(a_child_has_its_own_group_and_a_session_if_asked)
{
    const char *const argv[] = { "/bin/true", NULL };
    struct kb_process_spec spec = shell(argv);
    int wstatus = -1;
    spec.enter = remember_group;
    ck_assert_int_eq(kb_process_wait(start(&spec), in(second), &wstatus),
                     KB_OK);
    spec.enter = remember_session;
    spec.session = true;
    ck_assert_int_eq(kb_process_wait(start(&spec), in(second), &wstatus),
                     KB_OK);
    ck_assert_int_eq(wstatus, 0);
}
END_TEST

START_TEST(a_child_has_exactly_the_listed_descriptors)
{
    static const char list[] =
        "i=0; while [ $i -lt 64 ]; do [ -e /proc/self/fd/$i ] && echo $i; "
        "i=$((i + 1)); done";
    char text[256] = "";
    int pipe_ends[2], extra[40];
    ck_assert_int_eq(pipe(pipe_ends), 0);       /* inheritable on purpose */
    for (size_t i = 0; i < 40; i++)
        extra[i] = open("/dev/null", O_RDONLY);
    const char *const argv[] = { "/bin/sh", "-c", list, NULL };
    struct kb_process_spec spec = {
        .argv = argv, .fds = 5, .fd = { -1, pipe_ends[1], -1, extra[30], -1 }
    };
    pid_t pid = start(&spec);
    int wstatus = -1;
    ck_assert_int_eq(kb_process_wait(pid, in(2 * second), &wstatus), KB_OK);
    ssize_t n = read(pipe_ends[0], text, sizeof text - 1);
    ck_assert_int_gt(n, 0);
    ck_assert_str_eq(text, "0\n1\n2\n3\n4\n");
    ck_assert_str_eq(output_of(list, NULL), "0\n1\n2\n");
}
END_TEST

START_TEST(descriptors_may_be_swapped_and_repeated)
{
    /* The numbers wanted are themselves among the sources, crosswise. */
    int a[2], b[2];
    char got[8] = "";
    ck_assert_int_eq(pipe(a), 0);
    ck_assert_int_eq(pipe(b), 0);
    ck_assert_int_eq(dup2(a[1], 4), 4);
    ck_assert_int_eq(dup2(b[1], 3), 3);
    const char *const argv[] = {
        "/bin/sh", "-c", "echo a >&3; echo b >&4; echo a >&5", NULL
    };
    struct kb_process_spec spec = { .argv = argv, .fds = 6,
                                    .fd = { -1, -1, -1, 4, 3, 4 } };
    int wstatus = -1;
    pid_t pid = start(&spec);
    ck_assert_int_eq(kb_process_wait(pid, in(2 * second), &wstatus), KB_OK);
    if (a[0] == 3 || a[0] == 4)         /* dup2 above replaced our end */
        return;
    ck_assert_int_eq(read(a[0], got, 4), 4);
    ck_assert_str_eq(got, "a\na\n");
    memset(got, 0, sizeof got);
    ck_assert_int_eq(read(b[0], got, 4), 2);
    ck_assert_str_eq(got, "b\n");
}
END_TEST

START_TEST(a_child_has_exactly_the_listed_environment)
{
    const char *const env[] = { "ONE=1", "TWO=two words", NULL };
    setenv("KB_SECRET", "leaks", 1);
    ck_assert_str_eq(output_of("tr '\\0' '\\n' </proc/self/environ", env),
                     "ONE=1\nTWO=two words\n");
    ck_assert_str_eq(output_of("tr '\\0' '\\n' </proc/self/environ", NULL),
                     "");
}
END_TEST

START_TEST(a_child_has_default_signals)
{
    sigset_t all;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    const char *text = output_of("grep -E 'Sig(Blk|Ign)' /proc/self/status",
                                 NULL);
    ck_assert_str_eq(text, "SigBlk:\t0000000000000000\n"
                           "SigIgn:\t0000000000000000\n");
}
END_TEST

START_TEST(a_deadline_leaves_the_child_alone)
{
    const char *const argv[] = { "/bin/sleep", "60", NULL };
    struct kb_process_spec spec = shell(argv);
    pid_t pid = start(&spec);
    int wstatus = 12345;
    int64_t begin = kb_clock_now_ns();
    ck_assert_int_eq(kb_process_wait(pid, in(20 * ms), &wstatus), KB_ETIME);
    ck_assert_int_ge(kb_clock_now_ns() - begin, 20 * ms);
    ck_assert_int_eq(wstatus, 12345);
    ck_assert_int_eq(kill(pid, 0), 0);
    ck_assert_int_eq(waitpid(pid, NULL, WNOHANG), 0);
    ck_assert_int_eq(kb_process_wait(pid, 0, &wstatus), KB_ETIME);
    wstatus = kb_process_kill(pid, false);
    ck_assert(WIFSIGNALED(wstatus) && WTERMSIG(wstatus) == SIGKILL);
}
END_TEST

START_TEST(a_child_that_ended_is_reaped_even_after_the_deadline)
{
    const char *const argv[] = { "/bin/sh", "-c", "exit 7", NULL };
    struct kb_process_spec spec = shell(argv);
    pid_t pid = start(&spec);
    int wstatus = 0;
    ck_assert(ends(pid));
    ck_assert_int_eq(kb_process_wait(pid, 0, &wstatus), KB_OK);
    ck_assert(WIFEXITED(wstatus) && WEXITSTATUS(wstatus) == 7);
    errno = 0;
    ck_assert_int_eq(kb_process_wait(pid, 0, &wstatus), KB_ESYS);
    ck_assert_int_eq(errno, ESRCH);
}
END_TEST

/* Reads a line with the number of a process from the child's output. */
static pid_t told(int fd)
{
    char text[32] = "";
    size_t n = 0;
    while (n < sizeof text - 1 && read(fd, text + n, 1) == 1
           && text[n] != '\n')
        n++;
    return (pid_t)atoi(text);
}

static pid_t start_family(const char *command, bool session,
                          int (*enter)(void *), int *out)
{
    int pipe_ends[2];
    const char *const argv[] = { "/bin/sh", "-c", command, NULL };
    ck_assert_int_eq(pipe2(pipe_ends, O_CLOEXEC), 0);
    struct kb_process_spec spec = {
        .argv = argv, .fds = 3, .fd = { -1, pipe_ends[1], -1 }, .session = session,
        .enter = enter
    };
    pid_t pid = start(&spec);
    close(pipe_ends[1]);
    *out = pipe_ends[0];
    return pid;
}

START_TEST(kill_reaches_the_group)
{
    int out;
    pid_t pid = start_family("/bin/sleep 60 & echo $!; wait", false,
                             NULL, &out);
    pid_t grandchild = told(out);
    ck_assert_int_gt(grandchild, 1);
    kb_process_kill(pid, false);
    ck_assert(ends(grandchild));
}
END_TEST

START_TEST(kill_reaches_other_groups_of_the_session)
{
    int out;
    pid_t pid = start_family("/bin/sleep 60", true, have_child, &out);
    pid_t grandchild = told(out);
    ck_assert_int_gt(grandchild, 1);
    ck_assert_int_ne(getpgid(grandchild), pid);
    ck_assert_int_eq(getsid(grandchild), pid);
    kb_process_kill(pid, true);
    ck_assert(ends(grandchild));
}
END_TEST

START_TEST(kill_reaches_orphans_after_the_leader_has_died)
{
    int out;
    pid_t pid = start_family("exit 0", true, have_child, &out);
    pid_t grandchild = told(out);
    ck_assert_int_gt(grandchild, 1);
    ck_assert(ends(pid));
    int wstatus = kb_process_kill(pid, true);
    ck_assert(WIFEXITED(wstatus));
    ck_assert(ends(grandchild));
}
END_TEST

START_TEST(run_keeps_the_front_and_drops_megabytes)
{
    char text[11];
    const char *const argv[] = {
        "/bin/sh", "-c", "printf 0123456789abc; head -c 8000000 /dev/zero; "
        "echo late >&2; exit 3", NULL
    };
    struct kb_process_spec spec = { .argv = argv };
    const char *const path[] = { "PATH=/usr/bin:/bin", NULL };
    spec.env = path;
    size_t used = 99;
    int wstatus = -1;
    ck_assert_int_eq(kb_process_run(&spec, in(5 * second), text, sizeof text,
                                    &used, &wstatus), KB_OK);
    ck_assert_uint_eq(used, 10);
    ck_assert_str_eq(text, "0123456789");
    ck_assert(WIFEXITED(wstatus) && WEXITSTATUS(wstatus) == 3);
}
END_TEST

START_TEST(run_reads_both_streams_in_order)
{
    ck_assert_str_eq(output_of("echo 1; echo 2 >&2; echo 3", NULL),
                     "1\n2\n3\n");
}
END_TEST

START_TEST(run_kills_at_the_deadline)
{
    static const char *const command[] = {
        "echo begun; exec sleep 60", "echo begun; sleep 60; true",
        "echo begun; exec >&- 2>&-; sleep 60", "echo begun; yes >&2"
    };
    char text[32];
    const char *const argv[] = { "/bin/sh", "-c", command[_i], NULL };
    const char *const path[] = { "PATH=/usr/bin:/bin", NULL };
    struct kb_process_spec spec = { .argv = argv, .env = path };
    size_t used = 0;
    int wstatus = 0;
    ck_assert_int_eq(kb_process_run(&spec, in(100 * ms), text, sizeof text,
                                    &used, &wstatus), KB_ETIME);
    ck_assert(WIFSIGNALED(wstatus) && WTERMSIG(wstatus) == SIGKILL);
    ck_assert_int_eq(strncmp(text, "begun\n", 6), 0);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
}
END_TEST

START_TEST(run_takes_what_a_finished_child_left_behind)
{
    char text[64];
    const char *const argv[] = {
        "/bin/sh", "-c", "/bin/sleep 60 >/dev/null 2>&1 & echo $!", NULL
    };
    struct kb_process_spec spec = { .argv = argv };
    size_t used = 0;
    int wstatus = -1;
    ck_assert_int_eq(kb_process_run(&spec, in(5 * second), text, sizeof text,
                                    &used, &wstatus), KB_OK);
    ck_assert_int_gt(atoi(text), 1);
    ck_assert(ends((pid_t)atoi(text)));
}
END_TEST

START_TEST(a_child_dies_with_its_parent)
{
    int pipe_ends[2];
    ck_assert_int_eq(pipe(pipe_ends), 0);
    pid_t middle = fork();
    if (middle == 0) {
        const char *const argv[] = { "/bin/sleep", "60", NULL };
        struct kb_process_spec spec = shell(argv);
        pid_t pid = 0;
        kb_status st = kb_process_start(&spec, &pid);
        ssize_t n = write(pipe_ends[1], &pid, sizeof pid);
        _exit(st || n != sizeof pid);
    }
    pid_t pid = 0;
    ck_assert_int_eq(read(pipe_ends[0], &pid, sizeof pid), sizeof pid);
    waitpid(middle, NULL, 0);
    ck_assert_int_gt(pid, 1);
    ck_assert(ends(pid));
}
END_TEST

START_TEST(clear_removes_files_and_follows_nothing)
{
    char dir[] = "/tmp/kb-clear-XXXXXX", path[64];
    char kept[] = "/tmp/kb-kept-XXXXXX", aside[] = "/tmp/kb-aside-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert_ptr_nonnull(mkdtemp(aside));
    snprintf(path, sizeof path, "%s/file", aside);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    int fd = mkstemp(kept);
    ck_assert_int_ge(fd, 0);
    snprintf(path, sizeof path, "%s/link", dir);
    ck_assert_int_eq(symlink(kept, path), 0);
    snprintf(path, sizeof path, "%s/file", dir);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    snprintf(path, sizeof path, "%s/folder", dir);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/folder/file", dir);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    snprintf(path, sizeof path, "%s/away", dir);
    ck_assert_int_eq(symlink(aside, path), 0);
    kb_process_clear(dir);
    snprintf(path, sizeof path, "%s/file", aside);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(rmdir(aside), 0);
    ck_assert_int_eq(access(dir, F_OK), -1);
    ck_assert_int_eq(access(kept, F_OK), 0);
    kb_process_clear(dir);                  /* gone already: nothing */
    unlink(kept);
}
END_TEST

static Suite *tests(void)
{
    Suite *s = suite_create("process");
    TCase *t = tcase_create("start");
    tcase_add_loop_test(t, a_failed_exec_is_esys_with_its_errno, 0, 6);
    tcase_add_test(t, a_sleep_lasts_at_least_as_long_as_asked);
    tcase_add_test(t, a_bad_folder_is_esys_with_its_errno);
    tcase_add_test(t, a_bad_spec_is_einval);
    tcase_add_test(t, an_enter_that_refuses_is_esys_with_its_errno);
    tcase_add_test(t, a_child_that_dies_before_exec_has_not_started);
    tcase_add_test(t, a_child_has_its_own_group_and_a_session_if_asked);
    tcase_add_test(t, a_child_has_exactly_the_listed_descriptors);
    tcase_add_test(t, descriptors_may_be_swapped_and_repeated);
    tcase_add_test(t, a_child_has_exactly_the_listed_environment);
    tcase_add_test(t, a_child_has_default_signals);
    suite_add_tcase(s, t);

    t = tcase_create("end");
    tcase_add_test(t, a_deadline_leaves_the_child_alone);
    tcase_add_test(t, a_child_that_ended_is_reaped_even_after_the_deadline);
    tcase_add_test(t, kill_reaches_the_group);
    tcase_add_test(t, kill_reaches_other_groups_of_the_session);
    tcase_add_test(t, kill_reaches_orphans_after_the_leader_has_died);
    tcase_add_test(t, a_child_dies_with_its_parent);
    suite_add_tcase(s, t);

    t = tcase_create("run");
    tcase_add_test(t, run_keeps_the_front_and_drops_megabytes);
    tcase_add_test(t, run_reads_both_streams_in_order);
    tcase_add_loop_test(t, run_kills_at_the_deadline, 0, 4);
    tcase_add_test(t, run_takes_what_a_finished_child_left_behind);
    tcase_add_test(t, clear_removes_files_and_follows_nothing);
    suite_add_tcase(s, t);
    return s;
}

TEST_MAIN(tests)
