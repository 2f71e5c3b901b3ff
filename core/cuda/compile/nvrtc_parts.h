/* nvrtc_parts.h - what the files of nvrtc share. Nobody else includes it.
 *
 * The server's frames (frame.h). It sends an empty one when it is ready, or
 * one with a sentence when it cannot work, and ends. A request is int64_t
 * timeout_ns, the arch, '\0' and the source. The answer is struct
 * kb_nvrtc_answer, then what the forked child wrote: a byte, the code, then
 * the log, '\0', and the cubin.
 */
#ifndef KB_NVRTC_PARTS_H
#define KB_NVRTC_PARTS_H

#include "nvrtc.h"

enum kb_nvrtc_code {
    KB_NVRTC_DONE = 'd',        /* log and cubin follow */
    KB_NVRTC_REFUSED = 'r',     /* log follows */
    KB_NVRTC_FORBIDDEN = 'f',   /* ptx.h: a sentence */
    KB_NVRTC_UNABLE = 'u'       /* the jail or NVRTC failed; a sentence */
};

struct kb_nvrtc_answer {
    int32_t late;               /* killed at the deadline */
    int32_t wstatus;            /* as waitpid gives it */
};

/* What a cubin depends on. Files of the cache hold it whole and are compared
 * with it, so a collision of names is a miss and not a wrong cubin. */
struct kb_nvrtc_key {
    const char *arch;
    const char *toolkit;        /* flags, size and time of kernelband, which
                                 * holds ptx.h's rules, path, size and time of
                                 * NVRTC, path of its headers */
    const char *source;
    size_t bytes;
};

/* The cache is a folder of files below $XDG_CACHE_HOME/kernelband or
 * ~/.cache/kernelband that only this user writes. Without one, or when
 * anything in it is not as it was written, there is nothing found and nothing
 * kept. Beyond these bounds what was used longest ago goes. log and cubin are
 * malloc'd. */
enum { KB_NVRTC_CACHE_FILES = 4096, KB_NVRTC_CACHE_BYTES = 256 << 20 };
KB_MUST_USE kb_status kb_nvrtc_recall(const struct kb_nvrtc_key *key,
                                      char **log, unsigned char **cubin,
                                      size_t *n);      /* EEMPTY: not there */
void kb_nvrtc_keep(const struct kb_nvrtc_key *key, const char *log,
                   const unsigned char *cubin, size_t n);

#endif
