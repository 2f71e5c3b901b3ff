/* device_impl.h - what an implementation of device.h provides. Each of its
 * objects starts with the head below; device.c finds the implementation there.
 * Contracts are those of device.h.
 */
#ifndef KB_DEVICE_IMPL_H
#define KB_DEVICE_IMPL_H

#include "device.h"

struct kb_device_ops {
    void (*close)(kb_device *);
    kb_status (*claim)(kb_device *, bool);      /* NULL: nothing to share */
    kb_status (*build)(kb_device *, const struct kb_build *, char *, size_t,
                       kb_object **);
    kb_status (*state)(kb_device *, struct kb_device_state *);  /* or NULL */
    kb_status (*roofline)(kb_device *, struct kb_roofline *);
    void (*object_free)(kb_object *);
    kb_status (*object_text)(const kb_object *, char *, size_t, size_t *);
    const char *(*object_remarks)(const kb_object *);   /* or NULL */
    kb_status (*object_facts)(const kb_object *, const char *,
                              struct kb_facts *);
    kb_status (*buffers_new)(kb_device *, const struct kb_arg *, size_t,
                             size_t, kb_buffers **);
    void (*buffers_free)(kb_buffers *);
    void *(*at)(kb_buffers *, size_t, size_t);
    kb_status (*fill)(kb_buffers *, size_t, size_t, enum kb_fill, uint64_t,
                      uint64_t);
    kb_status (*get)(kb_buffers *, size_t, size_t, size_t, double *);
    kb_status (*set)(kb_buffers *, size_t, size_t, size_t, double);
    kb_status (*copy)(kb_buffers *, size_t, size_t, size_t);    /* or NULL */
    /* A whole array to or from host memory; NULL where `at` gives it. */
    kb_status (*move)(kb_buffers *, size_t, void *, bool);
    kb_status (*take)(kb_buffers *, kb_buffers *, size_t);
    kb_status (*absolute)(kb_buffers *, size_t);
    kb_status (*keep)(kb_buffers *);
    kb_status (*poison)(kb_buffers *, uint64_t);
    kb_status (*damaged)(kb_buffers *, int *, size_t *);
    kb_status (*digest)(kb_buffers *, size_t, uint64_t *);
    kb_status (*compare)(kb_buffers *, size_t, size_t, kb_buffers *,
                         kb_buffers *, const struct kb_bound *,
                         struct kb_compare *);
    kb_status (*start)(kb_device *, const kb_object *, kb_buffers *,
                       const struct kb_plan *, kb_program **, char *, size_t);
    kb_status (*launch)(kb_program *, uint64_t, int64_t, int64_t *);
    kb_status (*profile)(kb_program *, const char *, struct kb_metric *,
                         size_t *, char *, size_t);
    kb_status (*occupancy)(kb_program *, size_t, double *);
    void (*stop)(kb_program *);
};

struct kb_device {
    const struct kb_device_ops *ops;
    struct kb_device_info info;
    char lost[256];             /* "" while all is well */
    size_t users;               /* itself until it is closed, and what was
                                 * made of it until that is freed */
};

/* device.c fills in the device of what an implementation has made. */
struct kb_object {
    const struct kb_device_ops *ops;
    kb_device *device;
};

struct kb_buffers {
    const struct kb_device_ops *ops;
    kb_device *device;
    size_t args, slots;
    struct kb_arg arg[KB_DEVICE_ARGS];
    uint64_t seed;              /* of the last poison */
    size_t used;                /* slots that launches use: kb_buffers_use */
};

struct kb_program {
    const struct kb_device_ops *ops;
    kb_device *device;
    char why[256];
};

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

/* The implementations. name is that of kb_device_open, in its right form. */
KB_MUST_USE kb_status kb_cpu_open(const char *name, const char *exe,
                                  kb_device **out, const char **why);
KB_MUST_USE kb_status kb_cuda_open(const char *name, const char *exe,
                                   kb_device **out, const char **why);

int kb_cuda_count(void);

#endif
