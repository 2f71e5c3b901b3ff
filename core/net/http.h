/* http.h - many HTTP transfers at once, none of which blocks (libcurl's multi
 * interface; its descriptors are one of kb_wait's, an epoll).
 *
 *   address   http and https; the peer's certificate is always verified;
 *             redirects are answers like any other; nothing is decompressed
 *   trust     the request's ca_file, else CURL_CA_BUNDLE, else SSL_CERT_FILE
 *             and SSL_CERT_DIR, else the file libcurl was built with, else
 *             where distributions keep theirs, else libcurl's folder
 *   proxy     http_proxy, HTTPS_PROXY, ALL_PROXY, NO_PROXY, as libcurl reads
 *             them; what the request says is never told to a CONNECT proxy
 *   bounds    max_bytes of body, KB_HTTP_HEAD_BYTES of headers over all
 *             answers a server gives before the last
 *   clocks    all begin when the transfer gets one of the `limit` places:
 *             connect_ns for name, connection and TLS, and total_ns for all:
 *             libcurl measures both. idle_ns without a byte either way once
 *             connected: measured here, as libcurl's has whole seconds only
 *   pieces    of one that streams are told when gather_ns has passed since the
 *             last or KB_HTTP_PIECE_BYTES have come
 *
 * No value of a header, no user and no query of an address is ever in a text.
 *
 *   failures  name, proxy_name: no address is known for the host, the proxy
 *             refused, proxy: the host, the proxy does not let us connect
 *             connect, idle, total: that clock ran out
 *             nothing, reset: it closed before, amid the answer
 *             head, body: more bytes than the bound
 *             protocol: not HTTP; ca_file: cannot be read; certificate: is not
 *             accepted; tls: not agreed on; memory
 */
#pragma once

#include "kb.h"
#include "system/io.h"
#include "system/wait.h"

enum { KB_HTTP_HEAD_BYTES = 65536, KB_HTTP_LIMIT = 4096,
       KB_HTTP_PIECE_BYTES = 65536 };

typedef struct kb_http kb_http;

struct kb_http_request {
    const char *url;
    const char *method;             /* "GET" or "POST" */
    const char *const *headers;     /* name, value, name, value, .. */
    size_t header_count;            /* pairs */
    const void *body;               /* of a POST */
    size_t body_bytes, max_bytes;
    int64_t connect_ns, idle_ns, total_ns;
    const char *ca_file;            /* NULL or "": the environment's */
    bool stream;                    /* the body is fetched piece by piece */
    int64_t gather_ns;
};

struct kb_http_answer {
    bool done;
    const char *failure;        /* in one word; "": none, also of a 500 */
    int64_t bound;              /* that failure names: ns of connect, idle and
                                 * total, bytes of head and body; of proxy its
                                 * status */
    const char *host;           /* host:port */
    const char *detail;         /* what libcurl or the system says of it */
    const char *ca, *ca_from;   /* the file of certificates and what named it;
                                 * NULL: libcurl's own store, libcurl */
    uint64_t seen_bytes;        /* of the body, those taken with them */
    int status;                 /* 0: none came */
    int version;                /* 10, 11, 20, 30; 0: none came */
    struct kb_bytes head;       /* name '\0' value '\0' .., names lower case */
    struct kb_bytes body;       /* what has come and was not taken */
    double first_s, total_s;    /* to the first byte of the body, to the end;
                                 * first_s < 0: none came */
};

/* limit: transfers at once, 1 .. KB_HTTP_LIMIT, less where the process may not
 * open that many files; the rest wait their turn. EINVAL, ENOMEM, ESYS; ENODEV
 * with a static text in *why when there is no libcurl. */
KB_STATUS kb_http_new(size_t limit, kb_http **out, const char **why);
void kb_http_free(kb_http *h);

/* Copies what it needs of request. *id >= 1, never given again. EINVAL with a
 * static text in *why; ENOMEM. */
KB_STATUS kb_http_start(kb_http *h, const struct kb_http_request *request,
                        size_t *id, const char **why);

/* A transfer that has ended or, of those that stream, has bytes; 0: none. It is
 * then not named again before something new came of it. */
size_t kb_http_next(kb_http *h);

/* Valid until the next call on h but _taken, which forgets the body so far. NULL:
 * no transfer that has not ended by kb_http_end has that id. */
const struct kb_http_answer *kb_http_look(kb_http *h, size_t id);
void kb_http_taken(kb_http *h, size_t id);

/* Frees the transfer; one under way is broken off. */
void kb_http_end(kb_http *h, size_t id);

/* How many have not ended by kb_http_end. */
size_t kb_http_count(const kb_http *h);

/* For kb_wait; ready when _next would name one. */
extern const struct kb_source_kind kb_http_source;
