/* toolkit.h - what tests that need NVRTC share: where kernelband is, a folder
 * for the cache, and one server for the whole program.
 */
#ifndef TOOLKIT_H
#define TOOLKIT_H

#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda/compile/nvrtc.h"

/* build/MODE/tests/check_x -> build/MODE/kernelband */
static inline bool toolkit_exe(char *exe, size_t cap)
{
    char self[3000];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0)
        return false;
    self[n] = '\0';
    snprintf(exe, cap, "%s/../kernelband", dirname(self));
    return access(exe, X_OK) == 0;
}

/* build/MODE/kernelband, as toolkit_exe gives it -> build/MODE/tests/lib/stub: a
 * toolkit whose NVRTC compiles nothing, for $KERNELBAND_CUDA. */
static inline void toolkit_stub(const char *exe, char *dir, size_t cap)
{
    char copy[4096];
    snprintf(copy, sizeof copy, "%s", exe);
    snprintf(dir, cap, "%s/tests/lib/stub", dirname(dirname(dirname(copy))));
}

/* Whether NVRTC is here; else says on stdout why the tests are skipped. */
static inline bool toolkit_present(const char *program)
{
    kb_nvrtc *c = NULL;
    const char *why = "?";
    kb_status st = kb_nvrtc_open("/bin/true", &c, &why);
    kb_nvrtc_close(c);
    if (st) {
        printf("%s: tests with NVRTC skipped: %s\n", program, why);
        return false;
    }
    return true;
}

/* XDG_CACHE_HOME becomes a fresh folder. */
static inline bool toolkit_cache(char *dir, size_t cap)
{
    if (snprintf(dir, cap, "/tmp/kb-cache-XXXXXX") < 0 || !mkdtemp(dir))
        return false;
    return setenv("XDG_CACHE_HOME", dir, 1) == 0;
}

static inline void toolkit_remove(const char *dir)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    if (system(command))
        fprintf(stderr, "%s stays behind\n", dir);
}

#endif
