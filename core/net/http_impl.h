/* http_impl.h - what the files of http share: libcurl, and a transfer. */
#pragma once

#define CURL_DISABLE_DEPRECATION
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#include "http.h"

/* Some are macros too. */
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

#define KB_CURL_MAP(X)                                                      \
    X(global_init) X(global_cleanup) X(version_info) X(free)                \
    X(easy_init) X(easy_cleanup) X(easy_setopt) X(easy_getinfo)             \
    X(easy_strerror) X(slist_append) X(slist_free_all)                      \
    X(multi_init) X(multi_cleanup) X(multi_setopt) X(multi_add_handle)      \
    X(multi_remove_handle) X(multi_socket_action) X(multi_info_read)        \
    X(url) X(url_set) X(url_get) X(url_cleanup)

/* libcurl, opened when the first transfer is wanted: it brings thirty libraries,
 * whose loading takes six milliseconds. */
struct kb_curl {
    void *library;
#define X(name) __typeof__(curl_##name) *name;
    KB_CURL_MAP(X)
#undef X
};

enum kb_http_stop { STOP_NONE, STOP_HEAD, STOP_BODY, STOP_MEMORY };

struct transfer {
    struct transfer *next;
    const struct kb_curl *curl;
    CURL *easy;
    struct curl_slist *send;
    struct kb_http_request r;       /* but what its pointers named */
    size_t id;
    uint64_t waits, news;           /* its turn for a place, a look; 0: no */
    bool active, bodied;
    enum kb_http_stop stop;         /* why a callback broke it off */
    int64_t begun_ns, last_ns;
    int64_t told_ns;                /* of the last piece, or the first byte */
    curl_off_t sent;
    size_t seen_bytes;              /* of the body */
    size_t head_seen;
    const char *ca, *ca_from;       /* the file of certificates and what named
                                     * it; NULL: libcurl's own store, libcurl */
    char host[256];                 /* host:port, for texts */
    char why[CURL_ERROR_SIZE], text[1024];
    struct kb_http_answer answer;
};

/* A transfer ready to be added to a multi handle; taken back by _discard.
 * EINVAL with a static text in *why; ENOMEM. */
KB_STATUS kb_http_prepare(const struct kb_curl *curl,
                          const struct kb_http_request *r,
                          struct transfer **out, const char **why);
void kb_http_discard(struct transfer *t);

/* Fills result, reason and text of t's answer. */
void kb_http_explain(struct transfer *t, CURLcode code);
void kb_http_late(struct transfer *t, const char *reason);
