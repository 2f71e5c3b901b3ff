/* device.h - build a kernel, feed it, launch it and time it, on any device.
 *
 *   device   what runs kernels
 *   object   what the compiler made of one source, with its disassembly
 *   buffers  the arguments of one launch, visible to us at all times
 *   program  an object loaded and bound to buffers, in a jail of its own
 *
 * Sources are hostile. The compiler runs in a jailed child. A C kernel runs in
 * another one that has no files, no network and no clock of ours, a CUDA kernel
 * is device code that we launch: elapsed times come from this side.
 *
 * Arguments are described as the kernel's parameters, in order. On the CPU an
 * array is 64-byte aligned and lies between unmapped pages; the bytes between
 * it and those pages, and between slots, are red zones. On a GPU it is 256-byte
 * aligned between two red zones. kb_buffers_damaged reads those of outputs.
 */
#ifndef KB_DEVICE_H
#define KB_DEVICE_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#include "kb.h"
#include "measure/mutant.h"
#include "measure/tensor.h"

enum { KB_DEVICE_ARGS = 32, KB_DEVICE_SLOTS = 4096, KB_DEVICE_ALIGN = 64 };

/* What a device can do at most; cpu/roofline.h says how it is measured. */
struct kb_roofline {
    double f32_flops_per_s, f64_flops_per_s;
    double bf16_flops_per_s;    /* of matrix units; 0: not measured */
    double l1_bytes_per_s, l2_bytes_per_s;
    double dram_bytes_per_s, dram_copy_bytes_per_s;
    double clock_hz;            /* 0: not measured */
    size_t l1d_bytes, l2_bytes, l3_bytes;   /* l3 0: there is none */
    size_t vector_bytes;        /* of isa; 0: none */
    const char *isa;            /* of the f32 peak: "avx512f", "avx2+fma",
                                 * "baseline"; static */
};

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
    bool front;                 /* CPU: the array starts where its pages do, so
                                 * that reading before it is a fault; what lies
                                 * behind an input is then all ones (NaN) */
};

struct kb_build {
    const char *source;         /* the candidate, NUL-terminated */
    const char *entry;          /* the function's name, a C identifier */
    const struct kb_arg *arg;   /* modes and dtypes are used, values are not */
    size_t args;
    int64_t timeout_ns;
    bool sanitized;             /* CPU: undefined behaviour ends the kernel */
};

/* What a device is. Numbers a device has no use for are 0. */
struct kb_device_info {
    char name[128];             /* "NVIDIA H200", "cpu" */
    char compiler[256], flags[160], driver[64];
    char target[16];            /* CUDA: what it compiles for, "sm_90a" */
    const char *language;       /* "c" or "cuda": what it builds */
    bool fresh_outputs;         /* every call of a launch finds its outputs
                                 * poisoned: they need no slots */
    int sm_count, sm_threads, sm_registers, sm_blocks;
    int arch;                   /* compute capability, 90 for 9.0 */
    uint64_t sm_shared_bytes, block_shared_bytes, l2_bytes, memory_bytes;
};

/* One step of a launch plan, its expressions worked out. CUDA. */
struct kb_launch {
    char kernel[128];
    uint32_t grid[3], block[3], shared_bytes, args;
    struct {
        enum { KB_PASS_ARG, KB_PASS_SCRATCH, KB_PASS_INTEGER } kind;
        uint32_t index;         /* of the task's argument or the scratch */
        int64_t value;
    } arg[KB_DEVICE_ARGS];
};

struct kb_plan {
    const struct kb_launch *launch;
    const struct kb_arg *scratch;       /* dtype and count are used */
    size_t launches, scratches;
};

/* What the compiler says of one kernel of an object. */
struct kb_facts {
    uint32_t registers, shared_bytes, local_bytes, max_threads;
};

/* One counter; value is meaningless unless present. */
struct kb_metric {
    const char *name;           /* static */
    double value;
    bool present;
};
enum {
    KB_DEVICE_METRICS = 64,
    KB_DEVICE_WHY = 512         /* enough for why, whatever it says */
};

/* name: "cpu", or "cpu:N" to run kernels on processor N; else they get the
 * last one this process may use, and this process keeps to the others until
 * the device is closed, so that waiting for a kernel does not disturb it.
 * "cuda:N" is GPU N, "cuda" the first. ENODEV with *why (static text) for
 * another name, and when this machine cannot run it: no compiler, no Landlock,
 * no such processor. exe is this program's path: kernels run in it.
 *
 * Objects, buffers and programs may be freed before or after the device is
 * closed: what they need of it ends with the last of them. */
KB_MUST_USE kb_status kb_device_open(const char *name, const char *exe,
                                     kb_device **out, const char **why);
void kb_device_close(kb_device *d);

/* "c" or "cuda": what the device of that name builds; NULL for no device's
 * name ("cuda:x"). Does not ask whether it is there. */
const char *kb_device_language(const char *name);

/* How many GPUs there are: "cuda:0" .. are devices. 0 without a driver. */
int kb_device_gpus(void);

const struct kb_device_info *kb_device_about(const kb_device *d);

/* Measures this device's roofs with kernels of our own. */
KB_MUST_USE kb_status kb_device_roofline(kb_device *d,
                                         struct kb_roofline *out);

/* Waits for the sole right among all engines to use this hardware, or gives it
 * back. ESYS. */
KB_MUST_USE kb_status kb_device_claim(kb_device *d, bool on);

/* Clocks and temperature now; 0 what is not known. */
struct kb_device_state {
    uint32_t sm_mhz, memory_mhz, temperature_c;
    uint64_t held_back;         /* reasons for lower clocks, NVML's bits */
};

/* ENODEV: this device does not say. */
KB_MUST_USE kb_status kb_device_read_state(kb_device *d,
                                           struct kb_device_state *out);

/* Why the device can do nothing more in this process (a kernel hung it or
 * broke its context), or NULL. Only a fresh process helps then. */
const char *kb_device_lost(const kb_device *d);

/* EBUILD: log (cap bytes, NUL-terminated) says why. ETIME: it took too long. */
KB_MUST_USE kb_status kb_device_build(kb_device *d, const struct kb_build *b,
                                      char *log, size_t cap, kb_object **out);
void kb_object_free(kb_object *o);

/* Sections, dynamic section, relocations and symbols as readelf prints them,
 * of the object and of the source's part of it, then dynamic symbols and
 * disassembly as objdump does, at most cap bytes; made in jailed children.
 * ENODEV: there is no objdump or readelf, or it is a GPU's. */
KB_MUST_USE kb_status kb_object_text(const kb_object *o, char *text,
                                     size_t cap, size_t *used);

/* What the compiler told of the loops it vectorised and of those it did not,
 * as it told it; NULL: nothing. Valid as long as the object. */
const char *kb_object_remarks(const kb_object *o);

/* EINVAL: no such kernel. ENODEV: this device's compiler does not say. */
KB_MUST_USE kb_status kb_object_facts(const kb_object *o, const char *entry,
                                      struct kb_facts *out);

/* Room for the arguments, slots copies of each array. Everything is zero.
 * EINVAL: too many arguments or slots, or a count of 0. ENOMEM: too large. */
KB_MUST_USE kb_status kb_buffers_new(kb_device *d, const struct kb_arg *arg,
                                     size_t args, size_t slots,
                                     kb_buffers **out);
void kb_buffers_free(kb_buffers *b);

size_t kb_buffers_args(const kb_buffers *b);
size_t kb_buffers_slots(const kb_buffers *b);
const struct kb_arg *kb_buffers_arg(const kb_buffers *b, size_t arg);

/* The array of an argument in a slot. NULL for scalars, and on a device whose
 * memory this process cannot reach. */
void *kb_buffers_at(kb_buffers *b, size_t arg, size_t slot);

/* The rest works on every device; args and slots are in range, arg an array.
 * ECRASH: the device is lost.
 *
 * Fills a slot as kb_tensor_fill does; below > 0 asks for whole numbers in
 * [0, below) instead, for arrays of indices. */
KB_MUST_USE kb_status kb_buffers_fill(kb_buffers *b, size_t arg,
                                      size_t slot, enum kb_fill fill, uint64_t below,
                                      uint64_t seed);
KB_MUST_USE kb_status kb_buffers_get(kb_buffers *b, size_t arg, size_t slot,
                                     size_t i, double *out);
KB_MUST_USE kb_status kb_buffers_set(kb_buffers *b, size_t arg, size_t slot,
                                     size_t i, double value);

/* Launches from now on use the first `slots` slots (>= 1; more than there are:
 * all, as at first): poison and stir leave the others as they are. */
void kb_buffers_use(kb_buffers *b, size_t slots);

/* In every input of every slot in use an element becomes what another of its
 * array is, `least` times in all at least, by draws from seed: what was
 * computed from the inputs before is no answer now. */
KB_MUST_USE kb_status kb_buffers_stir(kb_buffers *b, size_t least,
                                      uint64_t seed);

/* How many elements of a float64 array of slot 0 would be denormal numbers of
 * dtype. ENODEV: another type, or memory this process cannot reach. */
KB_MUST_USE kb_status kb_buffers_denormals(kb_buffers *b, size_t arg,
                                           enum kb_dtype dtype, size_t *out);

/* Element to becomes what element from is. Need not have happened before the
 * next thing that looks. */
KB_MUST_USE kb_status kb_buffers_copy(kb_buffers *b, size_t arg, size_t slot,
                                      size_t to, size_t from);

/* Puts a mutant of output arg of slot 0, which holds the right answer, in its
 * place; from: the input of a copy; rows, cols: as in kb_mutation. *other is
 * what kb_mutant_make returns. ENOMEM. */
KB_MUST_USE kb_status kb_buffers_mutate(kb_buffers *b, size_t arg,
                                        enum kb_mutant kind, size_t from,
                                        size_t rows, size_t cols,
                                        uint64_t seed, size_t *other);

/* Copies the inputs of a slot, and the pristine in-out arrays, of from to our
 * slot 0: arrays of the same modes and counts. In-out arrays of a reference are float64, and are
 * widened on the way. EINVAL: another device, shape or type. */
KB_MUST_USE kb_status kb_buffers_take(kb_buffers *b, kb_buffers *from,
                                      size_t slot);

/* An input or in-out array becomes its absolute value. */
KB_MUST_USE kb_status kb_buffers_absolute(kb_buffers *b, size_t arg);

/* Every element of a floating input or in-out array of slot 0 moves up or down by a rounding of
 * dtype (twice its unit roundoff), by draws from seed. */
KB_MUST_USE kb_status kb_buffers_nudge(kb_buffers *b, size_t arg,
                                       enum kb_dtype dtype, uint64_t seed);

/* Output arg of b, float64, is the scale of a comparison: each element grows by what lets its
 * limit under bound grow by times |near - want|. base: it starts as the larger of |base| and
 * |want|; NULL: as it is. ENODEV: another type; EINVAL: another shape. */
KB_MUST_USE kb_status kb_buffers_spread(kb_buffers *b, size_t arg,
                                        kb_buffers *want, kb_buffers *near,
                                        const struct kb_bound *bound,
                                        double times, kb_buffers *base);

/* A number that two slots share when their outputs have the same bits. */
KB_MUST_USE kb_status kb_buffers_digest(kb_buffers *b, size_t slot,
                                        uint64_t *out);

/* kb_tensor_compare of an output with the same argument of want, float64 or of
 * the candidate's own type; the scale s of an element is that of scale (NULL:
 * none), but never below |r|. EINVAL as there, or for another device or
 * shape. */
KB_MUST_USE kb_status kb_buffers_compare(kb_buffers *b, size_t arg,
                                         size_t slot, kb_buffers *want,
                                         kb_buffers *scale,
                                         const struct kb_bound *bound,
                                         struct kb_compare *out);

/* Fills every output of the slots in use and all red zones with a new pattern. An
 * in-out array gets its red zones filled and the contents of slot 0's pristine
 * copy, see kb_buffers_keep. */
KB_MUST_USE kb_status kb_buffers_poison(kb_buffers *b, uint64_t seed);

/* Remembers the in-out arrays of slot 0 as their pristine copies. */
KB_MUST_USE kb_status kb_buffers_keep(kb_buffers *b);

/* The first output whose red zone was written to since the last poison, or -1;
 * *slot says where. On a GPU, where nothing keeps a kernel from its inputs, also
 * the first input that was changed, or written beside. */
KB_MUST_USE kb_status kb_buffers_damaged(kb_buffers *b, int *arg,
                                         size_t *slot);

/* Starts a process that maps the buffers, closes its jail, then loads o. The
 * inputs cannot be written to from there, and from the first start on the
 * program sees what we write to them. ECRASH, EDENIED or ETIME: it died while
 * loading (constructors run then); EINVAL: the plan asks for what the object
 * or the device has not, or one of them is another device's; why (cap bytes)
 * says how. The program borrows d and b
 * until it is stopped, o and plan for the call only. plan: NULL for C. */
KB_MUST_USE kb_status kb_program_start(kb_device *d, const kb_object *o,
                                       kb_buffers *b,
                                       const struct kb_plan *plan,
                                       kb_program **out, char *why,
                                       size_t cap);

/* Calls the kernel iterations times, call i on slot i mod slots, and waits.
 * *elapsed_ns is the time from opening the gate to the end of the last call,
 * less the time in which the processor was given to others: the smaller of
 * our clock's difference and the processor time the system booked on the
 * program since the launch before, which is out of its reach. A kernel is one
 * thread, so what it does not use a processor for it does not do. What it used
 * beyond our clock's difference and a wake-up is added: a kernel can reach its
 * caller and say too early that it is done.
 * ETIME: killed at the deadline; a kernel that had the processor for less than
 * half of the time gets up to five times as long. ECRASH, EDENIED: it died; kb_program_why
 * says how. After any of these the program can only be stopped.
 * elapsed_ns may be NULL: a run that is not timed, for which no cache is
 * emptied. */
KB_MUST_USE kb_status kb_program_launch(kb_program *p, uint64_t iterations,
                                        int64_t timeout_ns,
                                        int64_t *elapsed_ns);

/* Hardware counters under set ("search", "full"; devices may have one for
 * both) of the launches since the last call, or of launches made for it.
 * *n of metric[KB_DEVICE_METRICS] are written. ENODEV: why (cap bytes) says
 * what keeps them from us. */
KB_MUST_USE kb_status kb_program_profile(kb_program *p, const char *set,
                                         struct kb_metric *metric, size_t *n,
                                         char *why, size_t cap);

/* Blocks of launch i of the plan that fit on an SM at once, as a share of its
 * threads. ENODEV where there are no SMs. */
KB_MUST_USE kb_status kb_program_occupancy(kb_program *p, size_t i,
                                           double *out);

/* How it died, e.g. "killed by signal 11 (Segmentation fault)"; or "". */
const char *kb_program_why(const kb_program *p);
void kb_program_stop(kb_program *p);

#endif
