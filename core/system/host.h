/* host.h - what this machine is and where this program lies.
 *
 * Everything is asked anew at each call: no state, no cache.
 */
#ifndef KB_HOST_H
#define KB_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kb.h"

enum { KB_HOST_PATH_BYTES = 4096, KB_HOST_TEXT_BYTES = 256 };

struct kb_host {
    char cpu[KB_HOST_TEXT_BYTES];       /* "AMD EPYC 9654 ..." or "unknown" */
    char kernel[KB_HOST_TEXT_BYTES];    /* "Linux 6.1.0-18 x86_64" */
    char libc[KB_HOST_TEXT_BYTES];      /* "glibc 2.36" */
    int cores;                          /* online */
    int usable_cores;                   /* this process may run on */
    int landlock_abi;                   /* 0: the kernel has none */
    bool seccomp;                       /* filters are available */
    bool root;                          /* so candidates can be another user's */
    int perf_errno;                     /* 0: a cycle counter opened */
};

/* Never fails: what cannot be known is "unknown", 0 or false. */
void kb_host_describe(struct kb_host *host);

/* Cores this process may run on, at least 1. */
int kb_host_usable_cores(void);

/* Their numbers, ascending, at most so many; how many there are, at least 1.
 * In a cpuset they need not start at 0, nor follow one another. */
enum { KB_HOST_CPUS = 1024 };
size_t kb_host_cpus(int *id, size_t most);

/* Real path of this binary, without a " (deleted)" tail. ESYS: /proc is
 * absent or the path is longer than max_bytes - 1. */
KB_MUST_USE kb_status kb_host_exe(char *path, size_t max_bytes);

/* The folder that holds lua/kernelband/init.lua: the environment's
 * KERNELBAND_LIB when set (and then no other), else the nearest folder above
 * the binary that has it, itself (a clone) or in share/kernelband (an installed
 * or carried tree). ESYS with errno ENOENT: none has it. */
KB_MUST_USE kb_status kb_host_lib_dir(char *path, size_t max_bytes);

/* Fills n <= 256 bytes from the kernel's generator. ESYS: it has none. */
KB_MUST_USE kb_status kb_host_random(void *bytes, size_t n);

/* The calendar clock, in seconds since 1970. */
double kb_host_wall_s(void);

/* Columns of the terminal behind stderr, else $COLUMNS, else 80. */
int kb_host_columns(void);

/* Free bytes an ordinary user may still write below path. */
KB_MUST_USE kb_status kb_host_disk_free_bytes(const char *path, uint64_t *out);

/* Whether the dynamic linker finds that library, "libcuda.so.1". */
bool kb_host_has_library(const char *name);

#endif
