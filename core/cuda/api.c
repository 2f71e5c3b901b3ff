#include "api.h"

#include <dlfcn.h>
#include <stdio.h>

#include "system/toolkit.h"

static const struct kb_symbol calls[] = {
#define X(field, name, arguments) \
    { #name, offsetof(struct kb_cuda_api, field) },
    KB_CUDA_MAP(X)
#undef X
};

kb_status kb_cuda_api_open(struct kb_cuda_api *api, const char **why)
{
    *api = (struct kb_cuda_api){ .library = dlopen("libcuda.so.1",
                                                   RTLD_NOW | RTLD_LOCAL) };
    if (!api->library) {
        *why = "there is no NVIDIA driver (libcuda.so.1): install one, or use "
               "device = \"cpu\"";
        return KB_ENODEV;
    }
    if (kb_toolkit_symbols(api->library, calls, sizeof calls / sizeof *calls,
                           api)) {
        *why = "the NVIDIA driver is too old for this engine: it needs "
               "CUDA 11.4 (driver 470) or later";
        kb_cuda_api_close(api);
        return KB_ENODEV;
    }
    return KB_OK;
}

void kb_cuda_api_close(struct kb_cuda_api *api)
{
    if (api->library)
        dlclose(api->library);
    api->library = NULL;
}

const char *kb_cuda_api_say(const struct kb_cuda_api *api, cu_result code,
                            char *text, size_t cap)
{
    const char *name = NULL, *words = NULL;
    api->GetErrorName(code, &name);
    api->GetErrorString(code, &words);
    snprintf(text, cap, "%s: %s", name ? name : "unknown CUDA error",
             words ? words : "");
    return text;
}
