#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nvrtc.h"
#include "system/host.h"

static const char *const sonames[] = { "libnvrtc.so.13", "libnvrtc.so.12" };
static const char *const lib_dirs[] = {
    "lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"
};
static const char *const include_dirs[] = {
    "include", "targets/x86_64-linux/include", "targets/sbsa-linux/include"
};
enum { SONAMES = 2, LIB_DIRS = 4, INCLUDE_DIRS = 3 };

struct place {
    char lib[KB_NVRTC_PATH_BYTES], include[KB_NVRTC_PATH_BYTES];
};

static bool real(char *out, const char *path)
{
    char whole[KB_NVRTC_PATH_BYTES];    /* PATH_MAX, as realpath wants */
    if (!realpath(path, whole))
        return false;
    memcpy(out, whole, sizeof whole);
    return true;
}

static bool has_headers(char *out, const char *dir)
{
    char probe[KB_NVRTC_PATH_BYTES];
    int n = snprintf(probe, sizeof probe, "%s/cuda_fp16.h", dir);
    return n > 0 && (size_t)n < sizeof probe && access(probe, R_OK) == 0
        && real(out, dir);
}

static void find_headers(const char *root, struct place *p)
{
    char dir[KB_NVRTC_PATH_BYTES];
    p->include[0] = '\0';
    for (size_t i = 0; i < INCLUDE_DIRS; i++) {
        int n = snprintf(dir, sizeof dir, "%s/%s", root, include_dirs[i]);
        if (n > 0 && (size_t)n < sizeof dir && has_headers(p->include, dir))
            return;
    }
}

static bool look_in(const char *root, struct place *p)
{
    char path[KB_NVRTC_PATH_BYTES];
    if (!root || root[0] != '/')
        return false;
    for (size_t s = 0; s < SONAMES; s++)
        for (size_t d = 0; d < LIB_DIRS; d++) {
            int n = snprintf(path, sizeof path, "%s/%s/%s", root, lib_dirs[d],
                             sonames[s]);
            if (n > 0 && (size_t)n < sizeof path && access(path, R_OK) == 0
                && real(p->lib, path)) {
                find_headers(root, p);
                return true;
            }
        }
    return false;
}

/* glob sorts by name: the last is the newest but for cuda-9 and cuda-10,
 * neither of which has a library named above. */
static bool look_in_versions(struct place *p)
{
    glob_t found;
    bool good = false;
    if (glob("/usr/local/cuda-*", 0, NULL, &found))
        return false;
    for (size_t i = found.gl_pathc; i-- && !good; )
        good = look_in(found.gl_pathv[i], p);
    globfree(&found);
    return good;
}

/* Where the dynamic linker finds it: LD_LIBRARY_PATH, a distribution's
 * package. Its headers then lie in /usr/include, or beside the folder. */
static bool ask_linker(struct place *p)
{
    for (size_t s = 0; s < SONAMES; s++) {
        void *lib = dlopen(sonames[s], RTLD_LAZY | RTLD_LOCAL);
        struct link_map *map = NULL;
        if (!lib)
            continue;
        bool good = dlinfo(lib, RTLD_DI_LINKMAP, &map) == 0
                 && real(p->lib, map->l_name);
        dlclose(lib);
        if (!good)
            continue;
        char root[KB_NVRTC_PATH_BYTES];
        memcpy(root, p->lib, sizeof root);
        for (int up = 0; up < 2; up++) {
            char *slash = strrchr(root, '/');
            if (slash)
                *slash = '\0';
        }
        find_headers(root, p);
        if (!p->include[0])
            has_headers(p->include, "/usr/include");
        return true;
    }
    return false;
}

/* A bundle brings its own: bin/kernelband and cuda/lib lie side by side. */
static bool look_beside(struct place *p)
{
    char root[KB_HOST_PATH_BYTES];
    if (kb_host_exe(root, sizeof root))
        return false;
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(root, '/');
        if (!slash)
            return false;
        *slash = '\0';
    }
    if (strlen(root) + sizeof "/cuda" > sizeof root)
        return false;
    strcat(root, "/cuda");
    return look_in(root, p);
}

static bool look(struct place *p, const char **why)
{
    const char *only = getenv("KERNELBAND_CUDA");
    if (only && *only) {
        *why = "there is no libnvrtc.so.13 or .12 in lib or lib64 of the "
               "folder that KERNELBAND_CUDA names: set it to the folder of a "
               "CUDA toolkit 12 or later, by its whole path";
        return look_in(only, p);
    }
    *why = "NVRTC (libnvrtc.so.13 or .12) is not found: install the CUDA "
           "toolkit, or set KERNELBAND_CUDA to the folder that holds its "
           "lib and include";
    return look_beside(p)
        || look_in(getenv("CUDA_HOME"), p) || look_in(getenv("CUDA_PATH"), p)
        || look_in(getenv("CONDA_PREFIX"), p)
        || look_in("/usr/local/cuda", p) || look_in_versions(p)
        || ask_linker(p);
}

kb_status kb_nvrtc_find(const char **why, char *lib, size_t lib_bytes,
                        char *include, size_t include_bytes)
{
    const char *sentence = NULL;
    struct place *p = calloc(1, sizeof *p);
    if (!p)
        return KB_ENOMEM;
    kb_status st = look(p, &sentence) ? KB_OK : KB_ENODEV;
    if (!st && (strlen(p->lib) >= lib_bytes
                || strlen(p->include) >= include_bytes))
        st = KB_EINVAL;
    if (!st) {
        strcpy(lib, p->lib);
        strcpy(include, p->include);
    } else {
        *why = sentence;
    }
    free(p);
    return st;
}
