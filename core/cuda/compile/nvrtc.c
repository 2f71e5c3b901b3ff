#include "nvrtc.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "nvrtc_parts.h"
#include "system/frame.h"
#include "system/process.h"

/* What the server may take over the compile itself. */
static const int64_t start_ns = 60000000000, slack_ns = 3000000000;

struct kb_nvrtc {
    char exe[KB_NVRTC_PATH_BYTES], lib[KB_NVRTC_PATH_BYTES],
         include[KB_NVRTC_PATH_BYTES];
    char toolkit[2 * KB_NVRTC_PATH_BYTES + 256];  /* see struct kb_nvrtc_key */
    pid_t pid;                  /* 0: no server */
    int to_fd, from_fd;         /* its pipes */
    struct kb_frame_buffer in;
    bool ready;                 /* it has said so */
    bool cached;
    bool busy;                  /* between begin and end */
    struct kb_nvrtc_build build;
    struct kb_nvrtc_key key;
    char *log;                  /* from the cache, with the cubin */
    unsigned char *cubin;
    size_t cubin_bytes;
};

const char *kb_nvrtc_flags(void)
{
    return "-std=c++17 --ptxas-options=-v";
}

static void stop(kb_nvrtc *c)
{
    if (c->pid) {
        kb_process_kill(c->pid, true);
        close(c->to_fd);
        close(c->from_fd);
    }
    kb_frame_free(&c->in);
    c->pid = 0;
    c->to_fd = c->from_fd = -1;
    c->ready = false;
}

static kb_status start(kb_nvrtc *c)
{
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC))
        return KB_ESYS;
    if (pipe2(from, O_CLOEXEC)) {
        close(to[0]);
        close(to[1]);
        return KB_ESYS;
    }
    const char *const argv[] = { c->exe, "_nvrtc", c->lib, c->include, NULL };
    struct kb_process_spec spec = {
        .argv = argv, .dir = "/", .fd = { to[0], from[1], -1 }, .fds = 3,
        .session = true
    };
    kb_status st = kb_process_start(&spec, &c->pid);
    int saved = errno;
    close(to[0]);
    close(from[1]);
    c->to_fd = to[1];
    c->from_fd = from[0];
    if (st) {
        c->pid = 0;
        close(to[1]);
        close(from[0]);
        errno = saved;
    }
    return st;
}

/* "12345 1700000000.000000000": another file in its place has others. */
static void describe(const char *path, char *text, size_t cap)
{
    struct stat s = { 0 };
    if (stat(path, &s))
        s.st_size = -1;
    snprintf(text, cap, "%lld %lld.%09ld", (long long)s.st_size,
             (long long)s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
}

/* Both files of which another may give another cubin, or another judgement. */
static void describe_toolkit(kb_nvrtc *c)
{
    char self[64], lib[64];
    describe(c->exe, self, sizeof self);
    describe(c->lib, lib, sizeof lib);
    snprintf(c->toolkit, sizeof c->toolkit, "%s\n%s\n%s\n%s\n%s",
             kb_nvrtc_flags(), self, lib, c->lib, c->include);
}

kb_status kb_nvrtc_open(const char *exe, kb_nvrtc **out, const char **why)
{
    kb_nvrtc *c = calloc(1, sizeof *c);
    if (!c)
        return KB_ENOMEM;
    kb_status st = KB_EINVAL;
    c->to_fd = c->from_fd = -1;
    const char *sentence = "the path of kernelband is too long";
    if (strlen(exe) >= sizeof c->exe)
        goto fail;
    strcpy(c->exe, exe);
    st = kb_nvrtc_find(&sentence, c->lib, sizeof c->lib, c->include,
                       sizeof c->include);
    if (st)
        goto fail;
    describe_toolkit(c);
    sentence = "the compiler's process did not start";
    st = start(c);
    if (st)
        goto fail;
    *out = c;
    return KB_OK;

fail:
    *why = sentence;
    kb_nvrtc_close(c);
    return st;
}

void kb_nvrtc_close(kb_nvrtc *c)
{
    if (!c)
        return;
    stop(c);
    free(c->log);
    free(c->cubin);
    free(c);
}

int kb_nvrtc_cached(const kb_nvrtc *c)
{
    return c->cached;
}

int kb_nvrtc_fd(const kb_nvrtc *c)
{
    return c->cached ? -1 : c->from_fd;
}

/* sm_80, sm_90a, sm_120f: it becomes an option of the compiler. */
static bool good_arch(const char *arch)
{
    size_t n = strlen(arch);
    if (n < 5 || n > 7 || strncmp(arch, "sm_", 3) != 0)
        return false;
    size_t digits = strspn(arch + 3, "0123456789");
    const char *tail = arch + 3 + digits;
    return digits >= 2 && (!*tail || ((*tail == 'a' || *tail == 'f')
                                      && !tail[1]));
}

static kb_status send_request(kb_nvrtc *c)
{
    const struct kb_nvrtc_build *b = &c->build;
    size_t arch = strlen(b->arch) + 1, head = sizeof b->timeout_ns + arch;
    unsigned char *request = calloc(1, head + b->bytes + 1);
    if (!request)
        return KB_ENOMEM;
    memcpy(request, &b->timeout_ns, sizeof b->timeout_ns);
    memcpy(request + sizeof b->timeout_ns, b->arch, arch);
    memcpy(request + head, b->source, b->bytes);
    sigset_t pipe, old;                 /* a dead server is a status */
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &old);
    kb_status st = kb_frame_write(c->to_fd, request, head + b->bytes + 1,
                                  kb_clock_now_ns() + start_ns);
    int saved = errno;
    struct timespec none = { 0 };
    if (st == KB_ESYS && !sigismember(&old, SIGPIPE))
        sigtimedwait(&pipe, NULL, &none);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    free(request);
    errno = saved;
    return st;
}

/* Sends the request. A server found dead that once worked is replaced; one
 * that never did has left a sentence, which end will read. */
static kb_status ask(kb_nvrtc *c)
{
    kb_status st = c->pid ? KB_OK : start(c);
    if (!st)
        st = send_request(c);
    if (st == KB_ESYS && errno == EPIPE && c->ready) {
        stop(c);
        st = start(c);
        if (!st)
            st = send_request(c);
    }
    if (!st || (st == KB_ESYS && errno == EPIPE))
        return KB_OK;
    int saved = errno;
    stop(c);
    errno = saved;
    return st == KB_ETIME ? KB_EWORKER : st;
}

kb_status kb_nvrtc_begin(kb_nvrtc *c, const struct kb_nvrtc_build *b)
{
    assert(!c->busy);
    if (!good_arch(b->arch) || b->bytes == 0
        || b->bytes > KB_NVRTC_SOURCE_BYTES || b->timeout_ns <= 0
        || memchr(b->source, '\0', b->bytes))
        return KB_EINVAL;
    c->build = *b;
    c->key = (struct kb_nvrtc_key){ b->arch, c->toolkit, b->source, b->bytes };
    c->cached = kb_nvrtc_recall(&c->key, &c->log, &c->cubin, &c->cubin_bytes)
             == KB_OK;
    kb_status st = c->cached ? KB_OK : ask(c);
    c->busy = !st;
    return st;
}

/* The next frame of the server, or ETIME, or EWORKER when it is gone. */
static kb_status next_frame(kb_nvrtc *c, int64_t deadline_ns,
                            const unsigned char **frame, size_t *n)
{
    unsigned char chunk[65536];
    while (!(*frame = kb_frame_first(&c->in, n))) {
        int64_t left = deadline_ns - kb_clock_now_ns();
        if (left <= 0)
            return KB_ETIME;
        struct pollfd ready = { .fd = c->from_fd, .events = POLLIN };
        int rc = poll(&ready, 1, left > 1000000000 ? 1000
                                 : (int)(left / 1000000) + 1);
        if (rc < 0 && errno != EINTR)
            return KB_ESYS;
        if (rc <= 0)
            continue;
        ssize_t got = read(c->from_fd, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0 || kb_frame_broken(&c->in))
            return KB_EWORKER;
        kb_status st = kb_frame_feed(&c->in, chunk, (size_t)got);
        if (st)
            return st == KB_EINVAL ? KB_EWORKER : st;
    }
    return KB_OK;
}

/* Printable text of at most cap, whatever the source made the compiler say. */
static void set_log(char *log, size_t cap, const char *text, size_t n)
{
    static const char cut[] = "\n[cut]\n";
    size_t most = (cap < KB_NVRTC_LOG_BYTES ? cap : KB_NVRTC_LOG_BYTES) - 1;
    bool long_one = n > most && most > sizeof cut;
    size_t keep = long_one ? most - sizeof cut + 1 : n < most ? n : most;
    for (size_t i = 0; i < keep; i++)
        log[i] = text[i] == '\n' || text[i] == '\t'
              || (text[i] >= ' ' && text[i] <= '~') ? text[i] : '?';
    log[keep] = '\0';
    if (long_one)
        strcpy(log + keep, cut);
}

static kb_status await_ready(kb_nvrtc *c, char *log, size_t cap)
{
    const unsigned char *frame;
    size_t n = 0;
    if (c->ready)
        return KB_OK;
    kb_status st = next_frame(c, kb_clock_now_ns() + start_ns, &frame, &n);
    if (st)
        return st == KB_ETIME ? KB_EWORKER : st;
    if (n) {
        set_log(log, cap, (const char *)frame, n);
        return KB_ENODEV;
    }
    kb_frame_drop(&c->in);
    c->ready = true;
    return KB_OK;
}

static kb_status stopped(const kb_nvrtc *c, const struct kb_nvrtc_answer *a,
                         char *log, size_t cap)
{
    char text[160];
    if (a->late)
        snprintf(text, sizeof text, "the compiler did not finish in %lld ms",
                 (long long)(c->build.timeout_ns / 1000000));
    else
        snprintf(text, sizeof text, "the compiler was stopped (status %d): it "
                 "may use 8 GiB and 60 s of processor time", a->wstatus);
    set_log(log, cap, text, strlen(text));
    return a->late ? KB_ETIME : KB_EBUILD;
}

/* Takes an answer apart; the log is set, and the cubin copied. */
static kb_status read_answer(const kb_nvrtc *c, const unsigned char *frame,
                             size_t n, char *log, size_t cap,
                             unsigned char **cubin, size_t *cubin_bytes)
{
    struct kb_nvrtc_answer a;
    if (n < sizeof a)
        return KB_EWORKER;
    memcpy(&a, frame, sizeof a);
    const char *text = (const char *)frame + sizeof a;
    const char *end = n > sizeof a + 1
                    ? memchr(text + 1, '\0', n - sizeof a - 1) : NULL;
    if (a.late || !WIFEXITED(a.wstatus) || WEXITSTATUS(a.wstatus) || !end)
        return stopped(c, &a, log, cap);
    set_log(log, cap, text + 1, (size_t)(end - text - 1));
    if (text[0] == KB_NVRTC_UNABLE)
        return KB_ENODEV;
    if (text[0] == KB_NVRTC_FORBIDDEN)
        return KB_EDENIED;
    size_t bytes = n - (size_t)(end + 1 - (const char *)frame);
    if (text[0] != KB_NVRTC_DONE || bytes == 0)
        return KB_EBUILD;
    unsigned char *copy = malloc(bytes);
    if (!copy)
        return KB_ENOMEM;
    memcpy(copy, end + 1, bytes);
    *cubin = copy;
    *cubin_bytes = bytes;
    return KB_OK;
}

static kb_status receive(kb_nvrtc *c, char *log, size_t cap,
                         unsigned char **cubin, size_t *n)
{
    const unsigned char *frame;
    size_t bytes = 0;
    kb_status st = await_ready(c, log, cap);
    if (!st)
        st = next_frame(c, kb_clock_now_ns() + c->build.timeout_ns + slack_ns,
                        &frame, &bytes);
    if (st) {
        stop(c);                /* what may still come is nobody's answer */
        return st == KB_ETIME ? KB_EWORKER : st;
    }
    st = read_answer(c, frame, bytes, log, cap, cubin, n);
    kb_frame_drop(&c->in);
    if (!st)
        kb_nvrtc_keep(&c->key, log, *cubin, *n);
    return st;
}

kb_status kb_nvrtc_end(kb_nvrtc *c, char *log, size_t cap,
                       unsigned char **cubin, size_t *n)
{
    assert(c->busy && cap > 0);
    c->busy = false;
    log[0] = '\0';
    if (!c->cached)
        return receive(c, log, cap, cubin, n);
    set_log(log, cap, c->log, strlen(c->log));
    free(c->log);
    c->log = NULL;
    *cubin = c->cubin;
    *n = c->cubin_bytes;
    c->cubin = NULL;
    return KB_OK;
}

kb_status kb_nvrtc_make(kb_nvrtc *c, const struct kb_nvrtc_build *b,
                        char *log, size_t cap, unsigned char **cubin,
                        size_t *n)
{
    log[0] = '\0';
    kb_status st = kb_nvrtc_begin(c, b);
    return st ? st : kb_nvrtc_end(c, log, cap, cubin, n);
}

kb_status kb_nvrtc_compile(const char *exe, const struct kb_nvrtc_build *b,
                           char *log, size_t cap, unsigned char **cubin,
                           size_t *n)
{
    const char *why = "";
    kb_nvrtc *c = NULL;
    log[0] = '\0';
    kb_status st = kb_nvrtc_open(exe, &c, &why);
    if (st) {
        set_log(log, cap, why, strlen(why));
        return st;
    }
    st = kb_nvrtc_make(c, b, log, cap, cubin, n);
    kb_nvrtc_close(c);
    return st;
}

/* "Function properties for NAME\n .. stack frame, N bytes spill stores, M
 * bytes spill loads". */
uint64_t kb_nvrtc_spill_bytes(const char *log, const char *kernel)
{
    static const char mark[] = "Function properties for ";
    size_t n = strlen(kernel);
    for (const char *at = log; (at = strstr(at, mark)); ) {
        unsigned long long stores = 0, loads = 0;
        at += sizeof mark - 1;
        if (strncmp(at, kernel, n) != 0 || at[n] != '\n')
            continue;
        const char *figures = strstr(at, "stack frame, ");
        if (figures && sscanf(figures, "stack frame, %llu bytes spill stores, "
                              "%llu bytes spill loads", &stores, &loads) == 2)
            return stores + loads;
    }
    return 0;
}
