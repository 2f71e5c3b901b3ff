/* This file tests core/system/jail.c. It checks which files, system calls and
 * resources a jailed process can use, and what happens when it uses others. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "system/jail.h"
#include "../lib/check_main.h"

/* Every step runs in a forked child, which gives up its rights for good. It
 * returns 0 when all is as promised, else a line number. */
#define EXPECT(x) do { if (!(x)) return __LINE__; } while (0)

static char dir[32], inside[64], outside[64];

static void make_folder(void)
{
    strcpy(dir, "/tmp/kb-jail-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert_int_eq(chmod(dir, 0777), 0);
    snprintf(inside, sizeof inside, "%s/in", dir);
    snprintf(outside, sizeof outside, "%s-out", dir);
    ck_assert_int_eq(mkdir(inside, 0777), 0);
    ck_assert_int_eq(chmod(inside, 0777), 0);
    char file[96];
    snprintf(file, sizeof file, "%s/file", inside);
    int fd = open(file, O_CREAT | O_WRONLY, 0666);
    ck_assert_int_eq(write(fd, "inside", 6), 6);
    close(fd);
    chmod(file, 0666);
    fd = open(outside, O_CREAT | O_WRONLY, 0666);
    ck_assert_int_eq(write(fd, "secret", 6), 6);
    close(fd);
    chmod(outside, 0666);
    snprintf(file, sizeof file, "%s/link", inside);
    ck_assert_int_eq(symlink(outside, file), 0);
}

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s %s-out", dir, dir);
    ck_assert_int_eq(system(command), 0);
}

static int wstatus_of(int (*step)(void))
{
    int wstatus = -1;
    pid_t pid = fork();
    if (pid == 0) {
        int line = step();
        if (line)
            dprintf(2, "check_jail.c:%d: not so (errno %s)\n", line,
                    strerrorname_np(errno));
        syscall(SYS_exit_group, line ? 1 : 0);
    }
    ck_assert_int_eq(waitpid(pid, &wstatus, 0), pid);
    return wstatus;
}

static void holds(int (*step)(void))
{
    ck_assert_int_eq(wstatus_of(step), 0);
}

static bool skipped(bool reason, const char *what)
{
    if (reason)
        fprintf(stderr, "check_jail: skipped: %s\n", what);
    return reason;
}

static bool no_landlock(int abi)
{
    char text[80];
    snprintf(text, sizeof text, "Landlock ABI %d, this test needs %d",
             kb_jail_landlock_abi(), abi);
    return skipped(kb_jail_landlock_abi() < abi, text);
}

static int opened(const char *path, int flags)
{
    errno = 0;
    int fd = open(path, flags, 0600);
    if (fd >= 0)
        close(fd);
    return fd >= 0 ? 0 : errno;
}

/* Files ----------------------------------------------------------------- */

static int only_listed_files_open(void)
{
    const char *const read[] = { inside, "/nonexistent/skipped", NULL };
    char back[96];
    int before = open(outside, O_RDONLY), folder = open("/", O_PATH);
    snprintf(back, sizeof back, "../../%s", outside + 5);
    EXPECT(chdir(inside) == 0);
    EXPECT(kb_jail_files(read, NULL) == KB_OK);
    EXPECT(opened("file", O_RDONLY) == 0);
    EXPECT(opened("/etc/passwd", O_RDONLY) == EACCES);
    EXPECT(opened(outside, O_RDONLY) == EACCES);
    EXPECT(opened(back, O_RDONLY) == EACCES);
    EXPECT(opened("link", O_RDONLY) == EACCES);
    EXPECT(opened("/proc/self/environ", O_RDONLY) == EACCES);
    EXPECT(opened("/proc/self/mem", O_RDWR) == EACCES);
    EXPECT(opened("..", O_RDONLY | O_DIRECTORY) == EACCES);
    EXPECT(openat(folder, "etc/passwd", O_RDONLY) < 0 && errno == EACCES);
    /* A descriptor from before still reads, but cannot be opened anew. */
    char path[64], byte;
    snprintf(path, sizeof path, "/proc/self/fd/%d", before);
    EXPECT(opened(path, O_RDONLY) == EACCES);
    EXPECT(pread(before, &byte, 1, 0) == 1);
    return 0;
}

static int read_does_not_mean_write(void)
{
    const char *const read[] = { inside, NULL };
    char path[96];
    snprintf(path, sizeof path, "%s/file", inside);
    EXPECT(kb_jail_files(read, NULL) == KB_OK);
    EXPECT(opened(path, O_RDONLY) == 0);
    EXPECT(opened(path, O_WRONLY) == EACCES);
    EXPECT(opened(path, O_RDWR) == EACCES);
    EXPECT(opened(path, O_WRONLY | O_TRUNC) == EACCES);
    EXPECT(unlink(path) < 0 && errno == EACCES);
    EXPECT(rename(path, outside) < 0);
    EXPECT(link(path, "/tmp/kb-jail-linked") < 0);
    snprintf(path, sizeof path, "%s/new", inside);
    EXPECT(opened(path, O_CREAT | O_WRONLY) == EACCES);
    EXPECT(mkdir(path, 0700) < 0 && errno == EACCES);
    EXPECT(symlink(outside, path) < 0 && errno == EACCES);
    return 0;
}

static int truncation_is_writing(void)
{
    const char *const read[] = { inside, NULL };
    char path[96];
    snprintf(path, sizeof path, "%s/file", inside);
    EXPECT(kb_jail_files(read, NULL) == KB_OK);
    EXPECT(truncate(path, 0) < 0 && errno == EACCES);
    EXPECT(truncate(outside, 0) < 0 && errno == EACCES);
    EXPECT(opened(path, O_RDONLY | O_TRUNC) == EACCES);
    return 0;
}

static int a_listed_folder_is_written(void)
{
    const char *const write_[] = { inside, NULL };
    char path[96];
    snprintf(path, sizeof path, "%s/file", inside);
    EXPECT(kb_jail_files(NULL, write_) == KB_OK);
    EXPECT(opened(path, O_RDWR | O_TRUNC) == 0);
    EXPECT(unlink(path) == 0);
    EXPECT(opened(path, O_CREAT | O_WRONLY | O_TRUNC) == 0);
    EXPECT(opened(outside, O_WRONLY) == EACCES);
    /* No links out of it, no devices in it. */
    EXPECT(symlink(outside, "l") < 0);
    EXPECT(mknod(path, S_IFIFO | 0600, 0) < 0);
    return 0;
}

static int a_listed_plain_file_is_written(void)
{
    const char *const write_[] = { outside, "/dev/null", NULL };
    EXPECT(kb_jail_files(NULL, write_) == KB_OK);
    EXPECT(opened(outside, O_RDWR) == 0);
    EXPECT(opened(outside, O_WRONLY | O_TRUNC) == 0);
    EXPECT(opened("/dev/null", O_WRONLY | O_TRUNC) == 0);
    EXPECT(opened("/dev/zero", O_RDONLY) == EACCES);
    return 0;
}

static int jails_nest(void)
{
    const char *const first[] = { inside, NULL };
    const char *const second[] = { "/", NULL };
    EXPECT(kb_jail_files(first, NULL) == KB_OK);
    EXPECT(kb_jail_files(second, second) == KB_OK || errno == EACCES);
    EXPECT(opened("/etc/passwd", O_RDONLY) == EACCES);
    return 0;
}

static int nothing_listed_is_nothing_open(void)
{
    EXPECT(kb_jail_files(NULL, NULL) == KB_OK);
    EXPECT(opened("/", O_RDONLY) == EACCES);
    EXPECT(opened("/dev/null", O_RDONLY) == EACCES);
    EXPECT(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
    return 0;
}

static int tcp_is_closed(void)
{
    struct sockaddr_in at = { .sin_family = AF_INET };
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT(kb_jail_files(NULL, NULL) == KB_OK);
    int s = socket(AF_INET, SOCK_STREAM, 0);
    EXPECT(s >= 0);
    EXPECT(bind(s, (struct sockaddr *)&at, sizeof at) < 0 && errno == EACCES);
    at.sin_port = htons(9);
    EXPECT(connect(s, (struct sockaddr *)&at, sizeof at) < 0
           && errno == EACCES);
    return 0;
}

static int signals_stay_inside(void)
{
    EXPECT(kb_jail_files(NULL, NULL) == KB_OK);
    EXPECT(kill(getppid(), 0) < 0 && errno == EPERM);
    EXPECT(kill(getpid(), 0) == 0);
    return 0;
}

START_TEST(files)
{
    static const struct { int abi; int (*step)(void); } all[] = {
        { 1, only_listed_files_open }, { 1, read_does_not_mean_write },
        { 3, truncation_is_writing }, { 1, a_listed_folder_is_written },
        { 1, a_listed_plain_file_is_written }, { 1, jails_nest },
        { 1, nothing_listed_is_nothing_open }, { 4, tcp_is_closed },
        { 6, signals_stay_inside },
    };
    if (!no_landlock(all[_i].abi))
        holds(all[_i].step);
}
END_TEST

START_TEST(no_landlock_is_enodev)
{
    if (kb_jail_landlock_abi() == 0)
        ck_assert_int_eq(kb_jail_files(NULL, NULL), KB_ENODEV);
    else
        ck_assert_int_ge(kb_jail_landlock_abi(), 1);
}
END_TEST

/* User and limits ------------------------------------------------------- */

static bool status_has(const char *line)
{
    char text[8192];
    FILE *f = fopen("/proc/self/status", "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = '\0';
    return strstr(text, line) != NULL;
}

static int nobody_for_good(void)
{
    uid_t r, e, s;
    EXPECT(kb_jail_user() == KB_OK);
    EXPECT(getresuid(&r, &e, &s) == 0 && r == KB_JAIL_NOBODY
           && e == KB_JAIL_NOBODY && s == KB_JAIL_NOBODY);
    EXPECT(getresgid(&r, &e, &s) == 0 && r == KB_JAIL_NOBODY
           && e == KB_JAIL_NOBODY && s == KB_JAIL_NOBODY);
    EXPECT(getgroups(0, NULL) == 0);
    EXPECT(setuid(0) < 0 && setresuid(0, 0, 0) < 0 && setgid(0) < 0);
    EXPECT(setgroups(0, NULL) < 0);
    EXPECT(status_has("CapInh:\t0000000000000000\n"));
    EXPECT(status_has("CapPrm:\t0000000000000000\n"));
    EXPECT(status_has("CapEff:\t0000000000000000\n"));
    EXPECT(status_has("CapBnd:\t0000000000000000\n"));
    EXPECT(status_has("CapAmb:\t0000000000000000\n"));
    int sig = 0;
    EXPECT(prctl(PR_GET_PDEATHSIG, &sig) == 0 && sig == SIGKILL);
    EXPECT(opened("/etc/shadow", O_RDONLY) != 0);
    return 0;
}

static int a_user_stays_that_user(void)
{
    EXPECT(setresgid(1234, 1234, 1234) == 0);
    EXPECT(setresuid(1234, 1234, 1234) == 0);
    EXPECT(kb_jail_user() == KB_OK);
    EXPECT(getuid() == 1234 && getgid() == 1234);
    return 0;
}

START_TEST(user)
{
    if (skipped(geteuid() != 0, "not root: nothing to give up"))
        return;
    holds(_i ? a_user_stays_that_user : nobody_for_good);
}
END_TEST

static int memory_is_limited(void)
{
    struct kb_jail_limits l = { .memory_bytes = (uint64_t)1 << 30 };
    EXPECT(kb_jail_limit(&l) == KB_OK);
    void *p = mmap(NULL, (size_t)2 << 30, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(p == MAP_FAILED && errno == ENOMEM);
    EXPECT(mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
           != MAP_FAILED);
    return 0;
}

static int a_limit_may_leave_out_what_is_mapped(void)
{
    const size_t gib = (size_t)1 << 30;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    uint64_t before = kb_jail_mapped_bytes();
    EXPECT(before > 0);
    EXPECT(mmap(NULL, 3 * gib, PROT_NONE, flags, -1, 0) != MAP_FAILED);
    EXPECT(kb_jail_mapped_bytes() >= before + 3 * gib);
    struct kb_jail_limits l = { .memory_bytes = kb_jail_mapped_bytes() + gib };
    EXPECT(kb_jail_limit(&l) == KB_OK);
    EXPECT(mmap(NULL, gib / 2, PROT_NONE, flags, -1, 0) != MAP_FAILED);
    EXPECT(mmap(NULL, gib, PROT_NONE, flags, -1, 0) == MAP_FAILED);
    return 0;
}

static int files_are_limited_exactly(void)
{
    struct kb_jail_limits l = { .file_bytes = 100 };
    char text[200] = "";
    signal(SIGXFSZ, SIG_IGN);
    int fd = open(outside, O_RDWR | O_TRUNC);
    EXPECT(kb_jail_limit(&l) == KB_OK);
    EXPECT(write(fd, text, 200) == 100);
    EXPECT(write(fd, text, 1) < 0 && errno == EFBIG);
    return 0;
}

static int no_file_bytes_is_none(void)
{
    struct kb_jail_limits l = { 0 };
    signal(SIGXFSZ, SIG_IGN);
    int fd = open(outside, O_RDWR | O_TRUNC);
    EXPECT(kb_jail_limit(&l) == KB_OK);
    EXPECT(write(fd, "x", 1) < 0 && errno == EFBIG);
    return 0;
}

static int open_files_are_limited(void)
{
    struct kb_jail_limits l = { .open_files = 8 };
    EXPECT(kb_jail_limit(&l) == KB_OK);
    for (int i = 0; i < 8; i++)
        if (open("/dev/null", O_RDONLY) < 0)
            return errno == EMFILE ? 0 : __LINE__;
    return __LINE__;
}

static int limits_cannot_be_raised(void)
{
    struct kb_jail_limits low = { .open_files = 8, .cpu_s = 1 };
    struct kb_jail_limits high = { .open_files = 64, .cpu_s = 100 };
    EXPECT(kb_jail_limit(&low) == KB_OK);
    EXPECT(kb_jail_limit(&high) == KB_OK);      /* stays at the lower */
    for (int i = 0; i < 8; i++)
        if (open("/dev/null", O_RDONLY) < 0)
            return errno == EMFILE ? 0 : __LINE__;
    return __LINE__;
}

START_TEST(limits)
{
    static int (*const all[])(void) = {
        memory_is_limited, a_limit_may_leave_out_what_is_mapped,
        files_are_limited_exactly, no_file_bytes_is_none,
        open_files_are_limited, limits_cannot_be_raised,
    };
    if (_i > 1 || !KB_SANITIZED)        /* the sanitizer needs all addresses */
        holds(all[_i]);
}
END_TEST

static int spin(void)
{
    struct kb_jail_limits l = { .cpu_s = 1 };
    EXPECT(kb_jail_limit(&l) == KB_OK);
    for (volatile int go = 1; go; )
        ;
    return __LINE__;
}

START_TEST(processor_time_is_limited)
{
    int wstatus = wstatus_of(spin);
    ck_assert(WIFSIGNALED(wstatus));
    ck_assert(WTERMSIG(wstatus) == SIGKILL || WTERMSIG(wstatus) == SIGXCPU);
}
END_TEST

/* System calls ---------------------------------------------------------- */

static int build_refuses(void)
{
    EXPECT(kb_jail_calls(KB_JAIL_BUILD) == KB_OK);
    EXPECT(socket(AF_INET, SOCK_STREAM, 0) < 0 && errno == EPERM);
    EXPECT(socket(AF_UNIX, SOCK_STREAM, 0) < 0 && errno == EPERM);
    EXPECT(ptrace(PTRACE_TRACEME, 0, 0, 0) < 0 && errno == EPERM);
    EXPECT(unshare(CLONE_NEWUSER) < 0 && errno == EPERM);
    EXPECT(memfd_create("x", 0) < 0 && errno == EPERM);
    EXPECT(opened("/dev/null", O_RDONLY) == 0);
    pid_t pid = fork();
    if (pid == 0)
        syscall(SYS_exit_group, 0);
    int wstatus = -1;
    EXPECT(pid > 0 && waitpid(pid, &wstatus, 0) == pid && wstatus == 0);
    return 0;
}

static int run_allows_computing(void)
{
    pid_t self = getpid();
    EXPECT(kb_jail_calls(KB_JAIL_LOAD) == KB_OK);
    EXPECT(opened("/dev/null", O_RDONLY) == 0);
    EXPECT(kb_jail_calls(KB_JAIL_RUN) == KB_OK);
    char *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(p != MAP_FAILED);
    p[5] = 1;
    EXPECT(mprotect(p, 4096, PROT_READ) == 0);
    EXPECT(munmap(p, 1 << 20) == 0);
    char *small = malloc(100), *large = malloc(8 << 20);
    EXPECT(small && large);
    large = realloc(large, 16 << 20);
    EXPECT(large);
    free(large);
    free(small);
    struct timespec t;
    EXPECT(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
    EXPECT(sched_yield() == 0);
    EXPECT(getpid() == self);
    EXPECT(syscall(SYS_tgkill, self, self, 0) == 0);
    return 0;
}

/* Everything that is ours lies above the pages at `low`. */
static char *low;

static int (*run_one)(void);

static int probe_futex(void)
{
    return (int)syscall(SYS_futex, low, FUTEX_WAKE, 1, NULL, NULL, 0);
}
static int probe_random(void) { return (int)syscall(SYS_getrandom, low, 1, 0); }
static int probe_clock(void) { return (int)syscall(SYS_clock_gettime, 1, low); }
static int probe_mask(void)
{
    return (int)syscall(SYS_rt_sigprocmask, 0, low, NULL, 8);
}
static int probe_old_mask(void)
{
    return (int)syscall(SYS_rt_sigprocmask, 0, NULL, low, 8);
}
static int remap(void)
{
    return mremap(low, 0, 8192, MREMAP_MAYMOVE) == MAP_FAILED;
}
static int remap_onto(void)
{
    char *own = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return mremap(own, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, low)
        == MAP_FAILED;
}
static int unmap(void) { return munmap(low, 4096); }
static int map_onto(void)
{
    return mmap(low, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                -1, 0) == MAP_FAILED;
}

static int (*const on_low[])(void) = {
    probe_futex, probe_random, probe_clock, probe_mask,
    probe_old_mask, remap, remap_onto, unmap, map_onto
};
enum { ON_LOW = sizeof on_low / sizeof *on_low };

/* With ASan below its shadow. */
static const uintptr_t lowest = KB_SANITIZED ? 0x10000000u : 0x200000000000u;

static void reserve_low(void)
{
    low = mmap((void *)lowest, 16384, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
               -1, 0);
}

static int touch_low(void)
{
    reserve_low();
    EXPECT(low == (char *)lowest);
    EXPECT(kb_jail_calls(KB_JAIL_LOAD) == KB_OK);
    EXPECT(kb_jail_run(low + 16384) == KB_OK);
    (void)run_one();
    return 1;
}

START_TEST(no_call_names_what_is_mapped_below)
{
    run_one = on_low[_i];
    int wstatus = wstatus_of(touch_low);
    ck_assert_msg(WIFSIGNALED(wstatus) && WTERMSIG(wstatus) == SIGSYS,
                  "status %x", (unsigned)wstatus);
}
END_TEST

static int protect_low(void)
{
    reserve_low();
    EXPECT(kb_jail_calls(KB_JAIL_LOAD) == KB_OK);
    EXPECT(kb_jail_run(low + 16384) == KB_OK);
    EXPECT(mprotect(low, 4096, PROT_READ) < 0 && errno == EACCES);
    EXPECT(madvise(low, 4096, MADV_NORMAL) < 0 && errno == EACCES);
    char *own = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(own != MAP_FAILED && mprotect(own, 4096, PROT_READ) == 0);
    char *large = malloc(8 << 20);
    EXPECT(large && (large = realloc(large, 32 << 20)));
    free(large);
    struct timespec t;
    EXPECT(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t) == 0);
    sigset_t none;
    sigemptyset(&none);
    EXPECT(sigprocmask(SIG_SETMASK, &none, NULL) == 0);
    return 0;
}

START_TEST(what_is_mapped_below_stays_protected_and_all_else_works)
{
    holds(protect_low);
}
END_TEST

START_TEST(calls_that_stay)
{
    holds(_i ? run_allows_computing : build_refuses);
}
END_TEST

static volatile sig_atomic_t caught = -1;

static void on_sys(int sig, siginfo_t *info, void *context)
{
    (void)sig;
    (void)context;
    caught = info->si_syscall;
    syscall(SYS_exit_group, 77);
}

static void do_openat(void)
{
    syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY);
}
static void do_write(void) { syscall(SYS_write, 2, "", 0); }
static void do_read(void) { syscall(SYS_read, 0, "", 0); }
static void do_socket(void) { syscall(SYS_socket, AF_INET, SOCK_STREAM, 0); }
static void do_clone(void) { syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }
static void do_clone3(void) { syscall(SYS_clone3, NULL, 0); }
static void do_execve(void) { syscall(SYS_execve, "/bin/true", NULL, NULL); }
static void do_ptrace(void) { syscall(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0); }
static void do_kill(void) { syscall(SYS_kill, getpid(), 0); }
static void do_tgkill(void) { syscall(SYS_tgkill, 1, 1, 0); }
static void do_tkill(void) { syscall(SYS_tkill, getpid(), 0); }
static void do_sigaction(void)
{
    syscall(SYS_rt_sigaction, SIGSEGV, NULL, NULL, 8);
}
static void do_prctl(void) { syscall(SYS_prctl, PR_SET_DUMPABLE, 0); }
static void do_copy(void)
{
    syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
}
static void do_seccomp(void) { syscall(SYS_seccomp, 0, 0, NULL); }
static void do_affinity(void)
{
    syscall(SYS_sched_setaffinity, 0, 0, NULL);
}
static void do_sleep(void)
{
    syscall(SYS_clock_nanosleep, 0, 0, NULL, NULL);
}
static void do_uring(void) { syscall(SYS_io_uring_setup, 1, NULL); }
static void do_pidfd(void) { syscall(SYS_pidfd_open, 1, 0); }
static void do_memfd(void) { syscall(SYS_memfd_create, "", 0); }
static void do_map_exec(void)
{
    syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_EXEC,
            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
static void do_map_file(void)
{
    syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_PRIVATE, 0, 0);
}
static void do_protect_exec(void)
{
    static char page[8192];
    syscall(SYS_mprotect, (size_t)page / 4096 * 4096 + 4096, 4096,
            PROT_READ | PROT_EXEC);
}
static void do_pkey(void)
{
    syscall(SYS_pkey_mprotect, NULL, 4096, PROT_EXEC, -1);
}

static const struct { int number; void (*call)(void); bool load; } trapped[] = {
    { SYS_write, do_write, true }, { SYS_socket, do_socket, true },
    { SYS_clone, do_clone, true }, { SYS_clone3, do_clone3, true },
    { SYS_execve, do_execve, true }, { SYS_ptrace, do_ptrace, true },
    { SYS_kill, do_kill, true }, { SYS_tgkill, do_tgkill, false },
    { SYS_tkill, do_tkill, true }, { SYS_rt_sigaction, do_sigaction, true },
    { SYS_prctl, do_prctl, true }, { SYS_io_uring_setup, do_uring, true },
    { SYS_sched_setaffinity, do_affinity, true },
    { SYS_clock_nanosleep, do_sleep, true }, { SYS_pidfd_open, do_pidfd, true },
    { SYS_memfd_create, do_memfd, true },
    { SYS_pkey_mprotect, do_pkey, true },
    { SYS_clone, do_copy, false }, { SYS_openat, do_openat, false }, { SYS_read, do_read, false },
    { SYS_seccomp, do_seccomp, false }, { SYS_mmap, do_map_exec, false },
    { SYS_mmap, do_map_file, false }, { SYS_mprotect, do_protect_exec, false },
};
enum { TRAPPED = sizeof trapped / sizeof *trapped };
static size_t tried;
static enum kb_jail_calls jail;

static int is_trapped(void)
{
    struct sigaction act = { .sa_sigaction = on_sys, .sa_flags = SA_SIGINFO };
    EXPECT(sigaction(SIGSYS, &act, NULL) == 0);
    EXPECT(kb_jail_calls(KB_JAIL_LOAD) == KB_OK);
    if (jail == KB_JAIL_RUN)
        EXPECT(kb_jail_calls(KB_JAIL_RUN) == KB_OK);
    trapped[tried].call();
    return __LINE__;
}

START_TEST(a_call_outside_the_list_raises_sigsys)
{
    tried = (size_t)_i;
    jail = KB_JAIL_RUN;
    int wstatus = wstatus_of(is_trapped);
    ck_assert_msg(WIFEXITED(wstatus) && WEXITSTATUS(wstatus) == 77,
                  "call %d: status %x", trapped[_i].number,
                  (unsigned)wstatus);
    if (!trapped[_i].load)
        return;
    jail = KB_JAIL_LOAD;
    wstatus = wstatus_of(is_trapped);
    ck_assert_msg(WIFEXITED(wstatus) && WEXITSTATUS(wstatus) == 77,
                  "call %d while loading: status %x", trapped[_i].number,
                  (unsigned)wstatus);
}
END_TEST

/* Every call of this architecture, with arguments that fit no condition: what
 * a jail does not allow without one is trapped, all the rest is not. */
enum { CALLS = 470 };

static const char *const free_to_run[] = {
    "exit", "exit_group", "rt_sigreturn", "rt_sigprocmask", "futex", "sched_yield",
    "clock_gettime", "restart_syscall", "getpid", "gettid", "getrandom", "brk",
    "munmap", "madvise", KB_SANITIZED ? "sigaltstack" : "getpid", NULL
}, *const free_to_load[] = {
    "mremap", "getppid", "mprotect", "read", "pread64", "fstat", "newfstatat", "statx", "lseek",
    "close", "readlink", "readlinkat", "access", "faccessat", "faccessat2", "getcwd",
    "seccomp", "tgkill", NULL
};

static bool among(const char *name, const char *const *list)
{
    while (*list && strcmp(*list, name) != 0)
        list++;
    return *list;
}

static int is_trapped_with_ones(void)
{
    struct sigaction act = { .sa_sigaction = on_sys, .sa_flags = SA_SIGINFO };
    EXPECT(sigaction(SIGSYS, &act, NULL) == 0);
    EXPECT(kb_jail_calls(KB_JAIL_LOAD) == KB_OK);
    if (jail == KB_JAIL_RUN)
        EXPECT(kb_jail_calls(KB_JAIL_RUN) == KB_OK);
    syscall((long)tried, -1L, -1L, -1L, -1L, -1L, -1L);
    return 1;
}

START_TEST(every_call_is_as_the_table_says)
{
    for (int number = 0; number < CALLS; number++) {
        char *name = kb_jail_call_name(number);
        bool known = name != NULL;
        bool free_call = known && (among(name, free_to_run)
                                   || (!_i && among(name, free_to_load)));
        free(name);
        if (!known || number == SYS_rt_sigreturn || number == SYS_seccomp)
            continue;
        tried = (size_t)number;
        jail = _i ? KB_JAIL_RUN : KB_JAIL_LOAD;
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0) {
            close(2);
            syscall(SYS_exit_group, is_trapped_with_ones());
        }
        int wstatus = -1;
        ck_assert_int_eq(waitpid(pid, &wstatus, 0), pid);
        bool trapped_now = WIFEXITED(wstatus) && WEXITSTATUS(wstatus) == 77;
        ck_assert_msg(trapped_now != free_call, "call %d, jail %d: %s", number,
                      _i, trapped_now ? "trapped" : "allowed");
    }
}
END_TEST

/* All four steps as somebody who is not root and may do nothing special: what
 * an ordinary user and a default container have. */
static int whole_jail_as_a_user(void)
{
    const char *const read[] = { inside, NULL };
    struct kb_jail_limits l = { .memory_bytes = KB_SANITIZED ? 0 : 1 << 30,
                                .open_files = 16 };
    char file[96];
    snprintf(file, sizeof file, "%s/file", inside);
    EXPECT(geteuid() != 0 || (setresgid(1234, 1234, 1234) == 0
                              && setresuid(1234, 1234, 1234) == 0));
    EXPECT(kb_jail_limit(&l) == KB_OK);
    EXPECT(kb_jail_user() == KB_OK);
    EXPECT(kb_jail_files(read, NULL) == KB_OK);
    EXPECT(kb_jail_calls(KB_JAIL_LOAD) == KB_OK);
    EXPECT(opened(file, O_RDONLY) == 0);
    EXPECT(opened(outside, O_RDONLY) == EACCES);
    EXPECT(kb_jail_calls(KB_JAIL_RUN) == KB_OK);
    return 0;
}

START_TEST(an_ordinary_user_is_jailed_too)
{
    if (!no_landlock(1))
        holds(whole_jail_as_a_user);
}
END_TEST

static int write_open(void)
{
    EXPECT(kb_jail_calls(KB_JAIL_LOAD) == KB_OK);
    syscall(SYS_openat, AT_FDCWD, "/dev/null", O_WRONLY);
    return __LINE__;
}

START_TEST(loading_opens_nothing_for_writing)
{
    int wstatus = wstatus_of(write_open);
    ck_assert(WIFSIGNALED(wstatus) && WTERMSIG(wstatus) == SIGSYS);
}
END_TEST

static int raise_usr1(void)
{
    EXPECT(kb_jail_calls(KB_JAIL_LOAD) == KB_OK);
    EXPECT(kb_jail_calls(KB_JAIL_RUN) == KB_OK);
    raise(SIGUSR1);
    return __LINE__;
}

START_TEST(a_kernel_may_end_itself)
{
    int wstatus = wstatus_of(raise_usr1);
    ck_assert(WIFSIGNALED(wstatus) && WTERMSIG(wstatus) == SIGUSR1);
}
END_TEST

static int stays_in_its_group(void)
{
    cpu_set_t all;
    EXPECT(sched_getaffinity(0, sizeof all, &all) == 0);
    EXPECT(kb_jail_calls(KB_JAIL_GROUP) == KB_OK);
    EXPECT(setsid() == -1 && errno == EPERM);
    EXPECT(setpgid(0, 0) == -1 && errno == EPERM);
    EXPECT(kill(getppid(), 0) == -1 && errno == EPERM);
    EXPECT(kill(-1, 0) == -1 && errno == EPERM);
    EXPECT(sched_setaffinity(getppid(), sizeof all, &all) == -1);
    EXPECT(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL) == -1);
    EXPECT(kill(getpid(), 0) == 0);
    EXPECT(sched_setaffinity(0, sizeof all, &all) == 0);
    EXPECT(setpriority(PRIO_PROCESS, 0, 1) == 0);
    return 0;
}

static int slows_its_parent(void)
{
    EXPECT(kb_jail_calls(KB_JAIL_GROUP) == KB_OK);
    setpriority(PRIO_PROCESS, (id_t)getppid(), getpriority(PRIO_PROCESS, 0));
    return __LINE__;
}

START_TEST(an_interpreter_leaves_others_alone)
{
    holds(stays_in_its_group);
    int wstatus = wstatus_of(slows_its_parent);
    ck_assert(WIFSIGNALED(wstatus) && WTERMSIG(wstatus) == SIGSYS);
}
END_TEST

static int owns_a_folder(void)
{
    const char *const use[] = { outside, NULL };
    const char *const own[] = { inside, NULL };
    char a[96], b[96];
    snprintf(a, sizeof a, "%s/a", inside);
    snprintf(b, sizeof b, "%s/a/b", inside);
    EXPECT(kb_jail_trees(NULL, use, own) == KB_OK);
    EXPECT(mkdir(a, 0700) == 0 && mkdir(b, 0700) == 0 && rmdir(b) == 0);
    EXPECT(opened(outside, O_WRONLY) == 0);
    /* The next process is given this folder, and what it leads to. */
    EXPECT(symlink(dir, b) == -1 && errno == EACCES);
    EXPECT(mknod(b, S_IFBLK | 0600, makedev(8, 0)) == -1);
    EXPECT(mknod(b, S_IFCHR | 0600, makedev(1, 1)) == -1);
    snprintf(b, sizeof b, "%s/c", dir);
    EXPECT(mkdir(b, 0700) == -1 && errno == EACCES);
    return 0;
}

START_TEST(folders_are_made_where_they_are_its_own)
{
    if (!no_landlock(1))
        holds(owns_a_folder);
}
END_TEST

START_TEST(calls_have_names)
{
    char *name = kb_jail_call_name(SYS_openat);
    ck_assert_str_eq(name, "openat");
    free(name);
    ck_assert_ptr_null(kb_jail_call_name(987654));
    ck_assert_ptr_null(kb_jail_call_name(-1));
}
END_TEST

static Suite *tests(void)
{
    Suite *s = suite_create("jail");
    TCase *t = tcase_create("files");
    tcase_add_checked_fixture(t, make_folder, remove_folder);
    tcase_add_loop_test(t, files, 0, 9);
    tcase_add_test(t, no_landlock_is_enodev);
    tcase_add_test(t, an_ordinary_user_is_jailed_too);
    tcase_add_test(t, folders_are_made_where_they_are_its_own);
    tcase_add_loop_test(t, limits, 0, 6);
    suite_add_tcase(s, t);

    t = tcase_create("user");
    tcase_add_loop_test(t, user, 0, 2);
    tcase_add_test(t, processor_time_is_limited);
    suite_add_tcase(s, t);

    t = tcase_create("calls");
    tcase_add_loop_test(t, no_call_names_what_is_mapped_below, 0, ON_LOW);
    tcase_add_test(t, what_is_mapped_below_stays_protected_and_all_else_works);
    tcase_add_loop_test(t, calls_that_stay, 0, 2);
    tcase_add_loop_test(t, a_call_outside_the_list_raises_sigsys, 0, TRAPPED);
    tcase_add_loop_test(t, every_call_is_as_the_table_says, 0, 2);
    tcase_add_test(t, loading_opens_nothing_for_writing);
    tcase_add_test(t, a_kernel_may_end_itself);
    tcase_add_test(t, an_interpreter_leaves_others_alone);
    tcase_add_test(t, calls_have_names);
    suite_add_tcase(s, t);
    return s;
}

TEST_MAIN(tests)
