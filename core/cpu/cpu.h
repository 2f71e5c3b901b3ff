/* cpu.h - what the files of the CPU device share, and the process that runs
 * a kernel shares with its parent. Nobody else includes it.
 */
#pragma once

#include <stdatomic.h>

#include "device.h"

enum {
    KB_CPU_WIRE_FD = 3,         /* descriptors of a kernel's process */
    KB_CPU_IN_FD = 4,
    KB_CPU_OUT_FD = 5,
    KB_CPU_POST_FD = 6,
    KB_CPU_WIRE_BYTES = 64 << 10,       /* whole pages, however large */
    KB_CPU_EXIT_STARTUP = 125,  /* exit statuses of its trusted part */
    KB_CPU_EXIT_DENIED = 126,
    KB_CPU_WHY = 160,
    KB_CPU_TOOL = 256,          /* bytes of a path */
    KB_CPU_REMARKS = 16 << 10   /* bytes of a compiler's remarks, at most */
};

#define KB_CPU_CALL "kb_cpu_call"       /* the generated call of the kernel */

typedef struct cpu_device {
    struct kb_device head;
    char exe[4096];
    char cc[KB_CPU_TOOL], objdump[KB_CPU_TOOL], readelf[KB_CPU_TOOL];
    char toolchain[4096];       /* where cc really lies, when not in /usr */
    char scratch[4096];         /* folder for objects */
    int lock_fd;                /* on scratch, for as long as we live */
    int cpu;                    /* the processor that runs kernels */
    int taken_fd;               /* the socket that marks it; -1: another's */
    bool apart;                 /* this process keeps off it */
    uint64_t objects;           /* made so far */
    struct kb_cpu_call *calls;  /* built once for all objects */
} cpu_device;

typedef struct cpu_object {
    struct kb_object head;
    const cpu_device *device;
    char dir[4096 + 32], path[4096 + 64];
} cpu_object;

/* The generated call of all kernels with one signature, built. */
struct kb_cpu_call {
    struct kb_cpu_call *next;
    char *text;                 /* its source */
    bool sanitized;
    char path[4096 + 64];
};

/* Where one array lies, the same in the parent's and the child's view of the
 * input or the output memory: bytes [first, first + room) are its own, whole
 * pages, with unmapped pages on both sides in the child. */
struct kb_cpu_span {
    uint64_t first, room;
    uint64_t offset;            /* of slot 0, bytes from the first */
    uint64_t stride;            /* from slot to slot; a multiple of 64 */
    uint64_t bytes;             /* of one array */
};

/* What a copy does with the arrays in use before it runs a kernel: nothing, reads a
 * byte of each page, or reads all of the inputs as well. */
enum kb_cpu_warmth { KB_CPU_COLD, KB_CPU_TOUCHED, KB_CPU_READ };

/* The memory that the process which runs a kernel shares with us. Idle, it sleeps,
 * so that it takes nothing from the one being timed. For batch n the parent
 * writes the job and wake = n; the child answers ready = n and spins a while;
 * the parent stamps and writes go = n; the child runs the batch and writes
 * done = n. All of it is in the candidate's reach: the parent believes nothing
 * here but prepared, ready and done, and that only within a deadline and with the
 * outputs checked, and denied and why for a text. */
struct kb_cpu_wire {
    _Atomic uint32_t wake, ready, go, done;
    _Atomic uint32_t filled;            /* the arrays are, by the parent */
    _Atomic uint32_t prepared;          /* it may be woken */
    _Atomic int32_t denied;             /* 1 + number of the refused call */
    uint64_t iterations;
    uint32_t args, slots, first;        /* first: the slot of the first call */
    uint32_t used;                      /* slots that it may reach, from the
                                         * first on */
    enum kb_cpu_warmth warmth;
    struct {
        uint32_t mode;
        struct kb_cpu_span span;
        unsigned char value[8];         /* a scalar, in its C type */
    } arg[KB_DEVICE_ARGS];
    char why[KB_CPU_WHY];               /* the trusted part's own failure */
};

/* The page that the process which has loaded the object shares with us, and its
 * copies with nobody. For copy n the parent writes wanted = n; the answer is the
 * pid, or -1, and copied = n. */
struct kb_cpu_post {
    _Atomic uint32_t loaded, wanted, copied;
    _Atomic int32_t pid;
};

typedef struct cpu_buffers {
    struct kb_buffers head;
    struct kb_cpu_span span[KB_DEVICE_ARGS];
    unsigned char *pristine[KB_DEVICE_ARGS];    /* of all slots of an in-out
                                                 * array, or NULL */
    int in_fd, out_fd;
    void *in, *out;
    uint64_t in_bytes, out_bytes;
    bool sealed;
} cpu_buffers;

/* Frees what is remembered of a device's calls. */
void kb_cpu_forget_calls(cpu_device *d);

/* Of the widest vectors that the compiler makes, which it is asked for: where it
 * is told not to use all that the processor has, the machine is what is left. */
size_t kb_cpu_vector_bytes(const cpu_device *d);

/* Writes info.flags, the options every source is built with. */
void kb_cpu_name_flags(cpu_device *d);

extern const struct kb_object_ops kb_cpu_object;
extern const struct kb_buffers_ops kb_cpu_buffers;
extern const struct kb_program_ops kb_cpu_program;

/* A copy of the object for one process, so that its code lies on pages that no
 * other process uses. Of objects with the same bytes, one is at times slower by
 * some per cent (tests/bench/README.md). With one file for all processes that
 * is the same in every round, and no interval knows of it. path: cap bytes; the
 * file is the caller's to remove. Its name is always the same, as a candidate
 * can read it. */
kb_status kb_cpu_copy(const cpu_object *o, char *path, size_t cap);

/* Fills anew what arrays that are not in use have on the pages of those that are:
 * nothing that was left there is there. */
void kb_cpu_scrub(cpu_buffers *b);

/* Shared memory for that process, which may be sealed; *fd and *at are the
 * caller's, *fd also on failure. ESYS, ENOMEM. */
kb_status kb_cpu_map(const char *name, size_t bytes, int *fd, void **at);

/* kernelband _kernel OBJECT: the process a kernel runs in. Returns only when
 * it could not start; the exit status. */
int kb_cpu_kernel_main(int argc, char **argv);
