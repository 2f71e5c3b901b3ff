/* kb.h - vocabulary shared by every core module: status codes, and C's own
 * bool, size_t and integers of a width.
 *
 * What is where; each folder uses those above it only (make graph draws it):
 *   bandit/   the arithmetic of choice: ucb.h (the UCB formula), cluster.h
 *             (incremental k-means++), logit.h (compatibility), gp.h
 *   measure/  arrays and numbers: tensor*.c (types, fills, the bound on an
 *             error), mutant.h (wrong answers)
 *   system/   child.h (commands, workers), io.h (bytes that grow, deadlines),
 *             files, SQLite; jail.c (the table of system calls)
 *   device.h  the contract between the engine and what it measures on
 *   cpu/      kernel.c (the kernel's process: one go, n timed calls),
 *             program.c (its parent: kb_program_launch reads the clock)
 *   cuda/     program.c (launches, timed by events); compile/ (NVRTC, cubin,
 *             PTX); counters/cupti.c (open_target starts CUPTI); inject/
 *   net/      HTTP, both ways
 *   lua/      bind_NOUN.c is core.NOUN in Lua; rounds of timed pairs and the
 *             search itself are Lua (lua/kernelband/evaluate, search)
 *
 * Conventions, true of all kb_* functions unless the header says otherwise:
 *   status    fallible functions return KB_STATUS; results travel by
 *             out-pointer and *out is untouched on failure.
 *   ownership X_new and X_open give the object to the caller, X_free and
 *             X_close take it back and accept NULL. Pointer arguments are
 *             borrowed for the call only.
 *   units     are in the name: _ns, _s, _bytes, _pct. Time is int64_t
 *             nanoseconds.
 *   threads   no module has mutable globals; one object, one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KB_STATUS_MAP(X)                                                   \
    X(OK,        0, "success")                                             \
    X(ENOMEM,   -1, "out of memory")                                       \
    X(EINVAL,   -2, "argument outside its documented range")               \
    X(EEMPTY,   -3, "no candidate left to choose from")                    \
    X(ETIME,    -4, "deadline passed")                                     \
    X(ESYS,     -5, "system call failed (errno is set)")                   \
    X(EWORKER,  -6, "worker died or broke the protocol")                   \
    X(ENODEV,   -7, "no such device, or this machine lacks what it needs") \
    X(ESTORE,   -8, "the database refused")                                \
    X(EBUILD,   -9, "the compiler refused the source")                     \
    X(ECRASH,  -10, "the kernel's process died")                           \
    X(EDENIED, -11, "the kernel made a system call it may not make")       \
    X(EINTR,   -12, "interrupted by a signal")                             \
    X(EHTTP,   -13, "the transfer failed")                                 \
    X(EFULL,   -14, "more came than was allowed for")

typedef enum kb_status {
#define X(name, code, text) KB_##name = (code),
    KB_STATUS_MAP(X)
#undef X
} kb_status;

/* What fallible functions return: a status that the caller has to look at. */
#define KB_STATUS __attribute__((warn_unused_result)) kb_status

/* The Makefile says 1 in a build with the address sanitizer, which maps
 * terabytes. */
#ifndef KB_SANITIZED
#define KB_SANITIZED 0
#endif

/* "EINVAL", and its sentence. Static strings; never NULL, any int accepted. */
const char *kb_status_name(int status);
const char *kb_status_text(int status);

/* The next step of several, unless one before it failed: st is a kb_status, and
 * becomes what the step returns. */
#define KB_THEN(st, ...)                                                    \
    do {                                                                    \
        if (!(st))                                                          \
            (st) = __VA_ARGS__;                                             \
    } while (0)

/* The end of what makes an object: the caller gets it by out or, where a step
 * failed, free takes it back. Is st. */
#define KB_HAND_OVER(st, object, free, out)                                 \
    ((st) ? (free(object), (st)) : (*(out) = (object), KB_OK))

/* Both return status, with the reason in why: text, which is static; or a
 * sentence of at most cap bytes, NUL included. */
static inline kb_status kb_because(const char **why, kb_status status,
                                   const char *text)
{
    *why = text;
    return status;
}
kb_status kb_refuse(char *why, size_t cap, kb_status status,
                    const char *format, ...)
    __attribute__((format(printf, 4, 5)));
