/* nvrtc.h - CUDA C++ to a cubin, by NVRTC in a process that can do no more.
 *
 * kernelband _nvrtc LIB INCLUDE is a worker (child.h): it loads NVRTC and
 * compiles one empty kernel, so that all is warm, and keeps one forked child
 * ahead of the next source; it gets ready while another compiles. The child gives up
 * everything (limits, user, files, calls: jail.h; its root is the include
 * folder wherever a chroot or a user namespace is allowed), warms up once
 * more, and only then reads the one source it is for. So #include, #embed and
 * __has_include find the toolkit's headers and nothing else, and no
 * environment.
 *
 * Every source is compiled with KB_NVRTC_FLAGS. Cubins are kept in a cache
 * (nvrtc_parts.h), failures are not.
 */
#pragma once

#include "kb.h"

typedef struct kb_nvrtc kb_nvrtc;

enum {
    KB_NVRTC_SOURCE_BYTES = 4 << 20,    /* longest source */
    KB_NVRTC_LOG_BYTES = 4096,          /* a log is cut here, NUL included */
    KB_NVRTC_PATH_BYTES = 4096
};

struct kb_nvrtc_build {
    const char *source;
    size_t bytes;
    const char *arch;           /* "sm_90a" */
    int64_t timeout_ns;         /* of the compile alone */
};

/* Starts a server and does not wait for it: its 0.1 to 0.3 s pass while the
 * caller does other things. exe is the path of kernelband. NVRTC is looked for in
 * $KERNELBAND_CUDA, and when that is set nowhere else; else in ../cuda of this
 * program's folder (a bundle), $CUDA_HOME, $CUDA_PATH, $CONDA_PREFIX,
 * /usr/local/cuda, the newest of /usr/local/cuda-*, and where the dynamic linker
 * looks. Where its headers are not found, sources must do without #include.
 * ENODEV: why, a static string, says what to do; ESYS, ENOMEM. */
KB_STATUS kb_nvrtc_open(const char *exe, kb_nvrtc **out, const char **why);

/* Compiles. log gets at most KB_NVRTC_LOG_BYTES of cap: the compiler's words,
 * and for a good kernel its resources; printable ASCII. *cubin is malloc'd.
 *   EBUILD  the source was refused, or took too much memory or time; see log
 *   EDENIED its PTX says what ptx.h forbids; see log
 *   ETIME   not done at timeout_ns; log says so
 *   ENODEV  NVRTC cannot compile for that arch, or does not start; see log
 *   EINVAL  arch is not like sm_90a, or the source is too long or empty
 *   EWORKER the server died; the next call starts another
 *   ESYS, ENOMEM */
KB_STATUS kb_nvrtc_make(kb_nvrtc *c, const struct kb_nvrtc_build *b, char *log,
                        size_t cap, char **cubin, size_t *n);

void kb_nvrtc_close(kb_nvrtc *c);

/* What every source is compiled with besides its -arch. */
#define KB_NVRTC_STANDARD  "-std=c++17"
#define KB_NVRTC_RESOURCES "--ptxas-options=-v"
#define KB_NVRTC_FLAGS     KB_NVRTC_STANDARD " " KB_NVRTC_RESOURCES

/* kernelband _nvrtc LIB INCLUDE: the server. The exit status. */
int kb_nvrtc_main(int argc, char **argv);
