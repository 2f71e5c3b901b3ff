#include "host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

kb_status kb_host_exe(char *path, size_t max_bytes)
{
    static const char gone[] = " (deleted)";
    ssize_t n = readlink("/proc/self/exe", path, max_bytes);
    if (n < 0)
        return KB_ESYS;
    if ((size_t)n >= max_bytes) {
        errno = ENAMETOOLONG;
        return KB_ESYS;
    }
    path[n] = '\0';
    size_t tail = sizeof gone - 1;
    if ((size_t)n > tail && strcmp(path + n - tail, gone) == 0)
        path[(size_t)n - tail] = '\0';
    return KB_OK;
}

/* Writes dir and what follows it to path if that folder holds the engine. */
static bool choose(const char *dir, const char *rest, char *path,
                   size_t max_bytes)
{
    char probe[KB_HOST_PATH_BYTES];
    int n = snprintf(probe, sizeof probe, "%s%s/lua/kernelband/init.lua", dir,
                     rest);
    if (n < 0 || (size_t)n >= sizeof probe || access(probe, R_OK))
        return false;
    return (size_t)snprintf(path, max_bytes, "%s%s", dir, rest) < max_bytes;
}

kb_status kb_host_lib_dir(char *path, size_t max_bytes)
{
    char dir[KB_HOST_PATH_BYTES], *slash;
    const char *given = getenv("KERNELBAND_LIB");
    if (given && *given) {
        if (choose(given, "", path, max_bytes))
            return KB_OK;
    } else if (kb_host_exe(dir, sizeof dir) == KB_OK) {
        while ((slash = strrchr(dir, '/')) && slash != dir) {
            *slash = '\0';
            if (choose(dir, "", path, max_bytes)
                || choose(dir, "/share/kernelband", path, max_bytes))
                return KB_OK;
        }
    }
    errno = ENOENT;
    return KB_ESYS;
}
