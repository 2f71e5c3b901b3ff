#include "cupti_host.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARAMS KB_CUPTI_PARAMS
#define CALL(st, c, name, params)                                           \
    KB_CUPTI_CALL(st, &(c)->lib, name, params, (c)->why, sizeof (c)->why)

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
    char why[KB_CUPTI_WHY];
};

static kb_status supported(kb_cupti *c, int device)
{
    kb_status st;
    CUpti_Profiler_DeviceSupported_Params p =
        PARAMS(CUpti_Profiler_DeviceSupported_Params);
    p.cuDevice = device;
    p.api = CUPTI_PROFILER_RANGE_PROFILING;
    CALL(st, c, cuptiProfilerDeviceSupported, &p);
    if (st || p.isSupported == CUPTI_PROFILER_CONFIGURATION_SUPPORTED)
        return st;
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
        return kb_cupti_refuse(c->why, sizeof c->why, "the GPU is too old: "
                               "CUPTI's Range Profiler needs compute "
                               "capability 7.5 or later");
    return kb_cupti_explain(&c->lib, cause, "cuptiProfilerDeviceSupported",
                            c->why, sizeof c->why);
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
    kb_status st;
    if (c->dead)
        return KB_ENODEV;
    if (c->profiler)
        return KB_OK;
    CUpti_RangeProfiler_Enable_Params p =
        PARAMS(CUpti_RangeProfiler_Enable_Params);
    p.ctx = c->context;
    CALL(st, c, cuptiRangeProfilerEnable, &p);
    if (!st)
        c->profiler = p.pRangeProfilerObject;
    return st;
}

/* Disables the profiler until the next collect enables it again. */
static kb_status rest(kb_cupti *c)
{
    kb_status st;
    if (c->dead)
        return KB_ENODEV;
    if (!c->profiler)
        return KB_OK;
    CUpti_RangeProfiler_Disable_Params p =
        PARAMS(CUpti_RangeProfiler_Disable_Params);
    p.pRangeProfilerObject = c->profiler;
    c->profiler = NULL;
    for (struct kb_cupti_plan *plan = c->plans; plan; plan = plan->next) {
        free(plan->counters);   /* they belonged to that profiler: using */
        plan->counters = NULL;  /* them under another ends the process */
    }
    CALL(st, c, cuptiRangeProfilerDisable, &p);
    return st ? lost(c, st) : KB_OK;
}

static kb_status keep_available(kb_cupti *c, size_t bytes)
{
    c->availability = malloc(bytes);
    c->availability_bytes = c->availability ? bytes : 0;
    return c->availability ? KB_OK : KB_ENOMEM;
}

static kb_status find_available(kb_cupti *c)
{
    kb_status st;
    CUpti_Profiler_GetCounterAvailability_Params p =
        PARAMS(CUpti_Profiler_GetCounterAvailability_Params);
    p.ctx = c->context;
    CALL(st, c, cuptiProfilerGetCounterAvailability, &p);
    if (!st)
        st = keep_available(c, p.counterAvailabilityImageSize);
    if (st)
        return st;
    p.pCounterAvailabilityImage = c->availability;
    CALL(st, c, cuptiProfilerGetCounterAvailability, &p);
    return st;
}

static kb_status open_target(kb_cupti *c, int device,
                             const struct kb_cupti_available *known)
{
    kb_status st;
    CUpti_Profiler_Initialize_Params init =
        PARAMS(CUpti_Profiler_Initialize_Params);
    CALL(st, c, cuptiProfilerInitialize, &init);
    if (st)
        return st;
    st = supported(c, device);
    if (st)
        return st;
    CUpti_Device_GetChipName_Params chip =
        PARAMS(CUpti_Device_GetChipName_Params);
    chip.deviceIndex = (size_t)device;
    CALL(st, c, cuptiDeviceGetChipName, &chip);
    if (st)
        return st;
    snprintf(c->chip, sizeof c->chip, "%s", chip.pChipName);
    if (!known || !known->image)
        return find_available(c);
    st = keep_available(c, known->bytes);
    if (!st)
        memcpy(c->availability, known->image, known->bytes);
    return st;
}

kb_status kb_cupti_open(void *cu_context, int device,
                        const struct kb_cupti_available *known, kb_cupti **out,
                        char *why, size_t cap)
{
    kb_cupti *c = calloc(1, sizeof *c);
    if (!c)
        return KB_ENOMEM;
    c->context = cu_context;
    snprintf(c->why, sizeof c->why, "%s", kb_status_text(KB_ENOMEM));
    kb_status st = kb_cupti_lib_open(&c->lib, c->why, sizeof c->why);
    if (!st)
        st = open_target(c, device, known);
    if (!st)
        st = enable(c);
    if (st) {
        snprintf(why, cap, "%s", c->why);
        kb_cupti_close(c);
        return st;
    }
    c->why[0] = '\0';
    *out = c;
    return KB_OK;
}

void kb_cupti_close(kb_cupti *c)
{
    if (!c)
        return;
    if (rest(c) != KB_OK)
        c->profiler = NULL;
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
    return c->why;
}

static kb_status plan_of(kb_cupti *c, const struct kb_cupti_set *set,
                         struct kb_cupti_plan **out)
{
    const char *missing = NULL;
    for (struct kb_cupti_plan *p = c->plans; p; p = p->next)
        if (p->set == set) {
            *out = p;
            return KB_OK;
        }
    struct kb_cupti_plan *p = NULL;
    kb_status st = kb_cupti_plan_new(&c->lib, c->chip, c->availability, set, &p,
                                     &missing, c->why, sizeof c->why);
    if (st)
        return st;
    p->next = c->plans;
    c->plans = *out = p;
    return KB_OK;
}

/* Room for the counters of one range, empty. */
static kb_status prepare_counters(kb_cupti *c, struct kb_cupti_plan *p)
{
    kb_status st;
    if (!p->counters) {
        CUpti_RangeProfiler_GetCounterDataSize_Params size =
            PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params);
        size.pRangeProfilerObject = c->profiler;
        size.pMetricNames = p->name;
        size.numMetrics = p->names;
        size.maxNumOfRanges = size.maxNumRangeTreeNodes = 1;
        CALL(st, c, cuptiRangeProfilerGetCounterDataSize, &size);
        if (st)
            return st;
        p->counters_bytes = size.counterDataSize;
        p->counters = malloc(p->counters_bytes);
        if (!p->counters)
            return KB_ENOMEM;
    }
    CUpti_RangeProfiler_CounterDataImage_Initialize_Params init =
        PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
    init.pRangeProfilerObject = c->profiler;
    init.counterDataSize = p->counters_bytes;
    init.pCounterData = p->counters;
    CALL(st, c, cuptiRangeProfilerCounterDataImageInitialize, &init);
    if (st)
        return st;
    CUpti_RangeProfiler_SetConfig_Params set =
        PARAMS(CUpti_RangeProfiler_SetConfig_Params);
    set.pRangeProfilerObject = c->profiler;
    set.configSize = p->config_bytes;
    set.pConfig = p->config;
    set.counterDataImageSize = p->counters_bytes;
    set.pCounterDataImage = p->counters;
    set.range = CUPTI_UserRange;
    set.replayMode = CUPTI_UserReplay;
    set.maxRangesPerPass = 1;
    set.numNestingLevels = set.minNestingLevel = set.targetNestingLevel = 1;
    CALL(st, c, cuptiRangeProfilerSetConfig, &set);
    return st;
}

static kb_status one_pass(kb_cupti *c, const struct kb_cupti_replay *replay,
                          int *done)
{
    kb_status st;
    CUpti_RangeProfiler_Start_Params start =
        PARAMS(CUpti_RangeProfiler_Start_Params);
    start.pRangeProfilerObject = c->profiler;
    CALL(st, c, cuptiRangeProfilerStart, &start);
    if (st)
        return st;
    CUpti_RangeProfiler_PushRange_Params push =
        PARAMS(CUpti_RangeProfiler_PushRange_Params);
    push.pRangeProfilerObject = c->profiler;
    push.pRangeName = "kernel";
    CALL(st, c, cuptiRangeProfilerPushRange, &push);
    if (st)
        return st;
    st = replay->launch(replay->arg);
    if (st) {
        snprintf(c->why, sizeof c->why, "the kernel failed while counted");
        return st;
    }
    CUpti_RangeProfiler_PopRange_Params pop =
        PARAMS(CUpti_RangeProfiler_PopRange_Params);
    pop.pRangeProfilerObject = c->profiler;
    CALL(st, c, cuptiRangeProfilerPopRange, &pop);
    if (st)
        return st;
    CUpti_RangeProfiler_Stop_Params stop =
        PARAMS(CUpti_RangeProfiler_Stop_Params);
    stop.pRangeProfilerObject = c->profiler;
    CALL(st, c, cuptiRangeProfilerStop, &stop);
    *done = !st && stop.isAllPassSubmitted;
    return st;
}

static kb_status read_values(kb_cupti *c, struct kb_cupti_plan *p,
                             double *value)
{
    kb_status st;
    double got[KB_CUPTI_METRICS];
    CUpti_RangeProfiler_DecodeData_Params decode =
        PARAMS(CUpti_RangeProfiler_DecodeData_Params);
    decode.pRangeProfilerObject = c->profiler;
    CALL(st, c, cuptiRangeProfilerDecodeData, &decode);
    if (st)
        return st;
    CUpti_RangeProfiler_GetCounterDataInfo_Params info =
        PARAMS(CUpti_RangeProfiler_GetCounterDataInfo_Params);
    info.pCounterDataImage = p->counters;
    info.counterDataImageSize = p->counters_bytes;
    CALL(st, c, cuptiRangeProfilerGetCounterDataInfo, &info);
    if (st)
        return st;
    if (decode.numOfRangeDropped || info.numTotalRanges != 1)
        return kb_cupti_refuse(c->why, sizeof c->why, "the profiler lost its "
                               "data: %zu ranges of 1", info.numTotalRanges);
    CUpti_Profiler_Host_EvaluateToGpuValues_Params evaluate =
        PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params);
    evaluate.pHostObject = p->host;
    evaluate.pCounterDataImage = p->counters;
    evaluate.counterDataImageSize = p->counters_bytes;
    evaluate.ppMetricNames = p->name;
    evaluate.numMetrics = p->names;
    evaluate.pMetricValues = got;
    CALL(st, c, cuptiProfilerHostEvaluateToGpuValues, &evaluate);
    if (st)
        return st;
    for (size_t i = 0; i < p->set->metrics; i++)
        value[i] = NAN;
    for (size_t i = 0; i < p->names; i++)
        value[p->at[i]] = isfinite(got[i]) ? got[i] : NAN;
    return KB_OK;
}

kb_status kb_cupti_collect(kb_cupti *c, const struct kb_cupti_set *set,
                           const struct kb_cupti_replay *replay, double *value)
{
    struct kb_cupti_plan *p;
    kb_status st = plan_of(c, set, &p);
    if (!st && c->configured && c->configured != p)
        st = rest(c);  /* SetConfig alone keeps the set before it */
    if (!st)
        st = enable(c);
    if (!st)
        st = prepare_counters(c, p);
    if (st)
        return st;
    c->configured = p;
    int done = 0;
    for (size_t i = 0; !done && i < p->passes + 1; i++) {
        st = replay->prepare(replay->arg);
        if (st)
            return st;
        st = one_pass(c, replay, &done);
        if (st)
            return lost(c, st);
    }
    if (!done) {
        snprintf(c->why, sizeof c->why, "the profiler asks for more than its "
                 "%zu passes", p->passes);
        return lost(c, KB_ENODEV);
    }
    st = read_values(c, p, value);
    return st ? lost(c, st) : KB_OK;
}
