#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "frame.h"
#include "process.h"

struct kb_worker {
    pid_t pid;
    int in, out, err;           /* our ends of its 0, 1 and 2; -1 closed */
    bool lost;                  /* its stream is over or broken */
    struct kb_frame_buffer frames;
    size_t log_used;
    char log[KB_WORKER_LOG + 1];
};

static kb_status open_pipes(int ends[6])
{
    for (size_t i = 0; i < 6; i++)
        ends[i] = -1;
    for (size_t i = 0; i < 6; i += 2)
        if (pipe2(ends + i, O_CLOEXEC))
            return KB_ESYS;
    return KB_OK;
}

static void set_nonblocking(int fd)
{
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static void close_if(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

kb_status kb_worker_start(const char *const *argv, kb_worker **out)
{
    extern char **environ;
    int ends[6];
    kb_worker *w = calloc(1, sizeof *w);
    kb_status st = w ? open_pipes(ends) : KB_ENOMEM;
    if (!w)
        return st;
    w->in = w->out = w->err = -1;
    if (!st) {
        struct kb_process_spec spec = {
            .argv = argv, .env = (const char *const *)environ, .fds = 3,
            .fd = { ends[0], ends[3], ends[5] }, .session = true
        };
        st = kb_process_start(&spec, &w->pid);
    }
    int saved = errno;
    close_if(&ends[0]);
    close_if(&ends[3]);
    close_if(&ends[5]);
    w->in = ends[1];
    w->out = ends[2];
    w->err = ends[4];
    if (st) {
        kb_worker_stop(w);
        errno = saved;
        return st;
    }
    set_nonblocking(w->in);
    set_nonblocking(w->out);
    set_nonblocking(w->err);
    *out = w;
    return KB_OK;
}

void kb_worker_stop(kb_worker *w)
{
    if (!w)
        return;
    if (w->pid > 0)
        kb_process_kill(w->pid, true);
    close_if(&w->in);
    close_if(&w->out);
    close_if(&w->err);
    kb_frame_free(&w->frames);
    free(w);
}

void kb_worker_quit(kb_worker *w, int64_t deadline_ns)
{
    int wstatus;
    if (!w)
        return;
    close_if(&w->in);
    if (w->pid > 0 && kb_process_wait(w->pid, deadline_ns, &wstatus) == KB_OK)
        w->pid = 0;             /* reaped; its children die with it */
    kb_worker_stop(w);
}

kb_status kb_worker_send(kb_worker *w, const void *bytes, size_t n)
{
    return kb_frame_write(w->in, bytes, n, kb_clock_now_ns() + 10000000000);
}

/* Reads what is there, but no more than a pipe holds: a worker that never
 * stops talking must not keep us from the clock. */
static void read_log(kb_worker *w)
{
    char chunk[1024];
    ssize_t n = 1;
    for (int i = 0; i < 64 && w->err >= 0; i++) {
        n = read(w->err, chunk, sizeof chunk);
        if (n <= 0)
            break;
        size_t add = (size_t)n;
        if (w->log_used + add > KB_WORKER_LOG) {
            size_t drop = w->log_used + add - KB_WORKER_LOG;
            memmove(w->log, w->log + drop, w->log_used - drop);
            w->log_used -= drop;
        }
        memcpy(w->log + w->log_used, chunk, add);
        w->log_used += add;
        w->log[w->log_used] = '\0';
    }
    if (n == 0)
        close_if(&w->err);
}

/* OK: a frame is here, or more may come. EWORKER: the stream is over or
 * broken. Stops at the first whole frame: the pipe then holds the rest back. */
static kb_status read_frames(kb_worker *w)
{
    char chunk[65536];
    size_t bytes;
    while (!kb_frame_first(&w->frames, &bytes)) {
        if (kb_frame_broken(&w->frames))
            return KB_EWORKER;
        ssize_t n = read(w->out, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? KB_OK : KB_EWORKER;
        if (n == 0 || kb_frame_feed(&w->frames, chunk, (size_t)n))
            return KB_EWORKER;
    }
    return KB_OK;
}

kb_status kb_worker_listen(kb_worker *w)
{
    size_t bytes;
    kb_status st = KB_OK;
    read_log(w);
    if (!kb_frame_first(&w->frames, &bytes) && !w->lost)
        st = read_frames(w);
    if (st)
        read_log(w);            /* its last words came before its end */
    w->lost |= st != KB_OK;
    if (kb_frame_first(&w->frames, &bytes))
        return KB_OK;
    return w->lost ? KB_EWORKER : KB_EEMPTY;
}

static size_t watch(void *object, struct pollfd p[KB_SOURCE_FDS],
                    int64_t *by_ns)
{
    kb_worker *w = object;
    size_t bytes;
    if (w->lost || kb_frame_broken(&w->frames)
        || kb_frame_first(&w->frames, &bytes))
        *by_ns = INT64_MIN;
    p[0] = (struct pollfd){ w->out, POLLIN, 0 };
    p[1] = (struct pollfd){ w->err, POLLIN, 0 };
    return 2;
}

static bool listens(void *object)
{
    return kb_worker_listen(object) != KB_EEMPTY;
}

const struct kb_source_kind kb_worker_source = { watch, listens };

const void *kb_worker_reply(const kb_worker *w, size_t *n)
{
    return kb_frame_first(&w->frames, n);
}

void kb_worker_next(kb_worker *w)
{
    kb_frame_drop(&w->frames);
}

const char *kb_worker_log(const kb_worker *w)
{
    return w->log;
}

pid_t kb_worker_pid(const kb_worker *w)
{
    return w->pid;
}
