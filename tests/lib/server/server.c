/* server - an HTTP/1.1 server for tests, on 127.0.0.1, that answers as a text
 * file says: byte by byte, with every kind of trouble.
 *
 *   server [--record DIR] [--tls CERT KEY] SCENARIO
 *   server [--record DIR] [--tls CERT KEY] --delay MS TEXT
 *                               answers everything with TEXT after MS
 *   server --certificates DIR   makes ca.pem, good.pem, expired.pem,
 *                               other.pem, each with its .key
 *
 * It prints "port N pid P" and serves until its parent dies, what reads its
 * stdout goes away, or it is killed.
 * With --record each request is kept, head and body as received, in DIR/1,
 * DIR/2, .. in the order in which they were complete.
 *
 * A scenario is lines; # begins a comment line; spaces in front do not matter.
 *
 *   on METHOD PATH       begins an answer. METHOD may be ANY; a PATH that ends
 *                        in * matches what begins so. The first answer that
 *                        matches and is not used up serves; else it is a 404.
 *   times N              this answer serves N requests, then the next that
 *                        matches does
 *   has "text"           serves only requests with this text in head or body
 *
 * and then what is done, in order:
 *
 *   head STATUS [REASON]     the status line
 *   header NAME: VALUE       one header line
 *   blank                    the empty line after the headers
 *   body "text"              Content-Length, the empty line, the text
 *   json TEXT                the same, the text being the rest of the line
 *   file PATH                the same, of a file's bytes
 *   chunked                  Transfer-Encoding: chunked and the empty line, then
 *   chunk "text"               one chunk
 *   data TEXT                  a chunk "data: TEXT\n\n", the rest of the line
 *   last                       the closing chunk
 *   send "text"              these bytes as they are, head or body
 *   raw PATH                 a file's bytes as they are
 *   many N "text"            N times these bytes
 *   drip TIME N "text"       N bytes at once, TIME between
 *   wait TIME                10ms, 2s, 500us
 *   stall                    nothing more; the connection stays open
 *   reset                    breaks the connection (RST)
 *   close                    ends it in good order
 *
 * Texts in quotes know \n \r \t \" \\ \xHH. What was sent before a wait leaves at
 * once, so waits are also where the pieces end that a reader sees. Without
 * stall, reset or close the connection takes the next request.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "scenario.h"

enum { MOST_REQUEST = 64 << 20, EVENTS = 256 };

struct connection {
    int fd;
    SSL *ssl;
    bool shaken, stalled, writing;
    char *in;
    size_t used, cap, request;          /* bytes of the request being answered */
    const struct op *op;                /* NULL: reading a request */
    size_t sent;                        /* of the current op */
    int64_t until_ns;                   /* 0: not waiting */
    struct connection *next, *before;
};

struct server {
    int epoll, listener;
    SSL_CTX *tls;
    struct answer *answers;
    const char *record;
    long requests;
    struct connection *first;
};

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void drop(struct server *s, struct connection *c, bool reset)
{
    struct linger hard = { .l_onoff = 1 };
    if (reset)
        setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    else if (c->ssl && c->shaken)
        SSL_shutdown(c->ssl);
    SSL_free(c->ssl);
    close(c->fd);
    if (c->next)
        c->next->before = c->before;
    if (c->before)
        c->before->next = c->next;
    else
        s->first = c->next;
    free(c->in);
    free(c);
}

static void want(struct server *s, struct connection *c, bool writing)
{
    if (c->writing == writing)
        return;
    c->writing = writing;
    struct epoll_event e = { .events = EPOLLIN | (writing ? EPOLLOUT : 0), .data.ptr = c };
    epoll_ctl(s->epoll, EPOLL_CTL_MOD, c->fd, &e);
}

/* > 0 bytes; 0: later; -1: the connection is over. */
static ssize_t take(struct connection *c, char *to, size_t n)
{
    if (c->ssl) {
        int got = SSL_read(c->ssl, to, (int)n);
        int why = got > 0 ? 0 : SSL_get_error(c->ssl, got);
        return got > 0 ? got : why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? 0 : -1;
    }
    ssize_t got = read(c->fd, to, n);
    return got > 0 ? got : got < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

static ssize_t put(struct connection *c, const char *from, size_t n)
{
    if (c->ssl) {
        int put = SSL_write(c->ssl, from, n > 16384 ? 16384 : (int)n);
        int why = put > 0 ? 0 : SSL_get_error(c->ssl, put);
        return put > 0 ? put : why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? 0 : -1;
    }
    ssize_t put = send(c->fd, from, n, MSG_NOSIGNAL);
    return put >= 0 ? put : errno == EAGAIN || errno == EINTR ? 0 : -1;
}

/* Sends what the op may send now. 1: it is done; 0: later; -1: gone. */
static int send_op(struct server *s, struct connection *c)
{
    const struct op *op = c->op;
    while (c->sent < op->n) {
        size_t n = op->n - c->sent;
        if (op->piece && n > op->piece)
            n = op->piece;
        ssize_t w = put(c, op->bytes + c->sent, n);
        if (w < 0)
            return -1;
        want(s, c, w == 0);
        if (w == 0)
            return 0;
        c->sent += (size_t)w;
        if (op->piece && c->sent < op->n) {
            c->until_ns = now_ns() + op->ns;
            return 0;
        }
    }
    return 1;
}

/* Goes on with an answer. false: the connection is gone. */
static bool perform(struct server *s, struct connection *c)
{
    while (c->op && !c->stalled) {
        if (c->until_ns > now_ns())
            return true;
        bool waited = c->until_ns != 0;
        c->until_ns = 0;
        int done = 1;
        switch (c->op->kind) {
        case OP_SEND: done = send_op(s, c); break;
        case OP_WAIT:
            if (!waited) {
                c->until_ns = now_ns() + c->op->ns;
                done = 0;
            }
            break;
        case OP_STALL: c->stalled = true; break;
        case OP_RESET: case OP_CLOSE:
            drop(s, c, c->op->kind == OP_RESET);
            return false;
        }
        if (done < 0) {
            drop(s, c, false);
            return false;
        }
        if (!done)
            return true;
        c->op = c->op->next;
        c->sent = 0;
    }
    if (!c->op && !c->stalled) {
        c->used -= c->request;
        memmove(c->in, c->in + c->request, c->used);
        c->request = 0;
    }
    return true;
}

static void record(struct server *s, const char *bytes, size_t n)
{
    char path[4096], part[4200];
    s->requests++;
    if (!s->record)
        return;
    snprintf(path, sizeof path, "%s/%ld", s->record, s->requests);
    snprintf(part, sizeof part, "%s.part", path);
    FILE *f = fopen(part, "w");
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f) || rename(part, path))
        perror(part);
}

/* Whether a whole request is there; then c->request is its length. */
static bool whole(struct connection *c)
{
    char *end = memmem(c->in, c->used, "\r\n\r\n", 4);
    if (!end)
        return false;
    size_t head = (size_t)(end - c->in) + 4, body = 0;
    for (char *line = c->in; line < end; ) {
        char *eol = memmem(line, (size_t)(end - line) + 2, "\r\n", 2);
        if (!strncasecmp(line, "content-length:", 15))
            body = strtoul(line + 15, NULL, 10);
        line = eol + 2;
    }
    if (body > MOST_REQUEST || c->used < head + body)
        return false;
    c->request = head + body;
    return true;
}

static void answer(struct server *s, struct connection *c)
{
    static struct op not_found = { .kind = OP_SEND };
    static char text[] = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
    char method[16] = "", path[1024] = "";
    record(s, c->in, c->request);
    sscanf(c->in, "%15s %1023s", method, path);
    struct answer *a = scenario_find(s->answers, method, path, c->in, c->request);
    not_found.bytes = text;
    not_found.n = sizeof text - 1;
    c->op = a ? a->ops : &not_found;
    c->sent = 0;
    c->until_ns = 0;
}

static void serve(struct server *s, struct connection *c)
{
    if (c->ssl && !c->shaken) {
        int rc = SSL_accept(c->ssl), why = rc == 1 ? 0 : SSL_get_error(c->ssl, rc);
        if (rc != 1 && why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) {
            drop(s, c, false);
            return;
        }
        if (rc != 1)
            return;
        c->shaken = true;
    }
    for (ssize_t n = 1; n > 0; ) {
        if (c->cap - c->used < 4097) {
            size_t cap = c->cap ? 2 * c->cap : 8192;
            char *grown = cap > 2 * (size_t)MOST_REQUEST ? NULL : realloc(c->in, cap);
            if (!grown) {
                drop(s, c, true);
                return;
            }
            c->in = grown;
            c->cap = cap;
        }
        n = take(c, c->in + c->used, c->cap - c->used - 1);
        if (n < 0) {
            drop(s, c, false);
            return;
        }
        c->used += (size_t)n;
        c->in[c->used] = '\0';
    }
    do {
        if (!c->op && c->used && whole(c))
            answer(s, c);
        if (!perform(s, c))
            return;
    } while (!c->op && !c->stalled && c->used && whole(c));
}

static void accept_all(struct server *s)
{
    for (int fd; (fd = accept4(s->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0; ) {
        struct connection *c = calloc(1, sizeof *c);
        if (!c)
            abort();
        int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        c->fd = fd;
        if (s->tls) {
            c->ssl = SSL_new(s->tls);
            SSL_set_fd(c->ssl, fd);
        }
        c->next = s->first;
        if (s->first)
            s->first->before = c;
        s->first = c;
        struct epoll_event e = { .events = EPOLLIN, .data.ptr = c };
        epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e);
    }
}

static void loop(struct server *s)
{
    struct epoll_event e[EVENTS];
    for (;;) {
        int64_t now = now_ns(), soonest = now + 1000000000;
        for (struct connection *c = s->first; c; c = c->next)
            if (c->until_ns && c->until_ns < soonest)
                soonest = c->until_ns;
        int ms = soonest <= now ? 0 : (int)((soonest - now) / 1000000) + 1;
        int n = epoll_wait(s->epoll, e, EVENTS, ms);
        for (int i = 0; i < n; i++)
            if (e[i].data.ptr == s)
                exit(0);
            else if (!e[i].data.ptr)
                accept_all(s);
            else
                serve(s, e[i].data.ptr);
        now = now_ns();
        for (struct connection *c = s->first, *next; c; c = next) {
            next = c->next;
            if (c->until_ns && c->until_ns <= now)
                serve(s, c);
        }
    }
}

static void open_listener(struct server *s)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof at;
    s->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event e = { .events = EPOLLIN };
    if (s->listener < 0 || s->epoll < 0 || bind(s->listener, (struct sockaddr *)&at, size)
        || listen(s->listener, 4096)
        || getsockname(s->listener, (struct sockaddr *)&at, &size)
        || epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->listener, &e)) {
        perror("server");
        exit(1);
    }
    /* When nobody reads what it printed, the test is over, however it ended. */
    struct epoll_event gone = { .data.ptr = s };
    epoll_ctl(s->epoll, EPOLL_CTL_ADD, STDOUT_FILENO, &gone);
    printf("port %d pid %d\n", ntohs(at.sin_port), (int)getpid());
    fflush(stdout);
}

static void use_tls(struct server *s, const char *certificate, const char *key)
{
    s->tls = SSL_CTX_new(TLS_server_method());
    if (!s->tls || SSL_CTX_use_certificate_file(s->tls, certificate, SSL_FILETYPE_PEM) != 1
        || SSL_CTX_use_PrivateKey_file(s->tls, key, SSL_FILETYPE_PEM) != 1) {
        fprintf(stderr, "server: %s or %s cannot be used\n", certificate, key);
        exit(2);
    }
    SSL_CTX_set_mode(s->tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}

static struct answer *delayed(const char *ms, const char *text)
{
    static struct op waits = { .kind = OP_WAIT }, sends = { .kind = OP_SEND };
    static struct answer a = { .method = "ANY", .path = "*", .times = -1, .ops = &waits };
    size_t room = strlen(text) + 256;
    sends.bytes = calloc(1, room);
    if (!sends.bytes)
        abort();
    sends.n = (size_t)snprintf(sends.bytes, room, "HTTP/1.1 200 OK\r\nContent-Type: "
        "application/json\r\nContent-Length: %zu\r\n\r\n%s", strlen(text), text);
    waits.ns = strtol(ms, NULL, 10) * 1000000;
    waits.next = &sends;
    return &a;
}

int main(int argc, char **argv)
{
    struct server s = { 0 };
    struct rlimit files;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, SIG_IGN);            /* a test's Ctrl-C is not for it */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!getrlimit(RLIMIT_NOFILE, &files)) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--certificates") && i + 1 < argc) {
            certificates_make(argv[i + 1]);
            return 0;
        } else if (!strcmp(argv[i], "--record") && i + 1 < argc)
            s.record = argv[++i];
        else if (!strcmp(argv[i], "--tls") && i + 2 < argc) {
            use_tls(&s, argv[i + 1], argv[i + 2]);
            i += 2;
        } else if (!strcmp(argv[i], "--delay") && i + 2 < argc) {
            s.answers = delayed(argv[i + 1], argv[i + 2]);
            i += 2;
        } else
            s.answers = scenario_read(argv[i]);
    }
    if (!s.answers) {
        fprintf(stderr, "server: no scenario; tests/lib/server/server.c says how one is written\n");
        return 2;
    }
    open_listener(&s);
    loop(&s);
}
