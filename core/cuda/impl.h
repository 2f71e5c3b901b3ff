/* cuda/impl.h - what the files of the CUDA device share. Nobody else includes it.
 *
 * All work goes to one stream. Whatever waits for it polls with a deadline: a
 * kernel that does not end, or that breaks the context, makes the device lost,
 * and from then on nothing here calls the driver again, not even to free:
 * only the end of this process helps.
 */
#pragma once

#include "api.h"
#include "cuda/compile/cubin.h"
#include "cuda/compile/nvrtc.h"
#include "cuda/counters/cupti.h"
#include "device.h"
#include "nvml.h"

#define KB_CUDA_KIT_MAP(X)                                                   \
    X(fill) X(poison) X(guard_check) X(abs) X(widen) X(digest)               \
    X(compare) X(read) X(copy) X(fma32) X(mma_bf16)

enum kb_cuda_kit {              /* the kernels of cuda/kit.cu */
#define X(name) KIT_##name,
    KB_CUDA_KIT_MAP(X)
#undef X
    KITS
};

enum {
    CUDA_PAIRS = 64,            /* launches timed before a wait */
    CUDA_ZONE = 1024            /* red zone on either side of an array */
};

typedef struct cuda_device {
    struct kb_device head;
    struct kb_cuda_api api;
    int ordinal, lock_fd;
    cu_device device;
    cu_context context;
    cu_stream stream;
    cu_module kit_module;
    cu_function kit[KITS];
    cu_event event[2 * CUDA_PAIRS];     /* start and end of a launch, .. */
    cu_pointer flush;           /* of flush_bytes */
    size_t flush_bytes;
    cu_pointer results;         /* a page for what kit kernels return */
    kb_nvrtc *nvrtc;
    kb_nvml *nvml;              /* NULL: there is none */
    kb_cupti *cupti;
    char no_cupti[KB_CUPTI_WHY];        /* why there is none, once asked */
} cuda_device;

typedef struct cuda_object {
    struct kb_object head;
    kb_cubin *inspected;        /* its bytes are head.cubin */
} cuda_object;

typedef struct cuda_buffers {
    struct kb_buffers head;
    cuda_device *device;
    cu_pointer base[KB_DEVICE_ARGS];    /* the red zone before the array */
    cu_pointer at[KB_DEVICE_ARGS];      /* the array */
    cu_pointer pristine[KB_DEVICE_ARGS];
    uint64_t given[KB_DEVICE_ARGS];     /* digests of the inputs at poison */
} cuda_buffers;

/* OK when code is; else ECRASH, and unless it is an error of the one call
 * (out of memory: ENOMEM) the device is lost. */
kb_status kb_cuda_check(cuda_device *d, cu_result code, const char *doing);

/* The same of a call of api.h, which is not made on a lost device: ECRASH. */
#define KB_CUDA(d, doing, name, ...)                                         \
    ((d)->head.lost[0] ? KB_ECRASH                                           \
     : kb_cuda_check(d, (d)->api.name(__VA_ARGS__), doing))

/* The source of the kit: cuda/judge.h, then cuda/kit.cu. NUL-terminated. */
extern const char kb_cuda_kit_source[];

/* Memory: taken, filled with a word (bytes: a multiple of 4), given back unless
 * the device is lost. 0 is none. */
kb_status kb_cuda_alloc(cuda_device *d, cu_pointer *at, size_t bytes);
kb_status kb_cuda_set(cuda_device *d, cu_pointer at, unsigned word,
                      size_t bytes);
void kb_cuda_free(cuda_device *d, cu_pointer at);

/* Starts a kit kernel over n items; params as cuLaunchKernel takes them. */
kb_status kb_cuda_kit_run(cuda_device *d, enum kb_cuda_kit which, uint64_t n,
                          void **params);

/* Waits for the stream. ETIME after deadline_ns, ECRASH where a fault is
 * reported up to two seconds after it: the device is lost. */
kb_status kb_cuda_wait(cuda_device *d, int64_t deadline_ns);

/* Puts other data into the L2: a write and a read of twice its size. */
kb_status kb_cuda_flush_l2(cuda_device *d);

kb_status kb_cuda_roofline(kb_device *d, struct kb_roofline *out);

/* Outputs alone: poisoned anew, in-out arrays pristine. */
kb_status kb_cuda_refresh(cuda_buffers *b);

extern const struct kb_object_ops kb_cuda_object;
extern const struct kb_buffers_ops kb_cuda_buffers;
extern const struct kb_program_ops kb_cuda_program;
