#include "curl_api.h"

#include <dlfcn.h>
#include <stddef.h>

#include "system/toolkit.h"

static const struct kb_symbol calls[] = {
#define X(name) { "curl_" #name, offsetof(struct kb_curl, name) },
    KB_CURL_MAP(X)
#undef X
};

kb_status kb_curl_open(struct kb_curl *curl, const char **why)
{
    static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4" };
    *curl = (struct kb_curl){ 0 };
    for (size_t i = 0; i < sizeof names / sizeof *names && !curl->library; i++)
        curl->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!curl->library) {
        *why = "there is no libcurl.so.4 here: install libcurl (on Debian and "
               "Ubuntu the package libcurl4)";
        return KB_ENODEV;
    }
    const size_t n = sizeof calls / sizeof *calls;
    if (kb_toolkit_symbols(curl->library, calls, n, curl)) {
        *why = "the libcurl.so.4 here is too old: 7.62 or later is needed";
        dlclose(curl->library);
        curl->library = NULL;
        return KB_ENODEV;
    }
    if (curl->global_init(CURL_GLOBAL_DEFAULT)) {
        dlclose(curl->library);
        curl->library = NULL;
        return KB_ENOMEM;
    }
    return KB_OK;
}

void kb_curl_close(struct kb_curl *curl)
{
    if (!curl->library)
        return;
    curl->global_cleanup();
    dlclose(curl->library);
    curl->library = NULL;
}
