#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "frame.h"
#include "process.h"

/* Read at one go, so that a flood keeps nobody from the clock. */
enum { READS = 16 };

/* Our ends of its pipes, -1 when closed. Nothing is written to LIFE: its end
 * tells the guard that we are gone. */
enum { IN, OUT, ERR, LIFE, PIPES };

struct kb_child {
    struct kb_child_result now;
    int fd[PIPES], ended;               /* ended: its pidfd */
    bool worker;
    int64_t deadline_ns;
    struct kb_bytes input;
    size_t sent, max_bytes, max_errors;
};

/* The guard: in the child, after fork. ------------------------------------ */

/* Ends as the command ended, so that whoever waits for the guard sees that. */
static void repeat(int wstatus)
{
    if (WIFSIGNALED(wstatus)) {
        signal(WTERMSIG(wstatus), SIG_DFL);
        prctl(PR_SET_DUMPABLE, 0);
        raise(WTERMSIG(wstatus));
    }
    _exit(WIFEXITED(wstatus) ? WEXITSTATUS(wstatus) : 127);
}

/* Runs in the child before exec; descriptor 3 is the pipe whose other end only
 * the engine has. The fork's child goes on to exec, its parent stays here. */
static int guard(void *arg)
{
    (void)arg;
    pid_t own = getpid(), pid = fork();
    if (pid < 0)
        return errno;
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != own)
            _exit(127);
        close(3);
        return 0;
    }
    prctl(PR_SET_PDEATHSIG, 0);
    syscall(SYS_close_range, 4U, ~0U, 0);
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    int ended = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd p[2] = { { 3, POLLIN, 0 }, { ended, POLLIN, 0 } };
    while (poll(p, 2, -1) <= 0)
        ;
    if (p[0].revents)
        kill(0, SIGKILL);
    int wstatus = 0;
    while (waitpid(pid, &wstatus, 0) < 0 && errno == EINTR)
        ;
    repeat(wstatus);
    return 0;
}

/* Starting ---------------------------------------------------------------- */

static kb_status open_pipes(kb_child *c, int theirs[PIPES])
{
    for (int i = 0; i < PIPES; i++)
        theirs[i] = -1;
    for (int i = 0; i < (c->worker ? LIFE : PIPES); i++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC))
            return KB_ESYS;
        bool ours = i == IN || i == LIFE;       /* to write to */
        theirs[i] = ends[ours ? 0 : 1];
        c->fd[i] = ends[ours ? 1 : 0];
        if (i != LIFE)
            fcntl(c->fd[i], F_SETFL, fcntl(c->fd[i], F_GETFL) | O_NONBLOCK);
    }
    return KB_OK;
}

static kb_status launch(kb_child *c, const struct kb_child_request *r)
{
    extern char **environ;
    char here[PATH_MAX], program[2 * PATH_MAX];
    const char *argv[KB_CHILD_WORDS + 1] = { NULL };
    int theirs[PIPES];
    size_t n = 0;
    while (!r->run && n < KB_CHILD_WORDS && r->argv[n])
        n++;
    if (!r->run && (n == 0 || r->argv[n]))
        return KB_EINVAL;
    if (n)
        memcpy(argv, r->argv, n * sizeof *argv);
    if (r->dir && n && strchr(argv[0], '/') && getcwd(here, sizeof here)) {
        snprintf(program, sizeof program, "%s/%s", here, argv[0]);
        argv[0] = argv[0][0] == '/' ? argv[0] : program;
    }
    kb_status st = open_pipes(c, theirs);
    if (!st) {
        struct kb_process_spec spec = {
            .argv = argv, .dir = r->dir, .fds = c->worker ? 3 : 4,
            .session = true, .enter = c->worker ? NULL : guard,
            .env = r->env ? r->env : (const char *const *)environ,
            .fd = { theirs[IN], theirs[OUT], theirs[ERR], theirs[LIFE] },
            .run = r->run, .arg = r->arg
        };
        st = kb_process_start(&spec, &c->now.pid);
    }
    for (int i = 0; i < PIPES; i++)
        kb_io_close(&theirs[i]);
    return st;
}

kb_status kb_child_start(const struct kb_child_request *r, kb_child **out)
{
    kb_child *c = calloc(1, sizeof *c);
    if (!c)
        return KB_ENOMEM;
    for (int i = 0; i < PIPES; i++)
        c->fd[i] = -1;
    c->ended = -1;
    c->worker = r->worker;
    c->max_bytes = r->worker ? SIZE_MAX : r->max_bytes;
    c->max_errors = r->worker ? KB_CHILD_WORKER_ERRORS
                              : KB_CHILD_COMMAND_ERRORS;
    c->deadline_ns = kb_clock_now_ns() + r->timeout_ns;
    kb_status st = kb_bytes_add(&c->input, r->input, r->input_bytes);
    KB_THEN(st, kb_bytes_reserve(&c->now.errors, 0));
    KB_THEN(st, launch(c, r));
    if (!st) {
        c->ended = (int)syscall(SYS_pidfd_open, c->now.pid, 0);
        st = c->ended < 0 ? KB_ESYS : KB_OK;
    }
    return KB_HAND_OVER(st, c, kb_child_free, out);
}

/* While it runs ----------------------------------------------------------- */

static int end(kb_child *c, kb_status result)
{
    int wstatus = c->now.pid > 0 ? kb_process_kill(c->now.pid, true) : 0;
    c->now.pid = 0;
    c->now.done = true;
    c->now.result = result;
    c->now.status = WIFEXITED(wstatus) ? WEXITSTATUS(wstatus) : 0;
    c->now.signal = WIFSIGNALED(wstatus) ? WTERMSIG(wstatus) : 0;
    for (int i = 0; i < PIPES; i++)
        kb_io_close(&c->fd[i]);
    kb_io_close(&c->ended);
    return wstatus;
}

/* SIGPIPE is ignored in an engine; elsewhere the caller's. */
static void feed(kb_child *c)
{
    while (c->fd[IN] >= 0 && c->sent < c->input.used) {
        ssize_t n = write(c->fd[IN], c->input.at + c->sent,
                          c->input.used - c->sent);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0)
            break;                      /* it does not want the rest */
        c->sent += (size_t)n;
    }
    kb_io_close(&c->fd[IN]);
}

/* A worker's output is read up to the first whole frame: the pipe then holds
 * the rest back. */
static bool is_heard(const kb_child *c)
{
    size_t n;
    return c->worker && (kb_frame_first(&c->now.output, &n)
                         || kb_frame_broken(&c->now.output));
}

/* Reads what is there. Of the output the first max_bytes are kept, of what it
 * says to stderr the last. */
static kb_status drain(kb_child *c, int which)
{
    struct kb_bytes *b = which == OUT ? &c->now.output : &c->now.errors;
    for (int i = 0; i < READS && c->fd[which] >= 0; i++) {
        size_t n = 0;
        if (which == OUT && is_heard(c))
            break;
        kb_status st = kb_io_append(c->fd[which], b, &n);
        if (st == KB_ENOMEM)
            return st;
        if (st && errno == EAGAIN)
            break;
        if (n == 0)
            kb_io_close(&c->fd[which]);
        if (which == ERR && b->used > c->max_errors)
            kb_bytes_drop(b, b->used - c->max_errors);
        if (which == OUT && b->used > c->max_bytes) {
            b->used = c->max_bytes;
            return KB_EFULL;
        }
    }
    return KB_OK;
}

/* Reads both streams, errors last: a worker's last words came before its end,
 * and what a command wrote is in the pipes when its exit is seen. */
static kb_status hear(kb_child *c)
{
    bool ended = !c->worker && kb_io_poll(c->ended, POLLIN, 0) == KB_OK;
    if (!c->worker)
        feed(c);
    kb_status st = drain(c, OUT), err = drain(c, ERR);
    st = st ? st : err;
    if (c->worker) {
        c->now.done = c->fd[OUT] < 0 || kb_frame_broken(&c->now.output);
        return st;
    }
    if (!st && !ended && kb_clock_now_ns() >= c->deadline_ns)
        st = KB_ETIME;
    if (st || ended)
        end(c, st);
    return st;
}

kb_status kb_child_listen(kb_child *c)
{
    size_t n;
    kb_status st = c->now.done ? KB_OK : hear(c);
    if (kb_frame_first(&c->now.output, &n))
        return KB_OK;
    return c->now.done ? KB_EWORKER : st ? st : KB_EEMPTY;
}

static bool listens(void *object)
{
    kb_child *c = object;
    if (c->worker)
        return kb_child_listen(c) != KB_EEMPTY;
    if (!c->now.done)
        hear(c);
    return c->now.done;
}

static size_t watch(void *object, struct pollfd p[KB_SOURCE_FDS],
                    int64_t *by_ns)
{
    kb_child *c = object;
    if (c->now.done || is_heard(c))
        *by_ns = INT64_MIN;
    else if (!c->worker)
        *by_ns = c->deadline_ns;
    p[0] = (struct pollfd){ c->fd[OUT], POLLIN, 0 };
    p[1] = (struct pollfd){ c->fd[ERR], POLLIN, 0 };
    p[2] = (struct pollfd){ c->ended, POLLIN, 0 };
    p[3] = (struct pollfd){ c->fd[IN], POLLOUT, 0 };
    return c->worker ? 2 : 4;
}

const struct kb_source_kind kb_child_source = { watch, listens };

const struct kb_child_result *kb_child_look(const kb_child *c)
{
    return &c->now;
}

kb_status kb_child_send(kb_child *c, const void *bytes, size_t n)
{
    return kb_frame_write(c->fd[IN], bytes, n, kb_clock_now_ns() + 10000000000);
}

kb_status kb_child_await(kb_child *c, int64_t deadline_ns)
{
    struct kb_source source = { .kind = &kb_child_source, .object = c };
    struct pollfd scratch[KB_SOURCE_FDS];
    kb_status st;
    do {
        st = kb_wait(&source, 1, scratch, deadline_ns);
    } while (st == KB_EINTR);
    return st ? st : kb_child_listen(c);
}

const void *kb_child_reply(const kb_child *c, size_t *n)
{
    return kb_frame_first(&c->now.output, n);
}

void kb_child_next(kb_child *c)
{
    kb_frame_drop(&c->now.output);
}

int kb_child_free(kb_child *c)
{
    if (!c)
        return 0;
    int saved = errno, wstatus = end(c, KB_OK);
    kb_bytes_free(&c->input);
    kb_bytes_free(&c->now.output);
    kb_bytes_free(&c->now.errors);
    free(c);
    errno = saved;
    return wstatus;
}

void kb_child_quit(kb_child *c, int64_t deadline_ns)
{
    int wstatus;
    if (!c)
        return;
    kb_io_close(&c->fd[IN]);
    if (c->now.pid > 0
        && kb_process_wait(c->now.pid, deadline_ns, &wstatus) == KB_OK)
        c->now.pid = 0;             /* reaped; its children die with it */
    kb_child_free(c);
}
