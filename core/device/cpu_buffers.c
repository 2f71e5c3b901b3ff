#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cpu.h"

enum { PAGE = 4096, ZONE = 64 };        /* ZONE: red zone between two slots */

static const uint64_t max_bytes = (uint64_t)8 << 30;

static bool is_input(const struct kb_arg *a)
{
    return a->mode == KB_IN;
}

/* Lays out one array (or its slots) from page *next on. Slot arrays end at the
 * last page's end as closely as their alignment allows, so that running over
 * the end meets the unmapped page soon. */
static kb_status lay_out(struct kb_cpu_span *s, const struct kb_arg *a,
                         size_t slots, uint64_t *next)
{
    uint64_t size = kb_dtype_bytes(a->dtype);
    if (a->count < 1 || a->count > max_bytes / size / slots)
        return KB_EINVAL;
    s->bytes = a->count * size;
    uint64_t room = (s->bytes + KB_DEVICE_ALIGN - 1) / KB_DEVICE_ALIGN
                  * KB_DEVICE_ALIGN;
    s->stride = room + (slots > 1 ? ZONE : 0);
    uint64_t all = (slots - 1) * s->stride + room;
    s->pages = (all + ZONE + PAGE - 1) / PAGE;
    s->first = *next;
    s->offset = s->pages * PAGE - all;
    *next += s->pages;
    return KB_OK;
}

static kb_status open_memory(const char *name, size_t bytes, int *fd,
                             unsigned char **at)
{
    if (bytes == 0)
        bytes = PAGE;
    *fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (*fd < 0 || ftruncate(*fd, (off_t)bytes))
        return KB_ESYS;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_POPULATE, *fd, 0);
    if (p == MAP_FAILED)
        return KB_ENOMEM;
    *at = p;
    return KB_OK;
}

kb_status kb_buffers_new(kb_device *d, const struct kb_arg *arg, size_t args,
                         size_t slots, kb_buffers **out)
{
    (void)d;
    if (args < 1 || args > KB_DEVICE_ARGS || slots < 1
        || slots > KB_DEVICE_SLOTS)
        return KB_EINVAL;
    kb_buffers *b = calloc(1, sizeof *b);
    if (!b)
        return KB_ENOMEM;
    b->in_fd = b->out_fd = -1;
    b->args = args;
    b->slots = slots;
    memcpy(b->arg, arg, args * sizeof *arg);

    kb_status st = KB_OK;
    uint64_t in_pages = 0, out_pages = 0;
    for (size_t i = 0; i < args && !st; i++)
        if (arg[i].mode != KB_SCALAR)
            st = is_input(&arg[i])
               ? lay_out(&b->span[i], &arg[i], 1, &in_pages)
               : lay_out(&b->span[i], &arg[i], slots, &out_pages);
    if (st)
        goto fail;
    b->in_bytes = in_pages * PAGE;
    b->out_bytes = out_pages * PAGE;
    st = open_memory("kb-in", b->in_bytes, &b->in_fd, &b->in);
    if (!st)
        st = open_memory("kb-out", b->out_bytes, &b->out_fd, &b->out);
    if (st)
        goto fail;
    *out = b;
    return KB_OK;

fail:
    kb_buffers_free(b);
    return st;
}

void kb_buffers_free(kb_buffers *b)
{
    if (!b)
        return;
    int saved = errno;
    if (b->in)
        munmap(b->in, b->in_bytes ? b->in_bytes : PAGE);
    if (b->out)
        munmap(b->out, b->out_bytes ? b->out_bytes : PAGE);
    if (b->in_fd >= 0)
        close(b->in_fd);
    if (b->out_fd >= 0)
        close(b->out_fd);
    for (size_t i = 0; i < b->args; i++)
        free(b->pristine[i]);
    free(b);
    errno = saved;
}

size_t kb_buffers_args(const kb_buffers *b)
{
    return b->args;
}

size_t kb_buffers_slots(const kb_buffers *b)
{
    return b->slots;
}

const struct kb_arg *kb_buffers_arg(const kb_buffers *b, size_t arg)
{
    assert(arg < b->args);
    return &b->arg[arg];
}

static unsigned char *span_start(const kb_buffers *b, size_t i)
{
    return (is_input(&b->arg[i]) ? b->in : b->out) + b->span[i].first * PAGE;
}

void *kb_buffers_at(kb_buffers *b, size_t arg, size_t slot)
{
    assert(arg < b->args && slot < b->slots);
    if (b->arg[arg].mode == KB_SCALAR)
        return NULL;
    if (is_input(&b->arg[arg]))
        slot = 0;
    return span_start(b, arg) + b->span[arg].offset
         + slot * b->span[arg].stride;
}

const void *kb_buffers_pristine(const kb_buffers *b, size_t arg)
{
    assert(arg < b->args && b->arg[arg].mode != KB_SCALAR);
    if (b->pristine[arg])
        return b->pristine[arg];
    return span_start(b, arg) + b->span[arg].offset;
}

uint64_t kb_buffers_seed(const kb_buffers *b)
{
    return b->seed;
}

kb_status kb_buffers_keep(kb_buffers *b)
{
    for (size_t i = 0; i < b->args; i++) {
        if (b->arg[i].mode != KB_INOUT)
            continue;
        if (!b->pristine[i])
            b->pristine[i] = malloc(b->span[i].bytes);
        if (!b->pristine[i])
            return KB_ENOMEM;
        memcpy(b->pristine[i], kb_buffers_at(b, i, 0), b->span[i].bytes);
    }
    return KB_OK;
}

/* The seed of one red zone: zone 0 lies before slot 0, zone i + 1 after slot
 * i. Position in the pattern must not repeat from zone to zone. */
static uint64_t zone_seed(const kb_buffers *b, size_t arg, size_t zone)
{
    return b->seed + (arg + 1) * 0x9e3779b97f4a7c15u
         + (zone + 1) * 0xbf58476d1ce4e5b9u;
}

static unsigned char *zone_at(const kb_buffers *b, size_t arg, size_t zone,
                              size_t *bytes)
{
    const struct kb_cpu_span *s = &b->span[arg];
    unsigned char *start = span_start(b, arg);
    if (zone == 0) {
        *bytes = s->offset;
        return start;
    }
    unsigned char *end = start + s->offset + (zone - 1) * s->stride + s->bytes;
    *bytes = zone == b->slots
           ? (size_t)(start + s->pages * PAGE - end)
           : s->stride - s->bytes;
    return end;
}

void kb_buffers_poison(kb_buffers *b, uint64_t seed)
{
    b->seed = seed;
    for (size_t i = 0; i < b->args; i++) {
        if (b->arg[i].mode != KB_OUT && b->arg[i].mode != KB_INOUT)
            continue;
        for (size_t z = 0; z <= b->slots; z++) {
            size_t bytes;
            unsigned char *zone = zone_at(b, i, z, &bytes);
            kb_tensor_guard_fill(zone, bytes, zone_seed(b, i, z));
        }
        for (size_t s = 0; s < b->slots; s++) {
            void *at = kb_buffers_at(b, i, s);
            if (b->arg[i].mode == KB_OUT)
                kb_tensor_poison(at, b->span[i].bytes, b->arg[i].dtype,
                                 seed);
            else if (b->pristine[i])
                memcpy(at, b->pristine[i], b->span[i].bytes);
        }
    }
}

int kb_buffers_damaged(const kb_buffers *b, size_t *slot)
{
    for (size_t i = 0; i < b->args; i++) {
        if (b->arg[i].mode != KB_OUT && b->arg[i].mode != KB_INOUT)
            continue;
        for (size_t z = 0; z <= b->slots; z++) {
            size_t bytes;
            const unsigned char *zone = zone_at(b, i, z, &bytes);
            if (kb_tensor_guard_check(zone, bytes, zone_seed(b, i, z))
                != SIZE_MAX) {
                *slot = z ? z - 1 : 0;
                return (int)i;
            }
        }
    }
    return -1;
}
