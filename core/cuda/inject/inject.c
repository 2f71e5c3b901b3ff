#include "inject.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dlfcn.h>

#include "cuda/counters/cupti_host.h"
#include "system/toolkit.h"

#include <cupti_activity.h>

#define FUNCTIONS(X)                        \
    X(cuptiActivityRegisterCallbacks)       \
    X(cuptiActivityEnable)                  \
    X(cuptiActivityDisable)                 \
    X(cuptiActivityFlushAll)                \
    X(cuptiActivityGetNextRecord)           \
    X(cuptiActivityGetNumDroppedRecords)    \
    X(cuptiGetResultString)

enum { BUFFER = 1 << 20 };

/* One a process: CUPTI's callbacks carry no pointer of ours. Buffers may come
 * back on a thread of CUPTI's. */
static struct recorder {
    struct kb_cupti_lib lib;
#define X(name) __typeof__(name) *name;
    FUNCTIONS(X)
#undef X
    pthread_mutex_t lock;
    struct kb_activity record[KB_INJECT_RECORDS];
    size_t records;
    int64_t dropped;
    int32_t home;
    struct { uint64_t handle; int32_t id; } stream[KB_INJECT_STREAMS];
    size_t streams;
    int open, on;
    void *known;                /* what the GPU has to count with */
    size_t known_bytes;
} it = { .lock = PTHREAD_MUTEX_INITIALIZER, .home = KB_ACTIVITY_NOWHERE };

/* Of the driver, which whoever loads this library has loaded as well. */
#define DRIVER(X)                                                            \
    X(cuCtxGetCurrent, (CUcontext *))                                        \
    X(cuMemAlloc_v2, (CUdeviceptr *, size_t))                                \
    X(cuMemFree_v2, (CUdeviceptr))                                           \
    X(cuMemsetD8Async, (CUdeviceptr, unsigned char, size_t, CUstream))       \
    X(cuStreamSynchronize, (CUstream))

static struct driver {
#define X(name, arguments) CUresult (*name) arguments;
    DRIVER(X)
#undef X
} driver;

static const CUpti_ActivityKind kinds[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMSET
};

static int explain(CUptiResult r, const char *call, char *why, size_t cap)
{
    const char *text = NULL;
    it.cuptiGetResultString(r, &text);
    return kb_refuse(why, cap, -1, "%s: %s", call, text ? text : "it failed");
}

static const char *const functions[] = { FUNCTIONS(KB_NAME) NULL };
#define NAME(name, arguments) #name,
static const char *const calls[] = { DRIVER(NAME) NULL };

/* The current context; NULL for none. */
static CUcontext current_context(void)
{
    CUcontext context = NULL;
    void *handle = driver.cuStreamSynchronize ? NULL
                 : dlopen("libcuda.so.1", RTLD_NOW);
    if (handle)
        (void)kb_toolkit_symbols(handle, calls, &driver);
    if (!driver.cuCtxGetCurrent || driver.cuCtxGetCurrent(&context))
        return NULL;
    return context;
}

/* Buffers ------------------------------------------------------------------ */

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *size, size_t *most)
{
    *buffer = aligned_alloc(8, BUFFER);
    *size = *buffer ? BUFFER : 0;
    *most = 0;
}

static int32_t narrow(uint64_t x)
{
    return x > INT32_MAX ? INT32_MAX : (int32_t)x;
}

/* What the records of all kinds have under the same names. */
#define KEEP(r, of, what)                                                    \
    (*(r) = (struct kb_activity){                                            \
        .start_ns = (int64_t)(of)->start, .end_ns = (int64_t)(of)->end,      \
        .kind = (what), .device = narrow((of)->deviceId),                    \
        .stream = narrow((of)->streamId) })

/* The fields read are those that every version of these structures begins
 * with: a library older than the headers writes fewer after them. */
static void keep_kernel(const CUpti_ActivityKernel10 *k, struct kb_activity *r)
{
    KEEP(r, k, KB_ACTIVITY_KERNEL);
    r->registers = k->registersPerThread;
    r->shared_bytes = k->staticSharedMemory + k->dynamicSharedMemory;
    r->local_bytes = narrow(k->localMemoryPerThread);
    r->grid[0] = k->gridX, r->grid[1] = k->gridY, r->grid[2] = k->gridZ;
    r->block[0] = k->blockX, r->block[1] = k->blockY, r->block[2] = k->blockZ;
    snprintf(r->name, sizeof r->name, "%s", k->name ? k->name : "?");
}

static int keep(const CUpti_Activity *a, struct kb_activity *r)
{
    switch (a->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL:
        keep_kernel((const void *)a, r);
        return 1;
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        KEEP(r, (const CUpti_ActivityMemcpy6 *)(const void *)a, KB_ACTIVITY_COPY);
        return 1;
    case CUPTI_ACTIVITY_KIND_MEMSET:
        KEEP(r, (const CUpti_ActivityMemset4 *)(const void *)a, KB_ACTIVITY_FILL);
        return 1;
    default:
        return 0;
    }
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream,
                                 uint8_t *buffer, size_t size, size_t valid)
{
    CUpti_Activity *a = NULL;
    size_t lost = 0;
    struct kb_activity r;
    (void)size;
    pthread_mutex_lock(&it.lock);
    while (valid > 0
           && it.cuptiActivityGetNextRecord(buffer, valid, &a) == CUPTI_SUCCESS)
        if (!keep(a, &r))
            continue;
        else if (it.records == KB_INJECT_RECORDS)
            it.dropped++;
        else
            it.record[it.records++] = r;
    if (it.cuptiActivityGetNumDroppedRecords(context, stream, &lost)
        == CUPTI_SUCCESS)
        it.dropped += (int64_t)lost;
    pthread_mutex_unlock(&it.lock);
    free(buffer);
}

/* The library -------------------------------------------------------------- */

int kb_inject_open(char *why, size_t cap)
{
    if (it.open)
        return 0;
    kb_status st = kb_cupti_lib_find(&it.lib);
    const char *missing = st ? NULL : kb_toolkit_symbols(it.lib.handle,
        functions, &it.cuptiActivityRegisterCallbacks);
    if (missing)
        st = kb_cupti_refuse(&it.lib, "%s has no %s", it.lib.path, missing);
    if (st)
        return kb_refuse(why, cap, -1, "%s", it.lib.why);
    CUptiResult r = it.cuptiActivityRegisterCallbacks(give_buffer, take_buffer);
    if (r)
        return explain(r, "cuptiActivityRegisterCallbacks", why, cap);
    it.open = 1;
    return 0;
}

int InitializeInjection(void)
{
    char why[KB_CUPTI_WHY];
    return kb_inject_open(why, sizeof why) == 0;
}

static void all_off(void)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        (void)it.cuptiActivityDisable(kinds[i]);
    it.on = 0;
}

static void forget(void)
{
    pthread_mutex_lock(&it.lock);
    it.records = 0, it.dropped = 0;
    pthread_mutex_unlock(&it.lock);
}

/* A stream's id is what a fill of ours on it is recorded with: CUPTI need not
 * tell the id of the default stream's handle, which is NULL. */
static int32_t id_of_a_fill(CUstream stream)
{
    int32_t id = KB_ACTIVITY_NOWHERE;
    CUdeviceptr at = 0;
    if (!driver.cuStreamSynchronize || driver.cuMemAlloc_v2(&at, 256))
        return id;
    if (!driver.cuMemsetD8Async(at, 0, 256, stream))
        (void)driver.cuStreamSynchronize(stream);
    (void)driver.cuMemFree_v2(at);
    (void)it.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    pthread_mutex_lock(&it.lock);
    for (size_t i = 0; i < it.records; i++)
        if (it.record[i].kind == KB_ACTIVITY_FILL)
            id = it.record[i].stream;
    pthread_mutex_unlock(&it.lock);
    return id;
}

static int32_t id_of(uint64_t handle)
{
    for (size_t i = 0; i < it.streams; i++)
        if (it.stream[i].handle == handle)
            return it.stream[i].id;
    CUcontext context = current_context();
    CUstream stream = (CUstream)(uintptr_t)handle;
    static const char *const name[] = { "cuptiGetStreamIdEx", NULL };
    __typeof__(cuptiGetStreamIdEx) *ask = NULL;
    uint32_t told = 0;
    if (!context)
        return KB_ACTIVITY_NOWHERE;
    int32_t id = id_of_a_fill(stream);
    if (id == KB_ACTIVITY_NOWHERE
        && !kb_toolkit_symbols(it.lib.handle, name, &ask)
        && ask(context, stream, 0, &told) == CUPTI_SUCCESS)
        id = narrow(told);
    if (id != KB_ACTIVITY_NOWHERE && it.streams < KB_INJECT_STREAMS) {
        it.stream[it.streams].handle = handle;
        it.stream[it.streams++].id = id;
    }
    return id;
}

int kb_inject_start(uint64_t stream, char *why, size_t cap)
{
    if (kb_inject_open(why, cap) != 0)
        return -1;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        CUptiResult r = it.cuptiActivityEnable(kinds[i]);
        if (r) {
            all_off();
            return explain(r, "cuptiActivityEnable", why, cap);
        }
    }
    (void)it.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    forget();
    it.home = id_of(stream);
    forget();
    it.on = 1;
    return 0;
}

int kb_inject_stop(struct kb_activity_sum *out, char *why, size_t cap)
{
    if (!it.on)
        return kb_refuse(why, cap, -1, "nothing is being recorded");
    CUptiResult r = it.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    all_off();
    if (r)
        return explain(r, "cuptiActivityFlushAll", why, cap);
    pthread_mutex_lock(&it.lock);
    *out = (struct kb_activity_sum){ .dropped = it.dropped };
    kb_activity_add_up(it.record, it.records, it.home, out);
    pthread_mutex_unlock(&it.lock);
    return 0;
}

const struct kb_activity *kb_inject_records(size_t *n)
{
    *n = it.records;
    return it.record;
}

/* Counters ----------------------------------------------------------------- */

struct callbacks {
    int (*prepare)(void *), (*launch)(void *);
    void *arg;
};

static kb_status replay(void *arg, bool counted)
{
    const struct callbacks *c = arg;
    return (counted ? c->launch : c->prepare)(c->arg) ? KB_ECRASH : KB_OK;
}

int kb_inject_count(const char *set, int device, int (*before)(void *),
                    int (*call)(void *), void *arg, double *value,
                    size_t values, char *why, size_t cap)
{
    const struct kb_cupti_set *s = kb_cupti_set(set);
    struct callbacks c = { before, call, arg };
    kb_cupti *profiler = NULL;
    if (!s || values < s->metrics || it.on)
        return kb_refuse(why, cap, -1, "no such set, no room, or records are "
                         "being taken");
    CUcontext context = current_context();
    if (!context)
        return kb_refuse(why, cap, -1, "no CUDA context is current");
    struct kb_cupti_available known = { it.known, it.known_bytes };
    if (kb_cupti_open(context, device, &known, &profiler, why, cap) != KB_OK)
        return -1;
    kb_status st = kb_cupti_collect(profiler, s, replay, &c, value);
    if (!it.known && !st) {
        known = kb_cupti_known(profiler);
        kb_inject_know(known.image, known.bytes);
    }
    if (st)
        snprintf(why, cap, "%s", kb_cupti_why(profiler)[0]
                 ? kb_cupti_why(profiler) : kb_status_text(st));
    kb_cupti_close(profiler);
    return st ? -1 : 0;
}

const void *kb_inject_known(size_t *bytes)
{
    *bytes = it.known_bytes;
    return it.known;
}

void kb_inject_know(const void *image, size_t bytes)
{
    free(it.known);
    it.known = malloc(bytes);
    it.known_bytes = it.known ? bytes : 0;
    if (it.known)
        memcpy(it.known, image, bytes);
}

int kb_inject_ready(const char *chip, const char *set, char *why, size_t cap)
{
    const struct kb_cupti_set *s = kb_cupti_set(set);
    size_t passes;
    if (!s)
        return kb_refuse(why, cap, -1, "there is no set of counters '%s'", set);
    return kb_cupti_host_passes(chip, s, &passes, why, cap) == KB_OK ? 0 : -1;
}

const char *kb_inject_key(const char *set, size_t i)
{
    const struct kb_cupti_set *s = kb_cupti_set(set);
    return s && i < s->metrics ? s->metric[i].key : NULL;
}
