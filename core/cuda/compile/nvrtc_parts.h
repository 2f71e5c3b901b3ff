/* nvrtc_parts.h - what the files of nvrtc share. Nobody else includes it.
 *
 * A request is int64_t timeout_ns, the arch, '\0', the source and '\0'. A reply
 * is a byte, the status without its sign, then the log or a sentence, '\0', and
 * of KB_OK the cubin; that of the forked child is passed on as it came:
 *   EBUILD  NVRTC refused the source, or was killed for what it used
 *   EDENIED ptx.h refused it
 *   ENODEV  NVRTC is of no use, or the jail failed
 *   ETIME   killed at the deadline
 */
#pragma once

#include "nvrtc.h"

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

/* The cache keeps the replies that hold a cubin, in a folder of files below
 * $XDG_CACHE_HOME/kernelband or ~/.cache/kernelband that only this user writes.
 * Without one, or when anything in it is not as it was written, there is nothing
 * found and nothing kept. Beyond these bounds what was used longest ago goes.
 * *reply is malloc'd. */
enum { KB_NVRTC_CACHE_FILES = 4096, KB_NVRTC_CACHE_BYTES = 256 << 20 };
KB_STATUS kb_nvrtc_recall(const struct kb_nvrtc_key *key, char **reply,
                          size_t *n);
                                                /* EEMPTY: not there */
void kb_nvrtc_keep(const struct kb_nvrtc_key *key, const char *reply, size_t n);
