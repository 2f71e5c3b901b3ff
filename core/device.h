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
 * aligned between two red zones. damaged reads those of outputs.
 */
#pragma once

#include "device_types.h"
#include "kb.h"
#include "measure/mutant.h"

typedef struct kb_device kb_device;
typedef struct kb_object kb_object;
typedef struct kb_buffers kb_buffers;
typedef struct kb_program kb_program;

/* ---- what an implementation provides ---------------------------------------
 *
 * Each of its objects starts with one of the heads below, and has as many bytes
 * as its table says. device.c makes room for it, all zero but for what is in
 * its head already; open, build, allot and start do the rest, and whatever they
 * leave behind when they fail goes by close, free or stop. What has a contract
 * here is called through the table, d->ops->roofline(d, &r); the rest through
 * the function of its name that follows. Args and slots are in range, arg is
 * an array. ECRASH: the device is lost. */

struct kb_device_ops {
    const char *family, *language;      /* "cpu", and "c": what it builds */
    size_t bytes;
    const struct kb_object_ops *object;
    const struct kb_buffers_ops *buffers;
    const struct kb_program_ops *program;

    kb_status (*open)(kb_device *, const char *name, const char *exe,
                      const char **why);
    void (*close)(kb_device *);

    /* Waits for the sole right among all engines to use this hardware, or
     * gives it back: a lost device keeps it until it is closed. NULL: nobody
     * else uses it. ESYS; ECRASH, ETIME: lost while others used it. */
    kb_status (*claim)(kb_device *, bool on);

    /* NULL, ENODEV: this device does not say. */
    kb_status (*state)(kb_device *, struct kb_device_state *out);

    /* Measures this device's roofs with kernels of our own. */
    kb_status (*roofline)(kb_device *, struct kb_roofline *out);
};

struct kb_object_ops {
    size_t bytes;
    kb_status (*build)(kb_object *, const struct kb_build *, char *, size_t);
    void (*free)(kb_object *);

    /* Sections, dynamic section, relocations and symbols as readelf prints
     * them, of the object and of the source's part of it, then dynamic symbols
     * and disassembly as objdump does, at most cap bytes; made in jailed
     * children. ENODEV: there is no objdump or readelf. NULL: a GPU's. */
    kb_status (*text)(const kb_object *, char *text, size_t cap, size_t *used);

    /* EINVAL: no such kernel. NULL: this device's compiler does not say. */
    kb_status (*facts)(const kb_object *, const char *entry,
                       struct kb_facts *out);
};

struct kb_buffers_ops {
    size_t bytes;
    kb_status (*allot)(kb_buffers *);
    void (*free)(kb_buffers *);
    void *(*at)(kb_buffers *, size_t, size_t);          /* or NULL */

    /* Fills a slot as kb_tensor_fill does; below > 0 asks for whole numbers in
     * [0, below) instead, for arrays of indices. An in-out array keeps a
     * pristine copy of it; copy and turn change that copy. */
    kb_status (*fill)(kb_buffers *, size_t arg, size_t slot, enum kb_fill,
                      uint64_t below, uint64_t seed);
    kb_status (*get)(kb_buffers *, size_t arg, size_t slot, size_t i,
                     double *out);

    /* Element `to` of a slot becomes element `from` of slot `of` of the pool.
     * Need not have happened before the next thing that looks. */
    kb_status (*copy)(kb_buffers *, size_t arg, size_t slot, size_t to,
                      kb_buffers *pool, size_t of, size_t from);

    /* A whole array to or from host memory; NULL where `at` gives it. */
    kb_status (*move)(kb_buffers *, size_t arg, void *host, bool in);
    kb_status (*take)(kb_buffers *, size_t arg, kb_buffers *, size_t);

    /* kb_tensor_turn of a slot. NULL: this device cannot. */
    kb_status (*turn)(kb_buffers *, size_t arg, size_t slot, size_t by);

    /* An input or in-out array becomes its absolute value. */
    kb_status (*absolute)(kb_buffers *, size_t arg);

    kb_status (*poison)(kb_buffers *);                  /* by b->seed */

    /* *arg and *slot become the first output whose red zone was written to
     * since the last poison; on a GPU, where nothing keeps a kernel from its
     * inputs, also the first input that was changed, or written beside. Both
     * stay as they were when there is none. */
    kb_status (*damaged)(kb_buffers *, int *arg, size_t *slot);

    /* A number that two slots share when their outputs have the same bits. */
    kb_status (*digest)(kb_buffers *, size_t slot, uint64_t *out);
    kb_status (*compare)(kb_buffers *, size_t, size_t, kb_buffers *,
                         kb_buffers *, const struct kb_bound *,
                         struct kb_compare *);
};

struct kb_program_ops {
    size_t bytes;
    kb_status (*start)(kb_program *, const kb_object *, kb_buffers *,
                       const struct kb_plan *, char *, size_t);

    /* The next launch is that of a program which was just loaded: nothing is
     * left of what earlier ones kept. Of the slots those in use now are all it
     * has: a kernel that touches another dies (ECRASH), but for what does not
     * fill a page. NULL: this device cannot. */
    kb_status (*renew)(kb_program *);

    /* Calls the kernel iterations times, call i on slot i mod slots, and waits.
     * *elapsed_ns is the time from opening the gate to the end of the last
     * call, less the time in which the processor was given to others: the
     * smaller of our clock's difference and the processor time the system
     * booked on the program since the launch before, or since it was renewed,
     * which is out of its reach. A kernel is one thread, so what it does not
     * use a processor for it does not do. What it used beyond our clock's
     * difference and a wake-up is added: a kernel can reach its caller and say
     * too early that it is done.
     * ETIME: killed at the deadline; a kernel that had the processor for less
     * than half of the time gets up to five times as long. ECRASH, EDENIED: it
     * died; p->why says how. After any of these the program can only be
     * stopped. elapsed_ns may be NULL: a run that is not timed, for which no
     * cache is emptied. */
    kb_status (*launch)(kb_program *, uint64_t iterations, int64_t timeout_ns,
                        int64_t *elapsed_ns);

    /* Hardware counters under set ("search", "full"; devices may have one for
     * both) of the launches since the last call, or of launches made for it.
     * *n of metric[KB_DEVICE_METRICS] are written. ENODEV: why (cap bytes)
     * says what keeps them from us. */
    kb_status (*profile)(kb_program *, const char *set,
                         struct kb_metric *metric, size_t *n, char *why,
                         size_t cap);

    /* Blocks of launch i of the plan that fit on an SM at once, as a share of
     * its threads. NULL: there are no SMs. */
    kb_status (*occupancy)(kb_program *, size_t i, double *out);
    void (*stop)(kb_program *);
};

struct kb_device {
    const struct kb_device_ops *ops;
    struct kb_device_info info;
    char lost[256];             /* why it can do nothing more in this process (a
                                 * kernel hung it or broke its context; only a
                                 * fresh process helps), "" while all is well */
    size_t users;               /* itself until it is closed, and what was
                                 * made of it until that is freed */
};

struct kb_object {
    const struct kb_object_ops *ops;
    kb_device *device;
    char *remarks;              /* what the compiler told of the loops it
                                 * vectorised and of those it did not, as it
                                 * told it; NULL: nothing */
    const void *cubin;          /* NULL: it is no GPU's */
    size_t cubin_bytes;
};

struct kb_buffers {
    const struct kb_buffers_ops *ops;
    kb_device *device;
    size_t args, slots;
    struct kb_arg arg[KB_DEVICE_ARGS];
    uint64_t seed;              /* of the last poison */
    size_t used, first;         /* slots that launches use: kb_buffers_use */
};

struct kb_program {
    const struct kb_program_ops *ops;
    kb_device *device;
    char why[256];              /* how it died, "killed by signal 11 .." */
};

/* Is there such an array? */
static inline bool kb_is_array(const kb_buffers *b, size_t arg, size_t slot)
{
    return arg < b->args && slot < b->slots && b->arg[arg].mode != KB_SCALAR;
}

/* Is arg i an array that kernels write to? */
static inline bool kb_is_output(const kb_buffers *b, size_t i)
{
    return b->arg[i].mode == KB_OUT || b->arg[i].mode == KB_INOUT;
}

/* Is arg i an array whose contents come from us? */
static inline bool kb_is_given(const kb_buffers *b, size_t i)
{
    return b->arg[i].mode == KB_IN || b->arg[i].mode == KB_INOUT;
}

/* ---- devices ------------------------------------------------------------- */

/* name: "cpu", or "cpu:N" to run kernels on processor N; else they get the
 * last one this process may use on which no other process times, and this
 * process keeps to the others until the device is closed, so that waiting for a
 * kernel does not disturb it.
 * "cuda:N" is GPU N, "cuda" the first. ENODEV with *why (static text) for
 * another name, and when this machine cannot run it: no compiler, no Landlock,
 * no such processor. exe is this program's path: kernels run in it.
 *
 * Objects, buffers and programs may be freed before or after the device is
 * closed: what they need of it ends with the last of them. */
KB_STATUS kb_device_open(const char *name, const char *exe, kb_device **out,
                         const char **why);
void kb_device_close(kb_device *d);

/* The implementations. */
extern const struct kb_device_ops kb_cpu_device, kb_cuda_device;

/* How many GPUs there are: "cuda:0" .. are devices. 0 without a driver. */
int kb_cuda_count(void);

/* "c" or "cuda": what the device of that name builds; NULL for no device's
 * name ("cuda:x"). Does not ask whether it is there. */
const char *kb_device_language(const char *name);

/* EBUILD: log (cap bytes, NUL-terminated) says why. ETIME: it took too long.
 * A cubin goes through cubin.h's inspection; PTX is not there to be read
 * (ptx.h): who hands a cubin in has looked at it, or lets it pass. EINVAL: an
 * argument, or a cubin for another device than CUDA. EDENIED: refused; log
 * says why. ENOMEM. */
KB_STATUS kb_device_build(kb_device *d, const struct kb_build *b, char *log,
                          size_t cap, kb_object **out);
void kb_object_free(kb_object *o);

/* Room for the arguments, slots copies of each array. Everything is zero.
 * EINVAL: too many arguments or slots, or a count of 0. ENOMEM: too large. */
KB_STATUS kb_buffers_new(kb_device *d, const struct kb_arg *arg, size_t args,
                         size_t slots, kb_buffers **out);
void kb_buffers_free(kb_buffers *b);

/* The array of an argument in a slot. NULL for scalars, and on a device whose
 * memory this process cannot reach. */
static inline void *kb_buffers_at(kb_buffers *b, size_t arg, size_t slot)
{
    return b->ops->at && kb_is_array(b, arg, slot) ? b->ops->at(b, arg, slot)
                                                   : NULL;
}

/* Launches from now on use `slots` slots (>= 1; more than there are: all, as at
 * first): poison and stir leave the others as they are. Slot 0 of all functions
 * here is then the slot `first`, and after the last one the others follow. */
static inline void kb_buffers_use(kb_buffers *b, size_t slots, size_t first)
{
    b->used = slots < b->slots ? slots : b->slots;
    b->first = first % b->slots;
}

/* Changes the inputs and in-out arrays (their pristine copies) of a slot, so
 * that what was computed from them before is no answer now: four elements all
 * over each array become elements of slot `of` of the pool: buffers of the same
 * modes and types, of any size. turned, where the device can: each array is
 * turned first, and as many as one element in 32 change, so that parts of
 * answers are of no use either, and no processor has learnt which way branches
 * go. All by draws from seed. EINVAL: another device, mode or type. */
KB_STATUS kb_buffers_stir(kb_buffers *b, size_t slot, kb_buffers *pool,
                          size_t of, bool turned, uint64_t seed);

/* How many elements of a float64 array of slot 0 would be denormal numbers of
 * dtype. ENODEV: another type, or memory this process cannot reach. */
KB_STATUS kb_buffers_denormals(kb_buffers *b, size_t arg, enum kb_dtype dtype,
                               size_t *out);

/* Puts a mutant of output arg of slot 0, which holds the right answer, in its
 * place; from: the input of a copy; rows, cols: as in kb_mutation. *other is
 * what kb_mutant_make returns. ENOMEM. */
KB_STATUS kb_buffers_mutate(kb_buffers *b, size_t arg, enum kb_mutant kind,
                            size_t from, size_t rows, size_t cols,
                            uint64_t seed, size_t *other);

/* Copies the inputs of a slot of from, and its pristine in-out arrays, to our
 * slot 0: arrays of the same modes and counts. In-out arrays of a reference are
 * float64, and are widened on the way. EINVAL: another device, shape or type. */
KB_STATUS kb_buffers_take(kb_buffers *b, kb_buffers *from, size_t slot);

/* Every element of a floating input or in-out array of slot 0 moves up or down
 * by 1 to most roundings of dtype (twice its unit roundoff), by draws from
 * seed. */
KB_STATUS kb_buffers_nudge(kb_buffers *b, size_t arg, enum kb_dtype dtype,
                           uint64_t most, uint64_t seed);

/* Output arg of b, float64, is the scale of a comparison: each element grows by
 * what lets its limit under bound grow by times |near - want|. base: it starts
 * as the larger of |base| and |want|; NULL: as it is. ENODEV: another type;
 * EINVAL: another shape. */
KB_STATUS kb_buffers_spread(kb_buffers *b, size_t arg, kb_buffers *want,
                            kb_buffers *near, const struct kb_bound *bound,
                            double times, kb_buffers *base);

/* kb_tensor_compare of an output with the same argument of want, float64 or of
 * the candidate's own type; the scale s of an element is that of scale (NULL:
 * none), but never below |r|. EINVAL as there, or for another device or
 * shape. */
KB_STATUS kb_buffers_compare(kb_buffers *b, size_t arg, size_t slot,
                             kb_buffers *want, kb_buffers *scale,
                             const struct kb_bound *bound,
                             struct kb_compare *out);

/* Fills every output of the slots in use and all red zones with a new pattern. An
 * in-out array gets its red zones filled and the contents of the slot's
 * pristine copy, if there is one. */
static inline KB_STATUS kb_buffers_poison(kb_buffers *b, uint64_t seed)
{
    b->seed = seed;
    return b->ops->poison(b);
}

/* Starts a process that maps the buffers, closes its jail, then loads o;
 * launches run in copies of it. The inputs cannot be written to from there, and
 * from the first start on the program sees what we write to them. ECRASH,
 * EDENIED or ETIME: it died while loading (constructors run then); EINVAL: the plan asks for what the object
 * or the device has not, or one of them is another device's; why (cap bytes)
 * says how. The program borrows d and b until it is stopped, o and plan for the
 * call only. plan: NULL for C. */
KB_STATUS kb_program_start(kb_device *d, const kb_object *o, kb_buffers *b,
                           const struct kb_plan *plan, kb_program **out,
                           char *why, size_t cap);

void kb_program_stop(kb_program *p);
