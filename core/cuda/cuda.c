#include "impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "system/io.h"

enum { KIT_THREADS = 256, RESULT_BYTES = 4096 };

static const int64_t second_ns = 1000000000;
/* A fault is reported that much later at most, while other processes open
 * and close their contexts (seen: 1.3 s). */
static const int64_t fault_ns = 2 * second_ns;

kb_status kb_cuda_check(cuda_device *d, cu_result code, const char *doing)
{
    char text[160];
    if (code == CU_OK)
        return KB_OK;
    if (code == CU_OUT_OF_MEMORY)
        return KB_ENOMEM;
    if (!d->head.lost[0])
        snprintf(d->head.lost, sizeof d->head.lost, "%s: %s", doing,
                 kb_cuda_api_say(&d->api, code, text, sizeof text));
    return KB_ECRASH;
}

kb_status kb_cuda_kit_run(cuda_device *d, enum kb_cuda_kit which, uint64_t n,
                          void **params)
{
    uint64_t most = (uint64_t)d->head.info.sm_count * 16;
    uint64_t blocks = (n + KIT_THREADS - 1) / KIT_THREADS;
    unsigned grid = (unsigned)(blocks < 1 ? 1 : blocks > most ? most : blocks);
    return KB_CUDA(d, "starting a kernel of ours", LaunchKernel, d->kit[which],
                   grid, 1, 1, KIT_THREADS, 1, 1, 0, d->stream, params, NULL);
}

kb_status kb_cuda_alloc(cuda_device *d, cu_pointer *at, size_t bytes)
{
    return KB_CUDA(d, "allocating", MemAlloc, at, bytes);
}

kb_status kb_cuda_set(cuda_device *d, cu_pointer at, unsigned word,
                      size_t bytes)
{
    return KB_CUDA(d, "filling", MemsetD32Async, at, word, bytes / 4,
                   d->stream);
}

void kb_cuda_free(cuda_device *d, cu_pointer at)
{
    if (at && !d->head.lost[0])
        d->api.MemFree(at);
}

kb_status kb_cuda_wait(cuda_device *d, int64_t deadline_ns)
{
    static const struct timespec nap = { 0, 20000 };
    bool late = false;
    for (unsigned round = 0;; round++) {
        if (d->head.lost[0])
            return KB_ECRASH;
        cu_result code = d->api.StreamQuery(d->stream);
        if (code != CU_NOT_READY && (code || !late))
            return kb_cuda_check(d, code, "a kernel failed");
        int64_t now = kb_clock_now_ns();
        late = now > deadline_ns;
        if (!code || now > deadline_ns + fault_ns)
            return kb_refuse(d->head.lost, sizeof d->head.lost, KB_ETIME,
                             "did not return in time");
        if (round > 2000)
            nanosleep(&nap, NULL);
    }
}

kb_status kb_cuda_flush_l2(cuda_device *d)
{
    uint64_t items = d->flush_bytes / 16;
    cu_pointer sink = d->results;
    void *params[] = { &d->flush, &items, &sink };
    kb_status st = kb_cuda_set(d, d->flush, 0x5eed, d->flush_bytes);
    return st ? st : kb_cuda_kit_run(d, KIT_read, items, params);
}

static void close_context(cuda_device *d)
{
    kb_cupti_close(d->cupti);
    for (size_t i = 0; i < 2 * CUDA_PAIRS; i++)
        if (d->event[i])
            d->api.EventDestroy(d->event[i]);
    kb_cuda_free(d, d->flush);
    kb_cuda_free(d, d->results);
    if (d->kit_module)
        d->api.ModuleUnload(d->kit_module);
    if (d->stream)
        d->api.StreamDestroy(d->stream);
    d->api.PrimaryRelease(d->device);
}

static void close_cuda(kb_device *base)
{
    cuda_device *d = (cuda_device *)base;
    if (d->context && !d->head.lost[0])
        close_context(d);
    kb_nvrtc_close(d->nvrtc);
    kb_nvml_close(d->nvml);
    kb_io_close(&d->lock_fd);
    if (!d->head.lost[0])       /* a lost driver may be at work behind us */
        kb_cuda_api_close(&d->api);
    free(d);
}

static void object_free(kb_object *base)
{
    cuda_object *o = (cuda_object *)base;
    kb_cubin_close(o->inspected);
    free(o);
}

static kb_status object_facts(const kb_object *base, const char *entry,
                              struct kb_facts *out)
{
    const cuda_object *o = (const cuda_object *)base;
    const struct kb_cubin_entry *e = kb_cubin_find(o->inspected, entry);
    if (!e)
        return KB_EINVAL;
    *out = (struct kb_facts){ e->registers, e->shared_bytes, e->local_bytes };
    return KB_OK;
}

/* EINVAL of a cubin is admission: log says why. */
static kb_status inspect(cuda_object *o, const void *cubin, size_t n, char *log,
                         size_t cap)
{
    kb_status st = kb_cubin_open(cubin, n, (uint32_t)o->head.device->info.arch,
                                 &o->inspected, log, cap);
    if (st)
        return st == KB_EINVAL ? KB_EDENIED : st;
    o->head.cubin = o->inspected->bytes;
    o->head.cubin_bytes = n;
    return KB_OK;
}

static kb_status build(kb_object *base, const struct kb_build *b, char *log,
                       size_t cap)
{
    cuda_object *o = (cuda_object *)base;
    cuda_device *d = (cuda_device *)base->device;
    if (b->cubin)
        return inspect(o, b->cubin, b->cubin_bytes, log, cap);
    struct kb_nvrtc_build job = { b->source, strlen(b->source),
                                  d->head.info.target, b->timeout_ns };
    char *cubin;
    size_t n;
    kb_status st = kb_nvrtc_make(d->nvrtc, &job, log, cap, &cubin, &n);
    if (st)
        return st;
    st = inspect(o, cubin, n, log, cap);
    free(cubin);
    return st;
}

/* The text of a cubin: sass.h. */
const struct kb_object_ops kb_cuda_object = {
    .bytes = sizeof(cuda_object), .build = build, .free = object_free,
    .facts = object_facts
};

static int attribute(cuda_device *d, int which)
{
    int value = 0;
    if (d->api.DeviceGetAttribute(&value, which, d->device))
        return 0;
    return value;
}

static void read_info(cuda_device *d)
{
    struct kb_device_info *i = &d->head.info;
    int driver = 0;
    size_t bytes = 0;
    d->api.DriverGetVersion(&driver);
    d->api.DeviceGetName(i->name, sizeof i->name, d->device);
    d->api.DeviceTotalMem(&bytes, d->device);
    snprintf(i->driver, sizeof i->driver, "CUDA %d.%d", driver / 1000,
             driver % 1000 / 10);
    snprintf(i->compiler, sizeof i->compiler, "NVRTC");
    snprintf(i->flags, sizeof i->flags, "%s", KB_NVRTC_FLAGS);
    i->fresh_outputs = true;
    i->sm_count = attribute(d, CU_ATTR_SM_COUNT);
    i->sm_threads = attribute(d, CU_ATTR_SM_THREADS);
    i->sm_registers = attribute(d, CU_ATTR_SM_REGISTERS);
    i->sm_blocks = attribute(d, CU_ATTR_SM_BLOCKS);
    i->sm_shared_bytes = (uint64_t)attribute(d, CU_ATTR_SM_SHARED);
    i->block_shared_bytes = (uint64_t)attribute(d, CU_ATTR_BLOCK_SHARED);
    i->l2_bytes = (uint64_t)attribute(d, CU_ATTR_L2_BYTES);
    i->memory_bytes = bytes;
    i->arch = attribute(d, CU_ATTR_MAJOR) * 10 + attribute(d, CU_ATTR_MINOR);
    snprintf(i->target, sizeof i->target, "sm_%d%s", i->arch,
             i->arch >= 90 ? "a" : "");
}

/* And the clocks, which go by the same id.
 * Two processes that time on one GPU at once measure each other. The file
 * stays: whoever removes it while another waits for it splits the lock.
 *
 * When a process ends Linux releases its files from the highest number down, and
 * with the driver's files it stops what runs on the GPU. The lock must outlive
 * that: its number is lower, reserved before the driver started. */
static kb_status open_lock(cuda_device *d)
{
    struct cu_uuid id;
    char path[96];
    int n = snprintf(path, sizeof path, "/tmp/kernelband-gpu-");
    if (d->api.DeviceGetUuid(&id, d->device))
        return KB_ESYS;
    for (size_t i = 0; i < sizeof id.bytes; i++)
        n += snprintf(path + n, sizeof path - (size_t)n, "%02x", id.bytes[i]);
    if (kb_nvml_open(id.bytes, &d->nvml))
        d->nvml = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {               /* no O_CREAT on another user's file */
        mode_t mask = umask(0);         /* every user's engine opens it */
        fd = open(path, O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
        umask(mask);
    }
    int held = fd < 0 ? -1 : dup3(fd, d->lock_fd, O_CLOEXEC);
    kb_io_close(&fd);
    return held < 0 ? KB_ESYS : KB_OK;
}

static kb_status state(kb_device *base, struct kb_device_state *out)
{
    cuda_device *d = (cuda_device *)base;
    return d->nvml ? kb_nvml_read(d->nvml, out) : KB_ENODEV;
}

/* A kernel that faulted or hangs is cleared away when its process ends, and that
 * stops, or breaks, what runs beside it: until then the lock is kept. Whoever
 * has the lock next waits until the GPU answers; ECRASH, or ETIME after half a
 * minute, says that the context was lost before a candidate was started. */
static kb_status claim(kb_device *base, bool on)
{
    cuda_device *d = (cuda_device *)base;
    if (d->head.lost[0])
        return on ? KB_ECRASH : KB_OK;
    while (flock(d->lock_fd, on ? LOCK_EX : LOCK_UN))
        if (errno != EINTR)
            return KB_ESYS;
    if (!on)
        return KB_OK;
    kb_status st = KB_CUDA(d, "lost to another process", MemsetD32Async,
                           d->results, 0, 1, d->stream);
    return st ? st : kb_cuda_wait(d, kb_clock_now_ns() + 30 * second_ns);
}

static kb_status open_context(cuda_device *d, const char **why)
{
    cu_result code = d->api.Init(0);
    int count = 0;
    if (code == CU_NO_DEVICE || (!code && d->api.DeviceGetCount(&count) == 0
                                 && count == 0))
        return kb_because(why, KB_ENODEV, "the NVIDIA driver shows no GPU (is "
                          "CUDA_VISIBLE_DEVICES empty or wrong?)");
    if (code)
        return kb_because(why, KB_ENODEV, code == CU_DRIVER_MISMATCH
            ? "the NVIDIA kernel module and libcuda.so are of different "
              "versions: restart the machine or reload the module"
            : "the NVIDIA driver does not start");
    if (d->ordinal >= count)
        return kb_because(why, KB_ENODEV, "there is no GPU of that number");
    *why = "the GPU's context cannot be made: is another process using it "
           "exclusively?";
    if (d->api.DeviceGet(&d->device, d->ordinal)
        || d->api.PrimaryRetain(&d->context, d->device)
        || d->api.CtxSetCurrent(d->context)
        || d->api.StreamCreate(&d->stream, CU_STREAM_NON_BLOCKING))
        return KB_ENODEV;
    read_info(d);
    d->api.CtxSetLimit(CU_LIMIT_PERSISTING_L2, 0);      /* none where old */
    return KB_OK;
}

static kb_status open_kit(cuda_device *d, const char **why)
{
    static const char *const names[KITS] = {
#define X(name) "kit_" #name,
        KB_CUDA_KIT_MAP(X)
#undef X
    };
    char log[KB_NVRTC_LOG_BYTES];
    char *cubin;
    size_t n;
    struct kb_nvrtc_build job = { kb_cuda_kit_source, strlen(kb_cuda_kit_source),
                                  d->head.info.target, 60 * second_ns };
    *why = "NVRTC cannot compile for this GPU: is the toolkit older than it?";
    if (kb_nvrtc_make(d->nvrtc, &job, log, sizeof log, &cubin, &n))
        return KB_ENODEV;
    *why = "the driver does not load what NVRTC made: it is older than the "
           "toolkit";
    cu_result code = d->api.ModuleLoadData(&d->kit_module, cubin);
    free(cubin);
    for (size_t i = 0; i < KITS && !code; i++)
        code = d->api.ModuleGetFunction(&d->kit[i], d->kit_module, names[i]);
    return code ? KB_ENODEV : KB_OK;
}

static kb_status open_memory(cuda_device *d, const char **why)
{
    cu_result code = CU_OK;
    *why = "the GPU has no memory left: another process holds it";
    d->flush_bytes = 2 * (size_t)d->head.info.l2_bytes;
    if (d->flush_bytes < (size_t)64 << 20)
        d->flush_bytes = (size_t)64 << 20;
    for (size_t i = 0; i < 2 * CUDA_PAIRS && !code; i++)
        code = d->api.EventCreate(&d->event[i], 0);
    if (!code)
        code = d->api.MemAlloc(&d->flush, d->flush_bytes);
    if (!code)
        code = d->api.MemAlloc(&d->results, RESULT_BYTES);
    return code ? KB_ENODEV : KB_OK;
}

int kb_cuda_count(void)
{
    struct kb_cuda_api api;
    const char *why;
    int count = 0;
    if (kb_cuda_api_open(&api, &why))
        return 0;
    if (api.Init(0) || api.DeviceGetCount(&count))
        count = 0;
    kb_cuda_api_close(&api);
    return count;
}

static kb_status open_cuda(kb_device *base, const char *name, const char *exe,
                           const char **why)
{
    cuda_device *d = (cuda_device *)base;
    d->lock_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (name[4] == ':')
        d->ordinal = atoi(name + 5);
    kb_status st = kb_cuda_api_open(&d->api, why);
    if (!st)            /* its start passes while the driver's does */
        st = kb_nvrtc_open(exe, &d->nvrtc, why);
    KB_THEN(st, open_context(d, why));
    if (!st) {
        *why = "/tmp/kernelband-gpu-*, the lock of this GPU, cannot be "
               "opened: its owner must let others read it (chmod 644)";
        st = open_lock(d);
    }
    KB_THEN(st, open_kit(d, why));
    return st ? st : open_memory(d, why);
}

const struct kb_device_ops kb_cuda_device = {
    .family = "cuda", .language = "cuda", .bytes = sizeof(cuda_device),
    .object = &kb_cuda_object, .buffers = &kb_cuda_buffers,
    .program = &kb_cuda_program, .open = open_cuda, .close = close_cuda,
    .claim = claim, .state = state, .roofline = kb_cuda_roofline
};
