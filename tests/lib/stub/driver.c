#include "stub.h"

#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cuda/api.h"
#include "measure/tensor.h"

#define X(field, symbol, arguments) cu_result symbol arguments;
KB_CUDA_MAP(X)
#undef X

enum { INVALID = 1, NO_CONTEXT = 201, NOT_FOUND = 500, FAULT = 700,
       BLOCKS = 4096,
       EVENTS = 1024 };

static const size_t memory_bytes = (size_t)8 << 30;

struct block { char *at; size_t bytes; };
struct CUevent_st { bool taken; double ms; };

static struct stub state;
static struct block block[BLOCKS];
static struct CUevent_st event_of[EVENTS];
static size_t held_bytes;
static int gpus = 2, broken;            /* broken: what every call returns */
static bool hangs;
static double clock_ms;

struct stub *stub(void)
{
    return &state;
}

__attribute__((format(printf, 1, 2)))
static void note(const char *format, ...)
{
    va_list list;
    size_t room = sizeof state.log - state.used;
    va_start(list, format);
    int n = vsnprintf(state.log + state.used, room, format, list);
    va_end(list);
    if (n > 0 && (size_t)n < room)
        state.used += (size_t)n;
}

/* What a call answers before it does anything; 0: it goes on. */
static cu_result enter(const char *name, bool needs_context)
{
    state.calls++;
    if (broken || (needs_context && state.contexts < 1))
        state.late++;
    if (broken)
        return broken;
    if (needs_context && state.contexts < 1)
        return NO_CONTEXT;
    if (state.fail && strcmp(state.fail, name) == 0 && state.after-- == 0)
        return state.code;
    return CU_OK;
}

#define ENTER(needs_context)                            \
    do {                                                \
        cu_result code_ = enter(__func__, needs_context); \
        if (code_)                                      \
            return code_;                               \
    } while (0)

static bool within(cu_pointer at, size_t bytes)
{
    for (size_t i = 0; i < BLOCKS; i++)
        if (block[i].at && at >= (uintptr_t)block[i].at
            && at + bytes <= (uintptr_t)block[i].at + block[i].bytes)
            return true;
    state.wrong++;
    return false;
}

static void *host(cu_pointer at)
{
    return (void *)(uintptr_t)at;
}

/* ---- kernels ---------------------------------------------------------------
 *
 * Each reads its parameters from params as the driver would. takes: p pointer,
 * i 4 bytes, l 8 bytes, one letter a parameter, for the log. */

#define POINTER(i) host(*(cu_pointer *)params[i])
#define INT(i) (*(int *)params[i])
#define LONG(i) (*(uint64_t *)params[i])
#define DTYPE(i) ((enum kb_dtype)INT(i))

static void kit_fill(void **params)
{
    struct kb_rng rng;
    kb_rng_seed(&rng, LONG(4));
    if (!LONG(5))
        kb_tensor_fill(POINTER(0), DTYPE(1), LONG(2), (enum kb_fill)INT(3),
                       &rng);
    for (uint64_t i = 0; LONG(5) && i < LONG(2); i++)
        kb_tensor_set(POINTER(0), DTYPE(1), i,
                      (double)kb_rng_below(&rng, LONG(5)));
}

static void kit_poison(void **params)
{
    kb_tensor_poison(POINTER(0), LONG(2) * kb_dtype_bytes(DTYPE(1)), DTYPE(1),
                     LONG(3));
}

static void kit_guard_check(void **params)
{
    if (kb_tensor_guard_check(POINTER(0), LONG(2), LONG(3)) != SIZE_MAX)
        ++*(uint64_t *)POINTER(4);
}

static void kit_abs(void **params)
{
    kb_tensor_abs(POINTER(0), POINTER(0), LONG(2), DTYPE(1));
}

static void kit_widen(void **params)
{
    kb_tensor_widen(POINTER(0), POINTER(1), LONG(3), DTYPE(2));
}

static void kit_digest(void **params)
{
    *(uint64_t *)POINTER(2) += kb_hash(0, POINTER(0), LONG(1));
}

static void kit_compare(void **params)
{
    cu_pointer scale = *(cu_pointer *)params[3];
    if (kb_tensor_compare(POINTER(0), DTYPE(1), POINTER(2),
                          scale ? host(scale) : NULL, LONG(4), params[5],
                          LONG(6), POINTER(7)))
        abort();
}

static void nothing(void **params)
{
    (void)params;
}

/* The task of tests/lib/stub/scale: y = 3 x. */
static void scale(void **params)
{
    const float *x = POINTER(0);
    float *y = POINTER(1);
    for (int i = 0; i < INT(2); i++)
        y[i] = 3 * x[i];
}

static void scale_reference(void **params)
{
    const float *x = POINTER(0);
    double *y = POINTER(1);
    for (int i = 0; i < INT(2); i++)
        y[i] = 3 * (double)x[i];
}

static void scale_wrong(void **params)
{
    scale(params);
    ((float *)POINTER(1))[INT(2) / 2] += 1;
}

static void scale_beside(void **params)
{
    scale(params);
    ((float *)POINTER(1))[INT(2)] = 1;
}

static void scale_input(void **params)
{
    scale(params);
    ((float *)POINTER(0))[0] = 7;
}

static void scale_fault(void **params)
{
    (void)params;
    broken = FAULT;
}

/* Whether the file NAME.when is there, once: another process's kernel faults now. */
static bool disturbed(const char *when)
{
    const char *name = getenv("STUB_NEIGHBOUR");
    char path[512];
    snprintf(path, sizeof path, "%s.%s", name ? name : "", when);
    return name && !unlink(path);
}

static void scale_beside_fault(void **params)
{
    scale(params);
    if (disturbed("launch"))
        broken = FAULT;
}

static void scale_hang(void **params)
{
    (void)params;
    hangs = true;
}

static void scale_kill(void **params)
{
    (void)params;
    raise(SIGKILL);
}

struct cufunc {
    const char *name, *takes;
    void (*run)(void **params);
    double cost_ms;
};

static struct cufunc known[] = {
    { "kit_fill", "", kit_fill, 0.01 },
    { "kit_poison", "", kit_poison, 0.01 },
    { "kit_guard_check", "", kit_guard_check, 0.01 },
    { "kit_abs", "", kit_abs, 0.01 },
    { "kit_widen", "", kit_widen, 0.01 },
    { "kit_digest", "", kit_digest, 0.01 },
    { "kit_compare", "", kit_compare, 0.01 },
    { "kit_read", "", nothing, 0.01 },
    { "kit_copy", "", nothing, 0.01 },
    { "kit_fma32", "", nothing, 0.01 },
    { "kit_mma_bf16", "", nothing, 0.01 },
    { "scale", "ppi", scale, 0.04 },
    { "scale_fast", "ppi", scale, 0.02 },
    { "scale_reference", "ppi", scale_reference, 0.04 },
    { "scale_wrong", "ppi", scale_wrong, 0.02 },
    { "scale_beside", "ppi", scale_beside, 0.02 },
    { "scale_input", "ppi", scale_input, 0.02 },
    { "scale_fault", "ppi", scale_fault, 0.02 },
    { "scale_beside_fault", "ppi", scale_beside_fault, 0.02 },
    { "scale_hang", "ppi", scale_hang, 0.02 },
    { "scale_kill", "ppi", scale_kill, 0.02 },
    { "numbers", "pppilf", nothing, 0.02 },
};

/* ---- the driver ------------------------------------------------------------ */

cu_result cuInit(unsigned flags)
{
    const char *text = getenv("STUB_GPUS");
    (void)flags;
    ENTER(false);
    gpus = text ? atoi(text) : 2;
    return memfd_create("driver", MFD_CLOEXEC) < 0 ? INVALID : CU_OK;
}

cu_result cuDriverGetVersion(int *version)
{
    ENTER(false);
    *version = 13000;
    return CU_OK;
}

cu_result cuGetErrorName(cu_result code, const char **text)
{
    *text = code == FAULT ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_STUB";
    return CU_OK;
}

cu_result cuGetErrorString(cu_result code, const char **text)
{
    *text = code == FAULT ? "an illegal memory access was encountered"
                          : "the stub was told to fail";
    return CU_OK;
}

cu_result cuDeviceGetCount(int *count)
{
    ENTER(false);
    *count = gpus;
    return CU_OK;
}

cu_result cuDeviceGet(cu_device *device, int ordinal)
{
    ENTER(false);
    if (ordinal < 0 || ordinal >= gpus)
        return 101;
    *device = ordinal;
    return CU_OK;
}

cu_result cuDeviceGetName(char *name, int cap, cu_device device)
{
    ENTER(false);
    snprintf(name, (size_t)cap, "Stub %d", device);
    return CU_OK;
}

cu_result cuDeviceGetUuid(struct cu_uuid *id, cu_device device)
{
    const char *text = getenv("STUB_UUID");
    ENTER(false);
    memset(id, 0, sizeof *id);
    snprintf((char *)id->bytes, sizeof id->bytes, "%s", text ? text : "stub");
    id->bytes[15] = (unsigned char)device;
    return CU_OK;
}

cu_result cuDeviceGetAttribute(int *value, int which, cu_device device)
{
    static const int attribute[][2] = {
        { CU_ATTR_MAX_THREADS, 1024 }, { CU_ATTR_WARP_SIZE, 32 },
        { CU_ATTR_CLOCK_KHZ, 1000000 }, { CU_ATTR_SM_COUNT, 4 },
        { CU_ATTR_L2_BYTES, 1 << 20 }, { CU_ATTR_SM_THREADS, 2048 },
        { CU_ATTR_MAJOR, 9 }, { CU_ATTR_MINOR, 0 },
        { CU_ATTR_SM_SHARED, 233472 }, { CU_ATTR_SM_REGISTERS, 65536 },
        { CU_ATTR_BLOCK_SHARED, 232448 }, { CU_ATTR_SM_BLOCKS, 32 },
    };
    (void)device;
    ENTER(false);
    for (size_t i = 0; i < sizeof attribute / sizeof *attribute; i++)
        if (attribute[i][0] == which) {
            *value = attribute[i][1];
            return CU_OK;
        }
    return INVALID;
}

cu_result cuDeviceTotalMem_v2(size_t *bytes, cu_device device)
{
    (void)device;
    ENTER(false);
    *bytes = memory_bytes;
    return CU_OK;
}

cu_result cuDevicePrimaryCtxRetain(cu_context *context, cu_device device)
{
    static char any;
    ENTER(false);
    state.contexts++;
    note("retain %d\n", device);
    *context = (cu_context)(void *)&any;
    return CU_OK;
}

cu_result cuDevicePrimaryCtxRelease_v2(cu_device device)
{
    ENTER(true);
    state.contexts--;
    note("release %d\n", device);
    return CU_OK;
}

cu_result cuCtxSetCurrent(cu_context context)
{
    ENTER(true);
    return context ? CU_OK : INVALID;
}

cu_result cuCtxSetLimit(int limit, size_t value)
{
    (void)limit, (void)value;
    ENTER(true);
    return CU_OK;
}

cu_result cuCtxResetPersistingL2Cache(void)
{
    ENTER(true);
    return CU_OK;
}

cu_result cuMemAlloc_v2(cu_pointer *out, size_t bytes)
{
    size_t i = 0;
    ENTER(true);
    while (i < BLOCKS && block[i].at)
        i++;
    if (i == BLOCKS || bytes > memory_bytes - held_bytes)
        return CU_OUT_OF_MEMORY;
    block[i].at = aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (!block[i].at)
        return CU_OUT_OF_MEMORY;
    block[i].bytes = bytes;
    held_bytes += bytes;
    state.blocks++;
    *out = (uintptr_t)block[i].at;
    return CU_OK;
}

cu_result cuMemFree_v2(cu_pointer at)
{
    ENTER(true);
    for (size_t i = 0; i < BLOCKS; i++)
        if (block[i].at && (uintptr_t)block[i].at == at) {
            held_bytes -= block[i].bytes;
            state.blocks--;
            free(block[i].at);
            block[i].at = NULL;
            return CU_OK;
        }
    state.wrong++;
    return INVALID;
}

cu_result cuMemcpyHtoD_v2(cu_pointer to, const void *from, size_t bytes)
{
    ENTER(true);
    if (!within(to, bytes))
        return INVALID;
    memcpy(host(to), from, bytes);
    return CU_OK;
}

cu_result cuMemcpyDtoH_v2(void *to, cu_pointer from, size_t bytes)
{
    ENTER(true);
    if (!within(from, bytes))
        return INVALID;
    memcpy(to, host(from), bytes);
    return CU_OK;
}

cu_result cuMemcpyDtoDAsync_v2(cu_pointer to, cu_pointer from, size_t bytes,
                               cu_stream stream)
{
    (void)stream;
    ENTER(true);
    if (!within(to, bytes) || !within(from, bytes))
        return INVALID;
    memmove(host(to), host(from), bytes);
    return CU_OK;
}

/* Of 64 MiB and more, as the flush before every launch has, all but the last
 * word is left out. */
cu_result cuMemsetD32Async(cu_pointer at, unsigned word, size_t n,
                           cu_stream stream)
{
    (void)stream;
    ENTER(true);
    if (disturbed("memset"))
        return broken = FAULT;
    if (!within(at, 4 * n))
        return INVALID;
    for (size_t i = n >= 1 << 24 ? n - 1 : 0; i < n; i++)
        ((unsigned *)host(at))[i] = word;
    return CU_OK;
}

cu_result cuModuleLoadData(cu_module *out, const void *image)
{
    static char any;
    ENTER(true);
    if (disturbed("load"))
        return broken = FAULT;
    if (memcmp(image, "\177ELF", 4))
        return CU_INVALID_IMAGE;
    state.modules++;
    *out = (cu_module)(void *)&any;
    return CU_OK;
}

cu_result cuModuleUnload(cu_module module)
{
    (void)module;
    ENTER(true);
    state.modules--;
    note("unload\n");
    return CU_OK;
}

cu_result cuModuleGetFunction(cu_function *out, cu_module module,
                              const char *name)
{
    (void)module;
    ENTER(true);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0) {
            *out = (cu_function)(void *)&known[i];
            return CU_OK;
        }
    return NOT_FOUND;
}

cu_result cuFuncGetAttribute(int *value, int which, cu_function function)
{
    (void)function;
    ENTER(true);
    *value = which == CU_FUNC_MAX_THREADS ? 1024
           : which == CU_FUNC_REGISTERS ? 16 : 0;
    return CU_OK;
}

cu_result cuFuncSetAttribute(cu_function function, int which, int value)
{
    ENTER(true);
    note("set %s %d %d\n", ((struct cufunc *)(void *)function)->name, which,
         value);
    return CU_OK;
}

cu_result cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
    cu_function function, int threads, size_t shared_bytes)
{
    (void)function, (void)shared_bytes;
    ENTER(true);
    *blocks = 1024 / threads;
    return CU_OK;
}

static void note_launch(const struct cufunc *f, const unsigned *shape,
                        void **params)
{
    note("launch %s grid %u,%u,%u block %u,%u,%u shared %u", f->name, shape[0],
         shape[1], shape[2], shape[3], shape[4], shape[5], shape[6]);
    for (size_t i = 0; f->takes[i]; i++)
        if (f->takes[i] == 'p')
            note(" %s", within(*(cu_pointer *)params[i], 1) ? "pointer"
                                                            : "wild");
        else if (f->takes[i] == 'f')
            note(" %g", (double)*(float *)params[i]);
        else
            note(" %lld", f->takes[i] == 'i' ? (long long)INT(i)
                                             : (long long)LONG(i));
    note("\n");
}

cu_result cuLaunchKernel(cu_function function, unsigned gx, unsigned gy,
                         unsigned gz, unsigned bx, unsigned by, unsigned bz,
                         unsigned shared_bytes, cu_stream stream,
                         void **params, void **extra)
{
    struct cufunc *f = (struct cufunc *)(void *)function;
    const unsigned shape[] = { gx, gy, gz, bx, by, bz, shared_bytes };
    ENTER(true);
    if (!gx || !gy || !gz || !bx || !by || !bz || !stream || extra)
        return INVALID;
    if (*f->takes)
        note_launch(f, shape, params);
    clock_ms += f->cost_ms;
    f->run(params);
    return CU_OK;
}

cu_result cuStreamCreate(cu_stream *out, unsigned flags)
{
    static char any;
    ENTER(true);
    state.streams++;
    *out = (cu_stream)(void *)&any;
    return flags == CU_STREAM_NON_BLOCKING ? CU_OK : INVALID;
}

cu_result cuStreamDestroy_v2(cu_stream stream)
{
    (void)stream;
    ENTER(true);
    state.streams--;
    return CU_OK;
}

cu_result cuStreamQuery(cu_stream stream)
{
    (void)stream;
    ENTER(true);
    return hangs ? CU_NOT_READY : CU_OK;
}

cu_result cuEventCreate(cu_event *out, unsigned flags)
{
    (void)flags;
    ENTER(true);
    for (size_t i = 0; i < EVENTS; i++)
        if (!event_of[i].taken) {
            event_of[i].taken = true;
            state.events++;
            *out = &event_of[i];
            return CU_OK;
        }
    return CU_OUT_OF_MEMORY;
}

cu_result cuEventDestroy_v2(cu_event event)
{
    ENTER(true);
    state.wrong += !event->taken;
    state.events -= event->taken;
    event->taken = false;
    return CU_OK;
}

cu_result cuEventRecord(cu_event event, cu_stream stream)
{
    (void)stream;
    ENTER(true);
    event->ms = clock_ms;
    return CU_OK;
}

cu_result cuEventElapsedTime(float *ms, cu_event from, cu_event to)
{
    ENTER(true);
    *ms = (float)(to->ms - from->ms);
    return CU_OK;
}
