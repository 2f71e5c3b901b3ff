#include "cupti_host.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRY(c, type, p, name, ...)                                          \
    KB_CUPTI_TRY(&(c)->lib, type, p, name, __VA_ARGS__)

struct kb_cupti {
    struct kb_cupti_lib lib;
    CUcontext context;
    CUpti_RangeProfiler_Object *profiler;   /* NULL: at rest */
    uint8_t *availability;
    size_t availability_bytes;
    struct kb_cupti_plan *plans;
    const struct kb_cupti_plan *configured;     /* what is being counted */
    int dead;                               /* touch it no more */
    char chip[32];
};

static kb_status supported(kb_cupti *c, int device)
{
    TRY(c, Profiler_DeviceSupported, p, cuptiProfilerDeviceSupported,
        .cuDevice = device, .api = CUPTI_PROFILER_RANGE_PROFILING);
    if (p.isSupported == CUPTI_PROFILER_CONFIGURATION_SUPPORTED)
        return KB_OK;
    const CUptiResult cause =
        p.architecture == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED
            ? CUPTI_SUCCESS
        : p.confidentialCompute == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED
            ? CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED
        : p.wsl == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED
            ? CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED
        : p.vGpu == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED
          || p.vGpu == CUPTI_PROFILER_CONFIGURATION_DISABLED
            ? CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED
        : p.sli == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED
          || p.cmp == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED
            ? CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED
            : CUPTI_ERROR_NOT_SUPPORTED;
    if (cause == CUPTI_SUCCESS)
        return kb_cupti_refuse(&c->lib, "the GPU is too old: CUPTI's Range "
                               "Profiler needs compute capability 7.5 or "
                               "later");
    return kb_cupti_done(&c->lib, cause, "cuptiProfilerDeviceSupported");
}

/* The profiler ------------------------------------------------------------- */

/* A failure in the middle leaves CUPTI in a state nobody documents. */
static kb_status lost(kb_cupti *c, kb_status st)
{
    c->dead = 1;
    return st;
}

static kb_status enable(kb_cupti *c)
{
    if (c->dead)
        return KB_ENODEV;
    if (c->profiler)
        return KB_OK;
    TRY(c, RangeProfiler_Enable, p, cuptiRangeProfilerEnable,
        .ctx = c->context);
    c->profiler = p.pRangeProfilerObject;
    return KB_OK;
}

/* Disables the profiler until the next collect enables it again. */
static kb_status rest(kb_cupti *c)
{
    if (c->dead)
        return KB_ENODEV;
    if (!c->profiler)
        return KB_OK;
    CUpti_RangeProfiler_Object *old = c->profiler;
    c->profiler = NULL;
    for (struct kb_cupti_plan *plan = c->plans; plan; plan = plan->next) {
        free(plan->counters);   /* they belonged to that profiler: using */
        plan->counters = NULL;  /* them under another ends the process */
    }
    c->dead = 1;                /* unless that is done */
    TRY(c, RangeProfiler_Disable, p, cuptiRangeProfilerDisable,
        .pRangeProfilerObject = old);
    c->dead = 0;
    return KB_OK;
}

/* The image becomes c's. */
static kb_status keep_available(kb_cupti *c, uint8_t *image, size_t bytes)
{
    c->availability = image;
    c->availability_bytes = image ? bytes : 0;
    return image ? KB_OK : KB_ENOMEM;
}

static kb_status find_available(kb_cupti *c)
{
    TRY(c, Profiler_GetCounterAvailability, p,
        cuptiProfilerGetCounterAvailability, .ctx = c->context);
    p.pCounterAvailabilityImage = malloc(p.counterAvailabilityImageSize);
    kb_status st = !p.pCounterAvailabilityImage ? KB_ENOMEM
        : kb_cupti_done(&c->lib, c->lib.cuptiProfilerGetCounterAvailability(&p),
                        "cuptiProfilerGetCounterAvailability");
    if (!st)
        return keep_available(c, p.pCounterAvailabilityImage,
                              p.counterAvailabilityImageSize);
    free(p.pCounterAvailabilityImage);
    return st;
}

static kb_status open_target(kb_cupti *c, int device,
                             const struct kb_cupti_available *known)
{
    TRY(c, Profiler_Initialize, init, cuptiProfilerInitialize, .pPriv = NULL);
    kb_status st = supported(c, device);
    if (st)
        return st;
    TRY(c, Device_GetChipName, chip, cuptiDeviceGetChipName,
        .deviceIndex = (size_t)device);
    snprintf(c->chip, sizeof c->chip, "%s", chip.pChipName);
    if (!known || !known->image)
        return KB_OK;
    uint8_t *image = malloc(known->bytes);
    if (image)
        memcpy(image, known->image, known->bytes);
    return keep_available(c, image, known->bytes);
}

kb_status kb_cupti_open(void *cu_context, int device,
                        const struct kb_cupti_available *known, kb_cupti **out,
                        char *why, size_t cap)
{
    kb_cupti *c = calloc(1, sizeof *c);
    if (!c)
        return KB_ENOMEM;
    c->context = cu_context;
    (void)kb_cupti_refuse(&c->lib, "%s", kb_status_text(KB_ENOMEM));
    kb_status st = kb_cupti_lib_open(&c->lib);
    KB_THEN(st, open_target(c, device, known));
    if (st) {
        snprintf(why, cap, "%s", c->lib.why);
        kb_cupti_close(c);
        return st;
    }
    c->lib.why[0] = '\0';
    *out = c;
    return KB_OK;
}

void kb_cupti_close(kb_cupti *c)
{
    if (!c)
        return;
    (void)rest(c);
    while (c->plans) {
        struct kb_cupti_plan *p = c->plans;
        c->plans = p->next;
        kb_cupti_plan_free(&c->lib, p);
    }
    free(c->availability);
    free(c);
}

struct kb_cupti_available kb_cupti_known(const kb_cupti *c)
{
    return (struct kb_cupti_available){ c->availability,
                                        c->availability_bytes };
}

const char *kb_cupti_why(const kb_cupti *c)
{
    return c->lib.why;
}

static kb_status plan_of(kb_cupti *c, const struct kb_cupti_set *set,
                         struct kb_cupti_plan **out)
{
    for (struct kb_cupti_plan *p = c->plans; p; p = p->next)
        if (p->set == set) {
            *out = p;
            return KB_OK;
        }
    kb_status st = kb_cupti_plan_new(&c->lib, c->chip, c->availability, set,
                                     out);
    if (st)
        return st;
    (*out)->next = c->plans;
    c->plans = *out;
    return KB_OK;
}

/* Room for the counters of one range, empty. */
static kb_status prepare_counters(kb_cupti *c, struct kb_cupti_plan *p)
{
    if (!p->counters) {
        TRY(c, RangeProfiler_GetCounterDataSize, size,
            cuptiRangeProfilerGetCounterDataSize,
            .pRangeProfilerObject = c->profiler, .pMetricNames = p->name,
            .numMetrics = p->names, .maxNumOfRanges = 1,
            .maxNumRangeTreeNodes = 1);
        p->counters_bytes = size.counterDataSize;
        p->counters = malloc(p->counters_bytes);
        if (!p->counters)
            return KB_ENOMEM;
    }
    TRY(c, RangeProfiler_CounterDataImage_Initialize, init,
        cuptiRangeProfilerCounterDataImageInitialize,
        .pRangeProfilerObject = c->profiler,
        .counterDataSize = p->counters_bytes, .pCounterData = p->counters);
    TRY(c, RangeProfiler_SetConfig, set, cuptiRangeProfilerSetConfig,
        .pRangeProfilerObject = c->profiler,
        .configSize = p->config_bytes, .pConfig = p->config,
        .counterDataImageSize = p->counters_bytes,
        .pCounterDataImage = p->counters, .range = CUPTI_UserRange,
        .replayMode = CUPTI_UserReplay, .maxRangesPerPass = 1,
        .numNestingLevels = 1, .minNestingLevel = 1, .targetNestingLevel = 1);
    return KB_OK;
}

static kb_status one_pass(kb_cupti *c, kb_cupti_replay *replay, void *arg,
                          int *done)
{
    TRY(c, RangeProfiler_Start, start, cuptiRangeProfilerStart,
        .pRangeProfilerObject = c->profiler);
    TRY(c, RangeProfiler_PushRange, push, cuptiRangeProfilerPushRange,
        .pRangeProfilerObject = c->profiler, .pRangeName = "kernel");
    kb_status st = replay(arg, true);
    if (st) {
        (void)kb_cupti_refuse(&c->lib, "the kernel failed while counted");
        return st;
    }
    TRY(c, RangeProfiler_PopRange, pop, cuptiRangeProfilerPopRange,
        .pRangeProfilerObject = c->profiler);
    TRY(c, RangeProfiler_Stop, stop, cuptiRangeProfilerStop,
        .pRangeProfilerObject = c->profiler);
    *done = stop.isAllPassSubmitted;
    return KB_OK;
}

static kb_status read_values(kb_cupti *c, struct kb_cupti_plan *p,
                             double *value)
{
    double got[KB_CUPTI_METRICS];
    TRY(c, RangeProfiler_DecodeData, decode, cuptiRangeProfilerDecodeData,
        .pRangeProfilerObject = c->profiler);
    TRY(c, RangeProfiler_GetCounterDataInfo, info,
        cuptiRangeProfilerGetCounterDataInfo, .pCounterDataImage = p->counters,
        .counterDataImageSize = p->counters_bytes);
    if (decode.numOfRangeDropped || info.numTotalRanges != 1)
        return kb_cupti_refuse(&c->lib, "the profiler lost its data: %zu "
                               "ranges of 1", info.numTotalRanges);
    TRY(c, Profiler_Host_EvaluateToGpuValues, evaluate,
        cuptiProfilerHostEvaluateToGpuValues, .pHostObject = p->host,
        .pCounterDataImage = p->counters,
        .counterDataImageSize = p->counters_bytes, .ppMetricNames = p->name,
        .numMetrics = p->names, .pMetricValues = got);
    for (size_t i = 0; i < p->set->metrics; i++)
        value[i] = NAN;
    for (size_t i = 0; i < p->names; i++)
        value[p->at[i]] = isfinite(got[i]) ? got[i] : NAN;
    return KB_OK;
}

kb_status kb_cupti_collect(kb_cupti *c, const struct kb_cupti_set *set,
                           kb_cupti_replay *replay, void *arg, double *value)
{
    struct kb_cupti_plan *p;
    kb_status st = c->availability ? KB_OK : find_available(c);
    KB_THEN(st, plan_of(c, set, &p));
    if (!st && c->configured && c->configured != p)
        st = rest(c);  /* SetConfig alone keeps the set before it */
    KB_THEN(st, enable(c));
    KB_THEN(st, prepare_counters(c, p));
    if (st)
        return st;
    c->configured = p;
    int done = 0;
    for (size_t i = 0; !done && i < p->passes + 1; i++) {
        st = replay(arg, false);
        if (st)
            return st;
        st = one_pass(c, replay, arg, &done);
        if (st)
            return lost(c, st);
    }
    if (!done)
        return lost(c, kb_cupti_refuse(&c->lib, "the profiler asks for more "
                                       "than its %zu passes", p->passes));
    st = read_values(c, p, value);
    return st ? lost(c, st) : KB_OK;
}
