/* cupti_host.h - what cupti.c and cupti_host.c share: the library, its errors
 * told in sentences, and the half of CUPTI that needs no GPU. Needs the
 * toolkit's headers; nobody else includes it.
 */
#pragma once

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

/* The library, its functions, called by their own names: lib->name(...), and what
 * was in the way last. */
struct kb_cupti_lib {
    void *handle;
#define X(name) __typeof__(name) *name;
    KB_CUPTI_FUNCTIONS(X)
#undef X
    char path[512], why[KB_CUPTI_WHY];
};

/* One set on one chip: what CUPTI needs to count it. */
struct kb_cupti_plan {
    struct kb_cupti_plan *next;
    const struct kb_cupti_set *set;
    CUpti_Profiler_Host_Object *host;
    const char *name[KB_CUPTI_METRICS];     /* those that exist here */
    size_t at[KB_CUPTI_METRICS];            /* and their places in the set */
    const char *missing;                    /* the first that does not */
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

/* Calls a function of CUPTI with the parameters p, whose fields are set, and
 * returns from this function with ENODEV and lib->why when it fails. */
#define KB_CUPTI_TRY(lib, type, p, name, ...)                               \
    KB_CUPTI_PARAMS(type, p, __VA_ARGS__);                                  \
    do {                                                                    \
        kb_status tried = kb_cupti_done(lib, (lib)->name(&p), #name);       \
        if (tried)                                                          \
            return tried;                                                   \
    } while (0)

/* Both write a sentence into lib->why and return ENODEV; done has a remedy for
 * what can be remedied, and is KB_OK when r is success. */
#define kb_cupti_refuse(lib, ...)                                           \
    kb_refuse((lib)->why, sizeof (lib)->why, KB_ENODEV, __VA_ARGS__)
kb_status kb_cupti_done(struct kb_cupti_lib *lib, CUptiResult r,
                        const char *call);

/* find opens the library alone, open looks its functions up as well. ENODEV: no
 * libcupti, or one without a function above. */
KB_STATUS kb_cupti_lib_find(struct kb_cupti_lib *lib);
KB_STATUS kb_cupti_lib_open(struct kb_cupti_lib *lib);

/* Metrics the chip lacks are left out; p->missing is the first of them.
 * availability is NULL offline. ENODEV: no such chip, or no metric left. */
KB_STATUS kb_cupti_plan_new(struct kb_cupti_lib *lib, const char *chip,
                            const uint8_t *availability,
                            const struct kb_cupti_set *set,
                            struct kb_cupti_plan **out);
void kb_cupti_plan_free(struct kb_cupti_lib *lib, struct kb_cupti_plan *p);
