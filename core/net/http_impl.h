/* http_impl.h - what http.c and http_text.c share. */
#ifndef KB_HTTP_IMPL_H
#define KB_HTTP_IMPL_H

#include "curl_api.h"
#include "http.h"

enum kb_http_stop { STOP_NONE, STOP_HEAD, STOP_BODY, STOP_MEMORY };

enum { KB_HTTP_TICK_NS = 50000000 };

/* What one look at a connection brought. */
struct round {
    bool other;                     /* than bytes of streams */
    size_t bytes;
    int64_t rest_ns;                /* before the next look */
};

/* Descriptors of connections, as libcurl wants them watched. That of a stream
 * under way is in an epoll of its own, slow, which is looked at on the tick alone;
 * and rests for some ticks, unwatched, when it has been read. */
struct kb_lines {
    int epoll, slow;
    int64_t tick_ns;                /* no look at slow before */
    struct line *line;              /* line[fd] */
    size_t n;
};

/* ESYS. After _open, also when it failed, _close. */
KB_MUST_USE kb_status kb_lines_open(struct kb_lines *l);
void kb_lines_close(struct kb_lines *l);

bool kb_lines_watch(struct kb_lines *l, int fd, uint32_t events);
void kb_lines_forget(struct kb_lines *l, int fd);

/* After a look at fd. A stream that brought a little and nothing else rests. */
void kb_lines_rest(struct kb_lines *l, int fd, const struct round *r);
void kb_lines_end_rests(struct kb_lines *l, int64_t until_ns);

/* When the first rest ends, INT64_MAX: nothing rests; the first tick after ns. */
int64_t kb_lines_wake(const struct kb_lines *l);
int64_t kb_lines_tick(int64_t ns);

struct transfer {
    const struct kb_curl *curl;
    CURL *easy;
    struct curl_slist *send;
    struct transfer *next;          /* in the list of ready or waiting ones */
    size_t id;
    bool active, ready, stream, bodied;
    enum kb_http_stop stop;         /* why a callback broke it off */
    int64_t begun_ns, last_ns, first_ns;
    int64_t connect_ns, idle_ns, total_ns, gather_ns;
    int64_t told_ns;                /* of the last piece, or the first byte */
    struct round *round;
    curl_off_t sent;
    size_t max_bytes, seen_bytes;   /* of the body */
    char *head, *body;
    size_t head_used, head_seen, body_used, body_cap;
    const char *ca, *ca_from;
    char host[256];                 /* host:port, for texts */
    char why[CURL_ERROR_SIZE], text[1024];
    struct kb_http_answer answer;
};

/* A transfer ready to be added to a multi handle; taken back by _discard.
 * EINVAL with a static text in *why; ENOMEM. */
KB_MUST_USE kb_status kb_http_prepare(const struct kb_curl *curl,
                                      const struct kb_http_request *r,
                                      struct transfer **out, const char **why);
void kb_http_discard(struct transfer *t);

/* Fills result, reason and text of t's answer. */
void kb_http_explain(struct transfer *t, CURLcode code);
void kb_http_late(struct transfer *t, const char *reason);

/* Sets t's ca and ca_from; both NULL: libcurl's own. Whether either is a file. */
void kb_http_find_ca(struct transfer *t, const char *given);
bool kb_http_has_ca(const struct transfer *t);

#endif
