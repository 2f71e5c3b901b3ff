/* stub.h - a CUDA driver without a GPU, for tests: tests/lib/stub/driver.c is a
 * libcuda.so.1, tests/lib/stub/nvrtc.c a libnvrtc.so.13 whose cubins it takes.
 *
 * Memory is the host's, a launch runs at once, and a kernel is the function of
 * driver.c that has its name. The clock is a count: every launch costs what
 * its kernel says. The environment is read at cuInit:
 *
 *   STUB_GPUS   how many devices there are; 2 when it is not set
 *   STUB_UUID   what tells this driver's devices from another's
 *
 * A test that has loaded the library sees and changes the rest by stub().
 */
#ifndef STUB_H
#define STUB_H

#include <stdbool.h>
#include <stddef.h>

enum { STUB_LOG_BYTES = 1 << 16 };

struct stub {
    /* What to do. */
    const char *fail;           /* the call that fails, "cuMemAlloc_v2" */
    int code, after;            /* with what, and how many times it may not */
    /* What happened. */
    unsigned long calls;
    int contexts;               /* retained and not released */
    int blocks, modules, streams, events;       /* not freed yet */
    int late;                   /* calls without a context, or when broken */
    int wrong;                  /* frees of what was not there, bad copies */
    size_t used;
    char log[STUB_LOG_BYTES];   /* launches, and what was freed, in order */
};

struct stub *stub(void);

#endif
