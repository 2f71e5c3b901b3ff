#include "serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <dlfcn.h>
#include <microhttpd.h>

#include "clock.h"
#include "system/interrupt.h"
#include "system/io.h"
#include "system/toolkit.h"

enum { MOST_CONNECTIONS = 32, CONNECTION_BYTES = 16384, SILENCE_S = 10 };

#define MHD_MAP(X)                                                          \
    X(start_daemon) X(stop_daemon) X(get_daemon_info) X(run_wait)           \
    X(create_response_from_buffer) X(add_response_header) X(queue_response) \
    X(destroy_response) X(lookup_connection_value)

struct mhd {
    void *library;
#define X(name) __typeof__(MHD_##name) *name;
    MHD_MAP(X)
#undef X
};

#define NAME(name) "MHD_" #name,
static const char *const functions[] = { MHD_MAP(NAME) NULL };

static const struct kb_library libmicrohttpd = {
    { "libmicrohttpd.so.12", "libmicrohttpd.so" },
    "there is no libmicrohttpd.so.12 here: install libmicrohttpd (on Debian "
    "and Ubuntu the package libmicrohttpd12)",
    "the libmicrohttpd here is too old", functions
};

struct text {
    char path[KB_SERVE_PATH_BYTES];
    struct MHD_Response *response;
};

struct kb_serve {
    struct mhd mhd;
    struct MHD_Daemon *daemon;
    uint16_t port;
    char token[KB_SERVE_TOKEN_BYTES + 1];
    size_t token_bytes;
    char host[2][32];           /* what Host may say */
    struct text texts[KB_SERVE_MOST];
    size_t count;
};

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_/"
                              "abcdefghijklmnopqrstuvwxyz0123456789";

/* Headers that every answer has; false when there is no memory. */
static bool add_headers(const kb_serve *s, struct MHD_Response *r,
                        const char *type, const char *policy)
{
    const char *const headers[][2] = {
        { "Content-Type", type },
        { "Content-Security-Policy",
          policy ? policy : "default-src 'none'; frame-ancestors 'none'" },
        { "Cache-Control", "no-store" },
        { "X-Content-Type-Options", "nosniff" },
        { "X-Frame-Options", "DENY" },
        { "Cross-Origin-Resource-Policy", "same-origin" },
        { "Cross-Origin-Opener-Policy", "same-origin" },
        { "Referrer-Policy", "no-referrer" },
    };
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        if (s->mhd.add_response_header(r, headers[i][0], headers[i][1])
            != MHD_YES)
            return false;
    return true;
}

static struct MHD_Response *make(const kb_serve *s, const void *bytes, size_t n,
                                 const char *type, const char *policy)
{
    /* The library copies; it only lacks the const. */
    union { const void *in; void *out; } cast = { bytes };
    struct MHD_Response *r =
        s->mhd.create_response_from_buffer(n, cast.out, MHD_RESPMEM_MUST_COPY);
    if (r && !add_headers(s, r, type, policy)) {
        s->mhd.destroy_response(r);
        r = NULL;
    }
    return r;
}

/* What follows "/TOKEN/" in url, NULL when that is not how it begins. The time
 * it takes says how long url is and nothing of the token. */
static const char *below_token(const kb_serve *s, const char *url)
{
    size_t n = strlen(url);
    unsigned differ = n < s->token_bytes + 2;
    for (size_t i = 0; i < s->token_bytes; i++) {
        unsigned char c = i + 1 < n ? (unsigned char)url[i + 1] : 0;
        differ |= c ^ (unsigned char)s->token[i];
    }
    if (differ || url[0] != '/' || url[s->token_bytes + 1] != '/')
        return NULL;
    return url + s->token_bytes + 2;
}

static struct text *find(kb_serve *s, const char *path)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->texts[i].path, path) == 0)
            return &s->texts[i];
    return NULL;
}

static enum MHD_Result refuse(kb_serve *s, struct MHD_Connection *c,
                              unsigned status, const char *text)
{
    struct MHD_Response *r = make(s, text, strlen(text),
                                  "text/plain; charset=utf-8", NULL);
    enum MHD_Result done = r ? s->mhd.queue_response(c, status, r) : MHD_NO;
    if (r)
        s->mhd.destroy_response(r);
    return done;
}

static enum MHD_Result answer(void *self, struct MHD_Connection *c,
                              const char *url, const char *method,
                              const char *version, const char *upload,
                              size_t *upload_bytes, void **state)
{
    kb_serve *s = self;
    (void)version;
    (void)upload;
    (void)upload_bytes;
    bool reads = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
    if (reads && !*state) {     /* the headers are in; now the whole request */
        *state = s;
        return MHD_YES;
    }
    const char *host = s->mhd.lookup_connection_value(c, MHD_HEADER_KIND,
                                                      MHD_HTTP_HEADER_HOST);
    bool ours = host && (!strcasecmp(host, s->host[0])
                         || !strcasecmp(host, s->host[1]));
    const char *path = ours ? below_token(s, url) : NULL;
    if (!path)
        return refuse(s, c, MHD_HTTP_FORBIDDEN,
                      "403: not without the address that was printed\n");
    if (!reads)
        return refuse(s, c, MHD_HTTP_METHOD_NOT_ALLOWED,
                      "405: this page can only be read\n");
    const struct text *t = find(s, path);
    if (!t)
        return refuse(s, c, MHD_HTTP_NOT_FOUND, "404: there is nothing here\n");
    return s->mhd.queue_response(c, MHD_HTTP_OK, t->response);
}

static kb_status start(kb_serve *s, uint16_t port)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    errno = 0;
    s->daemon = s->mhd.start_daemon(MHD_USE_EPOLL, port, NULL, NULL, answer, s,
        MHD_OPTION_SOCK_ADDR, &at,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)MOST_CONNECTIONS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SILENCE_S, MHD_OPTION_END);
    if (!s->daemon) {
        if (!errno)
            errno = EADDRINUSE;
        return KB_ESYS;
    }
    const union MHD_DaemonInfo *bound =
        s->mhd.get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
    if (!bound)
        return KB_ESYS;
    s->port = bound->port;
    snprintf(s->host[0], sizeof s->host[0], "127.0.0.1:%u", (unsigned)s->port);
    snprintf(s->host[1], sizeof s->host[1], "localhost:%u", (unsigned)s->port);
    return KB_OK;
}

kb_status kb_serve_open(uint16_t port, const char *token, kb_serve **out,
                        const char **why)
{
    *why = "";
    size_t n = strlen(token);
    if (n < 16 || n > KB_SERVE_TOKEN_BYTES || strspn(token, letters) != n
        || strchr(token, '/'))
        return KB_EINVAL;
    kb_serve *s = calloc(1, sizeof *s);
    if (!s)
        return KB_ENOMEM;
    memcpy(s->token, token, n + 1);
    s->token_bytes = n;
    kb_status st = kb_library_open(&libmicrohttpd, &s->mhd.start_daemon,
                                   &s->mhd.library, why);
    KB_THEN(st, start(s, port));
    return KB_HAND_OVER(st, s, kb_serve_close, out);
}

void kb_serve_close(kb_serve *s)
{
    if (!s)
        return;
    int saved = errno;
    if (s->daemon)
        s->mhd.stop_daemon(s->daemon);
    for (size_t i = 0; i < s->count; i++)
        s->mhd.destroy_response(s->texts[i].response);
    if (s->mhd.library)
        dlclose(s->mhd.library);
    free(s);
    errno = saved;
}

uint16_t kb_serve_port(const kb_serve *s)
{
    return s->port;
}

kb_status kb_serve_publish(kb_serve *s, const char *path, const char *type,
                           const char *policy, const void *bytes, size_t n)
{
    if (strlen(path) >= KB_SERVE_PATH_BYTES || path[strspn(path, letters)])
        return KB_EINVAL;
    struct text *t = find(s, path);
    if (!t && s->count == KB_SERVE_MOST)
        return KB_EINVAL;
    struct MHD_Response *r = make(s, bytes, n, type, policy);
    if (!r)
        return KB_ENOMEM;
    if (t) {
        s->mhd.destroy_response(t->response);   /* one under way holds it too */
    } else {
        t = &s->texts[s->count++];
        memcpy(t->path, path, strlen(path) + 1);
    }
    t->response = r;
    return KB_OK;
}

kb_status kb_serve_turn(kb_serve *s, int64_t timeout_ns)
{
    int64_t end_ns = kb_clock_now_ns() + timeout_ns;
    int before = kb_interrupt_count(), ms;
    do {
        ms = kb_io_left_ms(end_ns);
        if (s->mhd.run_wait(s->daemon, ms) != MHD_YES)
            return KB_ESYS;
        if (kb_interrupt_count() != before)
            return KB_EINTR;
    } while (ms > 0);
    return KB_OK;
}
