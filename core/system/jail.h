/* jail.h - what a child gives up before it touches code we do not trust.
 *
 * Every function acts on the calling process and cannot be undone. The order
 * is: limits, user, files, calls. One that fails returns ESYS or ENODEV, and
 * the caller must then not go on.
 *
 *   limits  resource limits (setrlimit)
 *   user    as root: become nobody, with no groups and no capabilities
 *   files   Landlock: only the listed trees may be read, executed or written;
 *           no TCP, no signals to the outside (as the kernel's ABI allows)
 *   calls   a seccomp filter
 */
#pragma once


#include "kb.h"

enum { KB_JAIL_NOBODY = 65534 };

struct kb_jail_limits {         /* 0: as inherited, save file_bytes */
    uint64_t memory_bytes;      /* address space */
    uint64_t file_bytes;        /* largest file it may write, exact */
    uint64_t stack_bytes;
    uint32_t cpu_s;
    uint32_t open_files;
};

enum kb_jail_calls {
    KB_JAIL_BUILD,  /* a compiler: no sockets, tracing, mounts, keys */
    KB_JAIL_LOAD,   /* a kernel's process while it loads the candidate, and
                     * then makes copies of itself */
    KB_JAIL_RUN,    /* a copy: memory, self-signals, exit */
    KB_JAIL_GROUP   /* an interpreter: it stays in its process group, and leaves
                     * other processes alone */
};

KB_STATUS kb_jail_limit(const struct kb_jail_limits *limits);

/* Bytes of address space that this process has, for a limit on what it maps
 * from now on; 0 where there is no /proc. */
uint64_t kb_jail_mapped_bytes(void);
KB_STATUS kb_jail_user(void);

/* Paths that do not exist are skipped. Both lists NULL-terminated. ENODEV
 * when this Linux has no Landlock. */
KB_STATUS kb_jail_files(const char *const *read, const char *const *write);

/* The same for an interpreter, as libkb_jail.so has it: in use, files may be
 * written and none made, as in /dev; in own, files and folders as it likes, but
 * no symbolic links and no devices. */
KB_STATUS kb_jail_trees(const char *const *read, const char *const *use,
                        const char *const *own);

/* In a group that can be killed whole, setsid and setpgid fail with EPERM. So
 * does what reads, signals or changes another process, but its priority: who
 * lowers that is killed, as nothing else shows that it was tried. A call
 * outside LOAD or RUN raises SIGSYS (si_syscall names it); one outside
 * BUILD fails with EPERM. */
KB_STATUS kb_jail_calls(enum kb_jail_calls which);

/* kb_jail_calls(KB_JAIL_RUN), and of addresses given to the system none is below
 * this one (mprotect and madvise fail with EACCES, others raise SIGSYS): what is
 * mapped there stays as it is, and no call tells how far it goes. */
KB_STATUS kb_jail_run(const void *above);

/* The kernel's Landlock ABI version, 0 when there is none. */
int kb_jail_landlock_abi(void);

/* "openat" for its number here, or NULL; free() it. */
char *kb_jail_call_name(int number);
