#include "toolkit.h"

#include <dlfcn.h>
#include <glob.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host.h"

static const char *const folders[] = {
    "lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib",
    "extras/CUPTI/lib64"
};
enum { FOLDERS = sizeof folders / sizeof *folders, NEWEST = 13, OLDEST = 12 };

struct search {
    const char *stem;
    bool (*take)(const char *path, const char *root, void *arg);
    void *arg;
};

static bool look_in(const char *root, const struct search *s)
{
    char path[KB_TOOLKIT_PATH];
    if (!root || root[0] != '/')
        return false;
    for (int version = NEWEST; version >= OLDEST; version--)
        for (size_t i = 0; i < FOLDERS; i++) {
            int n = snprintf(path, sizeof path, "%s/%s/lib%s.so.%d", root,
                             folders[i], s->stem, version);
            if (n > 0 && (size_t)n < sizeof path && access(path, R_OK) == 0
                && s->take(path, root, s->arg))
                return true;
        }
    return false;
}

/* bin/kernelband and cuda/lib lie side by side. */
static bool look_beside(const struct search *s)
{
    char exe[KB_HOST_PATH_BYTES], root[KB_HOST_PATH_BYTES + 16];
    if (kb_host_exe(exe, sizeof exe))
        return false;
    snprintf(root, sizeof root, "%s/cuda", dirname(dirname(exe)));
    return look_in(root, s);
}

/* glob sorts by name: the last is the newest but for cuda-9 and cuda-10,
 * neither of which has a library of these versions. */
static bool look_in_versions(const struct search *s)
{
    glob_t found;
    bool good = false;
    if (glob("/usr/local/cuda-*", 0, NULL, &found))
        return false;
    for (size_t i = found.gl_pathc; i-- && !good; )
        good = look_in(found.gl_pathv[i], s);
    globfree(&found);
    return good;
}

bool kb_toolkit_search(enum kb_toolkit_place place, const char *stem,
                       bool (*take)(const char *path, const char *root,
                                    void *arg), void *arg)
{
    const struct search s = { stem, take, arg };
    const char *only = getenv("KERNELBAND_CUDA");
    if (place == KB_TOOLKIT_INSTALLED)
        return look_in("/usr/local/cuda", &s) || look_in_versions(&s);
    if (only && *only)
        return look_in(only, &s);
    return look_beside(&s) || look_in(getenv("CUDA_HOME"), &s)
        || look_in(getenv("CUDA_PATH"), &s)
        || look_in(getenv("CONDA_PREFIX"), &s);
}

void *kb_toolkit_open(const char *stem, int flags)
{
    char name[64];
    void *library = NULL;
    for (int version = NEWEST; version >= OLDEST && !library; version--) {
        snprintf(name, sizeof name, "lib%s.so.%d", stem, version);
        library = dlopen(name, flags);
    }
    return library;
}

const char *kb_toolkit_symbols(void *library, const char *const *name,
                               void *to)
{
    for (char *at = to; *name; name++, at += sizeof(void *)) {
        void *function = dlsym(library, *name);
        if (!function)
            break;
        memcpy(at, &function, sizeof function);
    }
    return *name;
}

kb_status kb_library_open(const struct kb_library *l, void *to, void **library,
                          const char **why)
{
    void *opened = NULL;
    for (size_t i = 0; i < 2 && l->names[i] && !opened; i++)
        opened = dlopen(l->names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (opened && !kb_toolkit_symbols(opened, l->functions, to)) {
        *library = opened;
        return KB_OK;
    }
    *why = opened ? l->old : l->absent;
    if (opened)
        dlclose(opened);
    return KB_ENODEV;
}
