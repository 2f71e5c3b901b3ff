#include "api.h"

#include <dlfcn.h>
#include <stdio.h>

#include "system/toolkit.h"

static const char *const calls[] = { KB_CUDA_MAP(KB_NAME_OF) NULL };

static const struct kb_library libcuda = {
    { "libcuda.so.1" },
    "there is no NVIDIA driver (libcuda.so.1): install one, or use "
    "device = \"cpu\"",
    "the NVIDIA driver is too old for this engine: it needs CUDA 11.4 (driver "
    "470) or later", calls
};

kb_status kb_cuda_api_open(struct kb_cuda_api *api, const char **why)
{
    *api = (struct kb_cuda_api){ .library = NULL };
    return kb_library_open(&libcuda, &api->Init, &api->library, why);
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
