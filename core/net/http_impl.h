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

struct transfer {
    struct transfer *next;
    const struct kb_curl *curl;
    CURL *easy;
    struct curl_slist *send;
    struct kb_http_request r;       /* but what its pointers named */
    size_t id;
    uint64_t waits, news;           /* its turn for a place, a look; 0: no */
    bool active, bodied;
    int64_t begun_ns, last_ns;
    int64_t told_ns;                /* of the last piece, or the first byte */
    curl_off_t sent;
    size_t seen_bytes;              /* of the body */
    size_t head_seen;
    char host[256], why[CURL_ERROR_SIZE];
    struct kb_http_answer answer;
};

/* A transfer ready to be added to a multi handle; taken back by _discard.
 * EINVAL with a static text in *why; ENOMEM. */
KB_STATUS kb_http_prepare(const struct kb_curl *curl,
                          const struct kb_http_request *r,
                          struct transfer **out, const char **why);
void kb_http_discard(struct transfer *t);

/* Was the connection agreed on, TLS and all? */
bool kb_http_connected(const struct transfer *t);

/* Say in t's answer why it failed; the second, what libcurl ended it with,
 * nothing when that has been said. */
void kb_http_fail(struct transfer *t, const char *failure, int64_t bound);
void kb_http_explain(struct transfer *t, CURLcode code);
