/* curl_api.h - libcurl, opened when the first transfer is wanted: it brings
 * thirty libraries, whose loading takes six milliseconds.
 */
#pragma once

#define CURL_DISABLE_DEPRECATION
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#include "kb.h"

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

struct kb_curl {
    void *library;
#define X(name) __typeof__(curl_##name) *name;
    KB_CURL_MAP(X)
#undef X
};

/* Opens and initialises libcurl; *curl is zeroed. ENODEV with *why (static)
 * when there is none, or one older than 7.62. ENOMEM. */
KB_STATUS kb_curl_open(struct kb_curl *curl, const char **why);
void kb_curl_close(struct kb_curl *curl);
