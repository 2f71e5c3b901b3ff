/* cupti_host.h - what cupti.c and cupti_host.c share: the library, its errors
 * told in sentences, and the half of CUPTI that needs no GPU. Needs the
 * toolkit's headers; nobody else includes it.
 */
#ifndef KB_CUPTI_HOST_H
#define KB_CUPTI_HOST_H

#include <stdint.h>

/* cuda.h first: the others use its types. */
#include <cuda.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_result.h>
#include <cupti_target.h>

#include "cupti.h"

#define KB_CUPTI_FUNCTIONS(X)               \
    X(cuptiGetResultString)                 \
    X(cuptiProfilerInitialize)              \
    X(cuptiProfilerDeviceSupported)         \
    X(cuptiProfilerGetCounterAvailability)  \
    X(cuptiDeviceGetChipName)               \
    X(cuptiProfilerHostInitialize)          \
    X(cuptiProfilerHostConfigAddMetrics)    \
    X(cuptiProfilerHostGetConfigImageSize)  \
    X(cuptiProfilerHostGetConfigImage)      \
    X(cuptiProfilerHostGetNumOfPasses)      \
    X(cuptiProfilerHostEvaluateToGpuValues) \
    X(cuptiProfilerHostDeinitialize)        \
    X(cuptiRangeProfilerEnable)             \
    X(cuptiRangeProfilerDisable)            \
    X(cuptiRangeProfilerGetCounterDataSize) \
    X(cuptiRangeProfilerCounterDataImageInitialize) \
    X(cuptiRangeProfilerSetConfig)          \
    X(cuptiRangeProfilerStart)              \
    X(cuptiRangeProfilerStop)               \
    X(cuptiRangeProfilerPushRange)          \
    X(cuptiRangeProfilerPopRange)           \
    X(cuptiRangeProfilerDecodeData)         \
    X(cuptiRangeProfilerGetCounterDataInfo)

/* The library and its functions, called by their own names: lib->name(...). */
struct kb_cupti_lib {
    void *handle;
#define X(name) __typeof__(name) *name;
    KB_CUPTI_FUNCTIONS(X)
#undef X
    char path[512];
};

/* One set on one chip: what CUPTI needs to count it. */
struct kb_cupti_plan {
    struct kb_cupti_plan *next;
    const struct kb_cupti_set *set;
    CUpti_Profiler_Host_Object *host;
    const char *name[KB_CUPTI_METRICS];     /* those that exist here */
    size_t at[KB_CUPTI_METRICS];            /* and their places in the set */
    size_t names, passes;
    uint8_t *config, *counters;
    size_t config_bytes, counters_bytes;
};

/* Declares the parameters p of a call. Every structure of CUPTI begins with its
 * size. */
#define KB_CUPTI_PARAMS(type, p, ...)                                       \
    CUpti_##type##_Params p = {                                             \
        .structSize = CUpti_##type##_Params_STRUCT_SIZE, __VA_ARGS__        \
    }

/* Both write a sentence and return ENODEV; done has a remedy for what can be
 * remedied, and is KB_OK when r is success. */
kb_status kb_cupti_refuse(char *why, size_t cap, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
kb_status kb_cupti_done(const struct kb_cupti_lib *lib, CUptiResult r,
                        const char *call, char *why, size_t cap);

/* find opens the library alone, open looks its functions up as well. ENODEV: no
 * libcupti, or one without a function above. */
KB_MUST_USE kb_status kb_cupti_lib_find(struct kb_cupti_lib *lib, char *why,
                                        size_t cap);
KB_MUST_USE kb_status kb_cupti_lib_open(struct kb_cupti_lib *lib, char *why,
                                        size_t cap);

/* Metrics the chip lacks are left out; *missing is the first of them.
 * availability is NULL offline. ENODEV: no such chip, or no metric left. */
KB_MUST_USE kb_status kb_cupti_plan_new(const struct kb_cupti_lib *lib,
                                        const char *chip,
                                        const uint8_t *availability,
                                        const struct kb_cupti_set *set,
                                        struct kb_cupti_plan **out,
                                        const char **missing,
                                        char *why, size_t cap);
void kb_cupti_plan_free(const struct kb_cupti_lib *lib,
                        struct kb_cupti_plan *p);

#endif
