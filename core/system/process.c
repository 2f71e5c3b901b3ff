#include "process.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io.h"

/* All 64, by the bare call: the C library keeps two to itself, and a parent
 * may have had those ignored too. A zeroed action is SIG_DFL everywhere. */
static void default_signals(void)
{
    static const uint64_t dfl[8];
    for (long sig = 1; sig <= 64; sig++)
        syscall(SYS_rt_sigaction, sig, dfl, NULL, sizeof(uint64_t));
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Moves the listed descriptors to 0..fds-1 and closes all others but report,
 * whose new number is returned. -1 with errno set. */
static int arrange_fds(const struct kb_process_spec *spec, int report)
{
    int from[KB_PROCESS_FDS];
    int base = KB_PROCESS_FDS + 1;
    for (size_t i = 0; i < spec->fds; i++) {
        int fd = spec->fd[i] >= 0 ? spec->fd[i] : open("/dev/null", O_RDWR);
        from[i] = fcntl(fd, F_DUPFD, base);
        if (from[i] < 0)
            return -1;
    }
    int moved = fcntl(report, F_DUPFD, base);
    if (moved < 0)
        return -1;
    for (size_t i = 0; i < spec->fds; i++)
        if (dup2(from[i], (int)i) < 0)
            return -1;
    int last = dup2(moved, (int)spec->fds);
    if (last < 0 || fcntl(last, F_SETFD, FD_CLOEXEC) < 0)
        return -1;
    syscall(SYS_close_range, (unsigned)last + 1, ~0U, 0);
    return last;
}

static void child(const struct kb_process_spec *spec, int report, pid_t parent)
{
    static char *const no_env[] = { NULL };
    char *const *env = spec->env ? (char *const *)spec->env : no_env;
    int why = 0;

    default_signals();
    if (spec->session)
        setsid();
    else
        setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127);
    int fd = arrange_fds(spec, report);
    if (fd < 0 || (spec->dir && chdir(spec->dir)))
        why = errno;
    if (!why && spec->enter)
        why = spec->enter(spec->arg);
    /* A 0 says that only exec is left to fail: a child that dies sooner, in
     * enter, must not look as if it had exec'd. */
    if (!why && write(fd, &why, sizeof why) == sizeof why) {
        if (spec->run) {
            close(fd);
            _exit(spec->run(spec->arg));
        }
        execvpe(spec->argv[0], (char *const *)spec->argv, env);
        why = errno;
    }
    ssize_t told = write(fd < 0 ? report : fd, &why, sizeof why);
    (void)told;
    _exit(127);
}

/* What the child says before its end of the pipe closes: nothing when it died,
 * 0 when it exec'd, else the errno of what failed. */
static int exec_error(int fd)
{
    int why = ECHILD, word;
    while (kb_io_read(fd, &word, sizeof word) == sizeof word)
        why = word;
    return why;
}

static int reap(pid_t pid)
{
    int wstatus = 0;
    while (waitpid(pid, &wstatus, 0) < 0 && errno == EINTR)
        ;
    return wstatus;
}

kb_status kb_process_start(const struct kb_process_spec *spec, pid_t *pid)
{
    int report[2];
    if (spec->fds < 3 || spec->fds > KB_PROCESS_FDS
        || (!spec->run && !spec->argv[0]))
        return KB_EINVAL;
    if (pipe2(report, O_CLOEXEC))
        return KB_ESYS;

    pid_t parent = getpid(), p = fork();
    if (p == 0)
        child(spec, report[1], parent);
    kb_io_close(&report[1]);
    int why = p < 0 ? 0 : exec_error(report[0]);
    kb_io_close(&report[0]);
    if (p < 0)
        return KB_ESYS;
    if (why) {
        reap(p);
        errno = why;
        return KB_ESYS;
    }
    *pid = p;
    return KB_OK;
}

kb_status kb_process_wait(pid_t pid, int64_t deadline_ns, int *wstatus)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0)
        return KB_ESYS;
    kb_status st = kb_io_poll(fd, POLLIN, deadline_ns);
    kb_io_close(&fd);
    if (st)
        return st;
    *wstatus = reap(pid);
    return KB_OK;
}

static void kill_session(pid_t leader)
{
    DIR *proc = opendir("/proc");
    if (!proc)
        return;
    for (struct dirent *e; (e = readdir(proc)); ) {
        int pid = 0;
        if (sscanf(e->d_name, "%d", &pid) == 1 && pid > 1 && pid != leader
            && getsid(pid) == leader)
            kill(pid, SIGKILL);
    }
    closedir(proc);
}

int kb_process_kill(pid_t pid, bool session)
{
    assert(pid > 1);
    kill(-pid, SIGKILL);
    kill(pid, SIGKILL);
    if (session)                /* before the reap: the id is still taken */
        kill_session(pid);
    return reap(pid);
}

/* Reads fd until its end or the deadline, keeping the first cap - 1 bytes. */
static kb_status drain(int fd, int64_t deadline_ns, char *out, size_t cap,
                       size_t *used)
{
    char rest[4096];
    *used = 0;
    out[0] = '\0';
    for (;;) {
        size_t room = cap - 1 - *used;
        kb_status st = kb_io_poll(fd, POLLIN, deadline_ns);
        if (st)
            return st;
        ssize_t n = room ? kb_io_read(fd, out + *used, room)
                         : kb_io_read(fd, rest, sizeof rest);
        if (n <= 0)
            return n ? KB_ESYS : KB_OK;
        *used += room ? (size_t)n : 0;
        out[*used] = '\0';
    }
}

kb_status kb_process_run(const struct kb_process_spec *spec,
                         int64_t deadline_ns, char *out, size_t cap,
                         size_t *used, int *wstatus)
{
    int ends[2];
    assert(cap > 0);
    if (pipe2(ends, O_CLOEXEC))
        return KB_ESYS;
    struct kb_process_spec own = *spec;
    own.fds = 3;
    own.fd[0] = -1;
    own.fd[1] = own.fd[2] = ends[1];
    pid_t pid;
    kb_status st = kb_process_start(&own, &pid);
    kb_io_close(&ends[1]);
    if (!st) {
        st = drain(ends[0], deadline_ns, out, cap, used);
        KB_THEN(st, kb_process_wait(pid, deadline_ns, wstatus));
        int saved = errno;
        if (st)
            *wstatus = kb_process_kill(pid, own.session);
        else
            kill(-pid, SIGKILL);        /* what it left behind in its group */
        errno = saved;
    }
    kb_io_close(&ends[0]);
    return st;
}

static void clear_at(int parent, const char *name, int levels)
{
    int fd = openat(parent, name,
                    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (!d) {
        kb_io_close(&fd);
        return;
    }
    for (struct dirent *e; (e = readdir(d)); )
        if (unlinkat(fd, e->d_name, 0) && levels > 0
            && strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
            clear_at(fd, e->d_name, levels - 1);
    closedir(d);
    unlinkat(parent, name, AT_REMOVEDIR);
}

void kb_process_clear(const char *dir)
{
    clear_at(AT_FDCWD, dir, 1);
}
