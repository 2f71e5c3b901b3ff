#include "curl_api.h"

#include <dlfcn.h>

#include "system/toolkit.h"

#define NAME(name) "curl_" #name,
static const char *const functions[] = { KB_CURL_MAP(NAME) NULL };

static const struct kb_library libcurl = {
    { "libcurl.so.4", "libcurl-gnutls.so.4" },
    "there is no libcurl.so.4 here: install libcurl (on Debian and Ubuntu the "
    "package libcurl4)",
    "the libcurl.so.4 here is too old: 7.62 or later is needed",
    functions
};

kb_status kb_curl_open(struct kb_curl *curl, const char **why)
{
    kb_status st = kb_library_open(&libcurl, &curl->global_init, &curl->library, why);
    if (!st && curl->global_init(CURL_GLOBAL_DEFAULT)) {
        dlclose(curl->library);
        curl->library = NULL;
        st = KB_ENOMEM;
    }
    return st;
}

void kb_curl_close(struct kb_curl *curl)
{
    if (!curl->library)
        return;
    curl->global_cleanup();
    dlclose(curl->library);
    curl->library = NULL;
}
