#include "command.h"

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
#include "process.h"

/* Read at one go, so that a flood keeps nobody from the clock. */
enum { CHUNK = 65536, READS = 16 };

struct kb_command {
    pid_t pid;                          /* the guard; 0: ended and reaped */
    int in, out, err, life, ended;      /* our ends; ended is its pidfd; -1 */
    int64_t deadline_ns;
    char *input, *output, *errors;
    size_t input_bytes, sent, max_bytes;
    size_t output_used, output_cap, errors_used;
    bool done;
    struct kb_command_result result;
};

static void close_if(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* The guard: in the child, after fork. ------------------------------------------ */

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
    while (poll(p, ended < 0 ? 1 : 2, ended < 0 ? 20 : -1) <= 0)
        if (ended < 0 && waitpid(pid, NULL, WNOHANG | WNOWAIT) == pid)
            break;
    if (p[0].revents)
        kill(0, SIGKILL);
    int wstatus = 0;
    while (waitpid(pid, &wstatus, 0) < 0 && errno == EINTR)
        ;
    repeat(wstatus);
    return 0;
}

/* Starting ------------------------------------------------------------------------- */

/* A whole path for argv[0] into out; false with errno. */
static bool find_program(const char *name, char out[PATH_MAX])
{
    if (strchr(name, '/'))
        return realpath(name, out) != NULL;
    const char *path = getenv("PATH");
    int why = ENOENT;
    for (const char *at = path ? path : "/usr/bin:/bin"; *at; ) {
        size_t n = strcspn(at, ":");
        int made = snprintf(out, PATH_MAX, "%.*s/%s", (int)n, n ? at : ".", name);
        if (made < PATH_MAX && access(out, X_OK) == 0)
            return true;
        if (errno == EACCES)
            why = EACCES;
        at += n + (at[n] == ':');
    }
    errno = why;
    return false;
}

static bool open_pipes(kb_command *c, int theirs[4])
{
    int *ours[4] = { &c->in, &c->out, &c->err, &c->life };
    for (int i = 0; i < 4; i++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC))
            return false;
        bool writes = i == 0 || i == 3;         /* we do */
        theirs[i] = ends[writes ? 0 : 1];
        *ours[i] = ends[writes ? 1 : 0];
        if (i < 3)
            fcntl(*ours[i], F_SETFL, fcntl(*ours[i], F_GETFL) | O_NONBLOCK);
    }
    return true;
}

static kb_status launch(kb_command *c, const struct kb_command_request *r)
{
    extern char **environ;
    char program[PATH_MAX];
    const char *argv[KB_COMMAND_WORDS + 1];
    int theirs[4] = { -1, -1, -1, -1 };
    size_t n = 0;
    while (n < KB_COMMAND_WORDS && r->argv[n])
        n++;
    if (n == 0 || r->argv[n])
        return KB_EINVAL;
    if (!find_program(r->argv[0], program))
        return KB_ESYS;
    memcpy(argv, r->argv, (n + 1) * sizeof *argv);
    argv[0] = program;
    kb_status st = KB_ESYS;
    if (open_pipes(c, theirs)) {
        struct kb_process_spec spec = {
            .argv = argv, .dir = r->dir, .fds = 4, .session = true, .enter = guard,
            .env = r->env ? r->env : (const char *const *)environ,
            .fd = { theirs[0], theirs[1], theirs[2], theirs[3] },
        };
        st = kb_process_start(&spec, &c->pid);
    }
    int saved = errno;
    for (int i = 0; i < 4; i++)
        close_if(&theirs[i]);
    errno = saved;
    return st;
}

kb_status kb_command_start(const struct kb_command_request *r, kb_command **out)
{
    kb_command *c = calloc(1, sizeof *c);
    if (!c)
        return KB_ENOMEM;
    c->in = c->out = c->err = c->life = c->ended = -1;
    c->max_bytes = r->max_bytes;
    c->input_bytes = r->input_bytes;
    c->deadline_ns = kb_clock_now_ns() + r->timeout_ns;
    c->input = malloc(r->input_bytes + 1);
    c->errors = malloc(KB_COMMAND_ERRORS);
    kb_status st = c->input && c->errors ? KB_OK : KB_ENOMEM;
    if (!st) {
        if (r->input_bytes)
            memcpy(c->input, r->input, r->input_bytes);
        st = launch(c, r);
    }
    if (!st) {
        c->ended = (int)syscall(SYS_pidfd_open, c->pid, 0);
        st = c->ended < 0 ? KB_ESYS : KB_OK;
    }
    if (st) {
        int saved = errno;
        kb_command_free(c);
        errno = saved;
        return st;
    }
    *out = c;
    return KB_OK;
}

/* While it runs ---------------------------------------------------------------------- */

static void end(kb_command *c, kb_status result)
{
    int wstatus = kb_process_kill(c->pid, true);
    c->pid = 0;
    c->done = true;
    c->result.result = result;
    c->result.status = WIFEXITED(wstatus) ? WEXITSTATUS(wstatus) : 0;
    c->result.signal = WIFSIGNALED(wstatus) ? WTERMSIG(wstatus) : 0;
    close_if(&c->in);
    close_if(&c->out);
    close_if(&c->err);
    close_if(&c->life);
    close_if(&c->ended);
}

/* SIGPIPE is ignored in an engine; elsewhere the caller's. */
static void feed(kb_command *c)
{
    while (c->in >= 0 && c->sent < c->input_bytes) {
        ssize_t n = write(c->in, c->input + c->sent, c->input_bytes - c->sent);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0)
            break;                      /* it does not want the rest */
        c->sent += (size_t)n;
    }
    close_if(&c->in);
}

static kb_status keep_output(kb_command *c, const char *bytes, size_t n)
{
    size_t fits = c->max_bytes - c->output_used, keep = n > fits ? fits : n;
    if (keep > c->output_cap - c->output_used) {
        size_t cap = c->output_cap ? c->output_cap : 4096;
        while (cap - c->output_used < keep)
            cap *= 2;
        char *grown = realloc(c->output, cap);
        if (!grown)
            return KB_ENOMEM;
        c->output = grown;
        c->output_cap = cap;
    }
    if (keep)
        memcpy(c->output + c->output_used, bytes, keep);
    c->output_used += keep;
    return n > fits ? KB_EFULL : KB_OK;
}

static kb_status keep_errors(kb_command *c, const char *bytes, size_t n)
{
    if (n > KB_COMMAND_ERRORS) {
        bytes += n - KB_COMMAND_ERRORS;
        n = KB_COMMAND_ERRORS;
    }
    size_t over = c->errors_used + n > KB_COMMAND_ERRORS
                ? c->errors_used + n - KB_COMMAND_ERRORS : 0;
    memmove(c->errors, c->errors + over, c->errors_used - over);
    c->errors_used -= over;
    memcpy(c->errors + c->errors_used, bytes, n);
    c->errors_used += n;
    return KB_OK;
}

static kb_status drain(kb_command *c, int *fd,
                       kb_status (*keep)(kb_command *, const char *, size_t))
{
    char chunk[CHUNK];
    for (int i = 0; i < READS && *fd >= 0; i++) {
        ssize_t n = read(*fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return KB_OK;
        if (n <= 0)
            close_if(fd);
        kb_status st = n > 0 ? keep(c, chunk, (size_t)n) : KB_OK;
        if (st)
            return st;
    }
    return KB_OK;
}

static bool listens(void *object)
{
    kb_command *c = object;
    if (c->done)
        return true;
    /* Before the pipes: what it wrote before its end is then in them. */
    struct pollfd p = { c->ended, POLLIN, 0 };
    bool ended = poll(&p, 1, 0) > 0;
    feed(c);
    kb_status st = drain(c, &c->out, keep_output);
    if (!st)
        st = drain(c, &c->err, keep_errors);
    if (!st && !ended && kb_clock_now_ns() >= c->deadline_ns)
        st = KB_ETIME;
    if (st || ended)
        end(c, st);
    return c->done;
}

static size_t watch(void *object, struct pollfd p[KB_SOURCE_FDS], int64_t *by_ns)
{
    kb_command *c = object;
    *by_ns = c->done ? INT64_MIN : c->deadline_ns;
    p[0] = (struct pollfd){ c->ended, POLLIN, 0 };
    p[1] = (struct pollfd){ c->in, POLLOUT, 0 };
    p[2] = (struct pollfd){ c->out, POLLIN, 0 };
    p[3] = (struct pollfd){ c->err, POLLIN, 0 };
    return 4;
}

const struct kb_source_kind kb_command_source = { watch, listens };

struct kb_command_result kb_command_look(const kb_command *c)
{
    struct kb_command_result r = c->result;
    r.output = c->output;
    r.output_bytes = c->output_used;
    r.errors = c->errors;
    r.errors_bytes = c->errors_used;
    return r;
}

bool kb_command_done(const kb_command *c)
{
    return c->done;
}

void kb_command_free(kb_command *c)
{
    if (!c)
        return;
    if (c->pid > 0)
        end(c, KB_OK);
    close_if(&c->in);
    close_if(&c->out);
    close_if(&c->err);
    close_if(&c->life);
    free(c->input);
    free(c->output);
    free(c->errors);
    free(c);
}
