/* http_impl.h - what http.c and http_text.c share. */
#pragma once

#include "curl_api.h"
#include "http.h"
#include "system/io.h"

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
    int64_t begun_ns, last_ns, first_ns;
    int64_t told_ns;                /* of the last piece, or the first byte */
    curl_off_t sent;
    size_t seen_bytes;              /* of the body */
    struct kb_bytes head, body;
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
