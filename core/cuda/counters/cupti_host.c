#include "cupti_host.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "system/toolkit.h"

/* The library -------------------------------------------------------------- */

static const char *const functions[] = { KB_CUPTI_FUNCTIONS(KB_NAME) NULL };

enum { OPEN = RTLD_NOW | RTLD_NODELETE };

static bool take(const char *path, const char *root, void *arg)
{
    struct kb_cupti_lib *lib = arg;
    (void)root;
    lib->handle = dlopen(path, OPEN);
    if (lib->handle)
        snprintf(lib->path, sizeof lib->path, "%s", path);
    return lib->handle != NULL;
}

/* First one that the process has already, as under torch: two would not go
 * together. Then a folder the user names, then the loader's own path (a bundle
 * brings the library along), then where toolkits are installed. */
kb_status kb_cupti_lib_find(struct kb_cupti_lib *lib)
{
    snprintf(lib->path, sizeof lib->path, "libcupti.so");
    lib->handle = kb_toolkit_open("cupti", OPEN | RTLD_NOLOAD);
    if (!lib->handle)
        (void)kb_toolkit_search(KB_TOOLKIT_NAMED, "cupti", take, lib);
    if (!lib->handle)
        lib->handle = kb_toolkit_open("cupti", OPEN);
    if (!lib->handle)
        (void)kb_toolkit_search(KB_TOOLKIT_INSTALLED, "cupti", take, lib);
    return lib->handle ? KB_OK : kb_cupti_refuse(
        lib, "libcupti.so.13 or .12 was found neither by the loader nor "
        "below $KERNELBAND_CUDA, $CUDA_HOME, $CUDA_PATH, $CONDA_PREFIX, "
        "/usr/local/cuda or /usr/local/cuda-*: install the toolkit's CUPTI "
        "(package cuda-cupti) or set KERNELBAND_CUDA to the toolkit's folder");
}

kb_status kb_cupti_lib_open(struct kb_cupti_lib *lib)
{
    kb_status st = kb_cupti_lib_find(lib);
    if (st)
        return st;
    const char *missing = kb_toolkit_symbols(lib->handle, functions,
                                             &lib->cuptiGetResultString);
    return !missing ? KB_OK : kb_cupti_refuse(
        lib, "%s has no %s: it is older than CUDA 12.6; install a newer "
        "CUPTI", lib->path, missing);
}

/* What is in the way ------------------------------------------------------- */

/* The driver's RmProfilingAdminOnly: '0', '1', or '?' when it does not say. */
static char admin_only(void)
{
    char line[128], value = '?';
    FILE *f = fopen("/proc/driver/nvidia/params", "re");
    if (!f)
        return value;
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "RmProfilingAdminOnly: %c", &value) == 1)
            break;
    fclose(f);
    return value;
}

/* A remedy where there is one, else NULL. */
static const char *remedy(CUptiResult r)
{
    switch (r) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
        return admin_only() == '0'
               ? "the driver lets every user count (RmProfilingAdminOnly: 0) "
                 "but this process may not: the container or its host forbids "
                 "it; start the container with --cap-add=SYS_ADMIN"
               : "the driver keeps counters to administrators "
                 "(RmProfilingAdminOnly: 1): run with CAP_SYS_ADMIN (in a "
                 "container --cap-add=SYS_ADMIN; root alone is not enough), "
                 "with CAP_PERFMON since driver 565, or ask the administrator "
                 "for the module option NVreg_RestrictProfilingToAdminUsers=0";
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
        return "this is a virtual GPU (vGPU): the host's administrator must "
               "enable profiling for it (vGPU parameter enable_profiling)";
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
        return "the GPU is in confidential computing mode, which has no "
               "counters unless it is switched to its developer mode";
    case CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED:
        return "the GPU is split into MIG instances, which cannot be "
               "profiled: use a whole GPU";
    case CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED:
        return "WSL: counters need a newer Windows driver, with developer "
               "access to GPU performance counters allowed in its control "
               "panel, or Linux itself";
    case CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED:
        return "this kind of card or its SLI mode has no counters";
    case CUPTI_ERROR_HARDWARE_BUSY:
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
        return "another profiler has the counters: end ncu, nsys, DCGM or the "
               "other run that profiles this GPU (dcgmi profile --pause)";
    case CUPTI_ERROR_INVALID_CHIP_NAME:
    case CUPTI_ERROR_NOT_COMPATIBLE:
        return "libcupti and the driver or GPU do not fit: install the CUPTI "
               "of a toolkit as new as the driver";
    default:
        return NULL;
    }
}

kb_status kb_cupti_done(struct kb_cupti_lib *lib, CUptiResult r,
                        const char *call)
{
    if (r == CUPTI_SUCCESS)
        return KB_OK;
    const char *text = NULL, *cure = remedy(r);
    if (cure)
        return kb_cupti_refuse(lib, "%s (%s: CUPTI error %d)", cure, call,
                               (int)r);
    if (lib->cuptiGetResultString(r, &text) != CUPTI_SUCCESS || !text)
        text = "unknown";
    return kb_cupti_refuse(lib, "%s: %s (CUPTI error %d, %s)", call, text,
                           (int)r, lib->path);
}

/* Sets --------------------------------------------------------------------- */

static kb_status host_open(struct kb_cupti_lib *lib, const char *chip,
                           const uint8_t *availability,
                           CUpti_Profiler_Host_Object **out)
{
    KB_CUPTI_TRY(lib, Profiler_Host_Initialize, p, cuptiProfilerHostInitialize,
                 .profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER,
                 .pChipName = chip, .pCounterAvailabilityImage = availability);
    *out = p.pHostObject;
    return KB_OK;
}

static void host_close(struct kb_cupti_lib *lib,
                       CUpti_Profiler_Host_Object *host)
{
    KB_CUPTI_PARAMS(Profiler_Host_Deinitialize, p, .pHostObject = host);
    if (host)
        (void)lib->cuptiProfilerHostDeinitialize(&p);
}

static CUptiResult host_add(struct kb_cupti_lib *lib,
                            CUpti_Profiler_Host_Object *host,
                            const char **name, size_t names)
{
    KB_CUPTI_PARAMS(Profiler_Host_ConfigAddMetrics, p, .pHostObject = host,
                    .ppMetricNames = name, .numMetrics = names);
    return lib->cuptiProfilerHostConfigAddMetrics(&p);
}

/* Finds the names the chip has, with a host object that is then spent. */
static void plan_names(struct kb_cupti_lib *lib, struct kb_cupti_plan *p,
                       CUpti_Profiler_Host_Object *host)
{
    for (size_t i = 0; i < p->set->metrics; i++) {
        p->name[p->names] = p->set->metric[i].name;
        if (host_add(lib, host, &p->name[p->names], 1) == CUPTI_SUCCESS)
            p->at[p->names++] = i;
        else if (!p->missing)
            p->missing = p->set->metric[i].name;
    }
}

static kb_status plan_image(struct kb_cupti_lib *lib, struct kb_cupti_plan *p)
{
    KB_CUPTI_TRY(lib, Profiler_Host_GetConfigImageSize, size,
                 cuptiProfilerHostGetConfigImageSize, .pHostObject = p->host);
    p->config_bytes = size.configImageSize;
    p->config = malloc(p->config_bytes);
    if (!p->config)
        return KB_ENOMEM;
    KB_CUPTI_TRY(lib, Profiler_Host_GetConfigImage, image,
                 cuptiProfilerHostGetConfigImage, .pHostObject = p->host,
                 .configImageSize = p->config_bytes, .pConfigImage = p->config);
    KB_CUPTI_TRY(lib, Profiler_Host_GetNumOfPasses, passes,
                 cuptiProfilerHostGetNumOfPasses,
                 .configImageSize = p->config_bytes, .pConfigImage = p->config);
    p->passes = passes.numOfPasses;
    return KB_OK;
}

void kb_cupti_plan_free(struct kb_cupti_lib *lib, struct kb_cupti_plan *p)
{
    if (!p)
        return;
    host_close(lib, p->host);
    free(p->config);
    free(p->counters);
    free(p);
}

/* All names are added in one call: each call gets passes of its own. */
kb_status kb_cupti_plan_new(struct kb_cupti_lib *lib, const char *chip,
                            const uint8_t *availability,
                            const struct kb_cupti_set *set,
                            struct kb_cupti_plan **out)
{
    if (set->metrics == 0 || set->metrics > KB_CUPTI_METRICS)
        return KB_EINVAL;
    CUpti_Profiler_Host_Object *spent = NULL;
    struct kb_cupti_plan *p = calloc(1, sizeof *p);
    if (!p)
        return KB_ENOMEM;
    p->set = set;
    kb_status st = host_open(lib, chip, availability, &spent);
    KB_THEN(st, host_open(lib, chip, availability, &p->host));
    if (!st) {
        plan_names(lib, p, spent);
        st = p->names == 0
           ? kb_cupti_refuse(lib, "the GPU has none of the counters of the set "
                             "'%s'", set->name)
           : kb_cupti_done(lib, host_add(lib, p->host, p->name, p->names),
                           "cuptiProfilerHostConfigAddMetrics");
    }
    KB_THEN(st, plan_image(lib, p));
    host_close(lib, spent);
    if (st)
        kb_cupti_plan_free(lib, p);
    else
        *out = p;
    return st;
}

kb_status kb_cupti_host_passes(const char *chip, const struct kb_cupti_set *set,
                               size_t *passes, char *why, size_t cap)
{
    struct kb_cupti_lib lib = { 0 };
    struct kb_cupti_plan *p = NULL;
    kb_status st = kb_cupti_lib_open(&lib);
    if (!st) {
        st = kb_cupti_plan_new(&lib, chip, NULL, set, &p);
        if (!st && p->missing)
            st = kb_cupti_refuse(&lib, "%s has no metric %s", chip, p->missing);
        if (!st)
            *passes = p->passes;
        kb_cupti_plan_free(&lib, p);
        st = st == KB_ENODEV ? KB_EINVAL : st;
    }
    if (st)
        snprintf(why, cap, "%s", lib.why);
    return st;
}
