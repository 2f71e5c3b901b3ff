/* device.h - build a kernel, feed it, launch it and time it.
 *
 *   device   what runs kernels
 *   object   what the compiler made of one source, with its disassembly
 *   buffers  the arguments of one launch, visible to us at all times
 *   program  an object loaded and bound to buffers, in a jail of its own
 *
 * Sources are hostile. The compiler runs in a jailed child, the kernel in
 * another one that has no files, no network and no clock of ours: elapsed
 * times come from this side.
 *
 * Arguments are described as the kernel's parameters, in order. An array is
 * 64-byte aligned and lies between unmapped pages; the bytes between it and
 * those pages, and between slots, are a red zone that kb_buffers_check reads.
 */
#ifndef KB_DEVICE_H
#define KB_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "kb.h"
#include "tensor.h"

enum { KB_DEVICE_ARGS = 32, KB_DEVICE_SLOTS = 4096, KB_DEVICE_ALIGN = 64 };

typedef struct kb_device kb_device;
typedef struct kb_object kb_object;
typedef struct kb_buffers kb_buffers;
typedef struct kb_program kb_program;

enum kb_mode { KB_SCALAR, KB_IN, KB_OUT, KB_INOUT };

struct kb_arg {
    enum kb_mode mode;
    enum kb_dtype dtype;
    uint64_t count;             /* elements of an array */
    int64_t integer;            /* value of an integer scalar */
    double real;                /* value of a floating one */
};

struct kb_build {
    const char *source;         /* the candidate, NUL-terminated */
    const char *entry;          /* the function's name, a C identifier */
    const struct kb_arg *arg;   /* modes and dtypes are used, values are not */
    size_t args;
    int64_t timeout_ns;
};

/* Every counter was read by the kernel's perf events, or none is. */
struct kb_counters {
    int present;
    uint64_t cycles, instructions, cache_refs, cache_misses;
};

/* name: "cpu", or "cpu:N" to run kernels on processor N; else they get the
 * last one this process may use, and this process keeps to the others, so that
 * waiting for a kernel does not disturb it. ENODEV with *why (static text)
 * when this machine cannot run it: no compiler, no Landlock, no such
 * processor. exe is this program's path: kernels run in it. */
KB_MUST_USE kb_status kb_device_open(const char *name, const char *exe,
                                     kb_device **out, const char **why);
void kb_device_close(kb_device *d);

/* "cc (Debian 12.2.0-14) 12.2.0" and the flags sources are built with. */
const char *kb_device_compiler(const kb_device *d);
const char *kb_device_flags(const kb_device *d);

/* EBUILD: log (cap bytes, NUL-terminated) says why. ETIME: it took too long. */
KB_MUST_USE kb_status kb_device_build(kb_device *d, const struct kb_build *b,
                                      char *log, size_t cap, kb_object **out);
void kb_object_free(kb_object *o);

/* Dynamic section and relocations as readelf prints them, then sections,
 * dynamic symbols and disassembly as objdump does, at most cap bytes; made in
 * jailed children. ENODEV: there is no objdump or readelf. */
KB_MUST_USE kb_status kb_object_text(const kb_object *o, char *text,
                                     size_t cap, size_t *used);

/* Room for the arguments, slots copies of each output. Everything is zero.
 * EINVAL: too many arguments or slots, or a count of 0. ENOMEM: too large. */
KB_MUST_USE kb_status kb_buffers_new(kb_device *d, const struct kb_arg *arg,
                                     size_t args, size_t slots,
                                     kb_buffers **out);
void kb_buffers_free(kb_buffers *b);

size_t kb_buffers_args(const kb_buffers *b);
size_t kb_buffers_slots(const kb_buffers *b);
const struct kb_arg *kb_buffers_arg(const kb_buffers *b, size_t arg);

/* The array of an argument in a slot; inputs have slot 0 only. Scalars: NULL. */
void *kb_buffers_at(kb_buffers *b, size_t arg, size_t slot);

/* Fills every output of every slot and all red zones with a new pattern. An
 * in-out array gets its red zones filled and the contents of slot 0's pristine
 * copy, see kb_buffers_keep. */
void kb_buffers_poison(kb_buffers *b, uint64_t seed);

/* Remembers the in-out arrays of slot 0 as their pristine copies. */
KB_MUST_USE kb_status kb_buffers_keep(kb_buffers *b);

/* An input array, or what kb_buffers_keep kept of an in-out one (the array
 * itself before that). */
const void *kb_buffers_pristine(const kb_buffers *b, size_t arg);

/* The seed of the last poison. */
uint64_t kb_buffers_seed(const kb_buffers *b);

/* The first argument whose red zone was written to since the last poison, or
 * -1; *slot says where. */
int kb_buffers_damaged(const kb_buffers *b, size_t *slot);

/* Starts a process that maps the buffers, closes its jail, then loads o. The
 * inputs cannot be written to from there, and from the first start on the
 * program sees what we write to them. ECRASH, EDENIED or ETIME: it died while
 * loading (constructors run then); why (cap bytes) says how. The program
 * borrows d and b until it is stopped, o for the call only. */
KB_MUST_USE kb_status kb_program_start(kb_device *d, const kb_object *o,
                                       kb_buffers *b, kb_program **out,
                                       char *why, size_t cap);

/* Calls the kernel iterations times, call i on slot i mod slots, and waits.
 * *elapsed_ns is the time from opening the gate to the end of the last call,
 * less the time in which the processor was given to others: the smaller of
 * our clock's difference and the processor time the system booked on the
 * program, which is out of its reach. A kernel is one thread, so what it does
 * not use a processor for it does not do. What it used between two launches,
 * beyond a wake-up, is added to the second one: a kernel can reach its caller
 * and say too early that it is done.
 * ETIME: killed at the deadline. ECRASH, EDENIED: it died; kb_program_why
 * says how. After any of these the program can only be stopped. */
KB_MUST_USE kb_status kb_program_launch(kb_program *p, uint64_t iterations,
                                        int64_t timeout_ns,
                                        int64_t *elapsed_ns);

/* Counters of all launches since the last call, present = 0 if unknown. */
void kb_program_counters(kb_program *p, struct kb_counters *out);

/* How it died, e.g. "killed by signal 11 (Segmentation fault)"; or "". */
const char *kb_program_why(const kb_program *p);
void kb_program_stop(kb_program *p);

#endif
