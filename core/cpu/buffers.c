#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cpu.h"
#include "system/io.h"

enum { ZONE = 64 };                     /* red zone between two slots */

static const uint64_t max_bytes = (uint64_t)8 << 30;

static uint64_t page_bytes(void)        /* 4, 16 or 64 KiB */
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Lays out one array (or its slots) from byte *next on. Slot arrays end at the
 * last page's end as closely as their alignment allows, so that running over
 * the end meets the unmapped page soon. */
static kb_status lay_out(struct kb_cpu_span *s, const struct kb_arg *a,
                         size_t slots, uint64_t *next)
{
    uint64_t size = kb_dtype_bytes(a->dtype), page = page_bytes();
    if (a->count < 1 || a->count > max_bytes / size / slots)
        return KB_EINVAL;
    s->bytes = a->count * size;
    uint64_t room = (s->bytes + KB_DEVICE_ALIGN - 1) / KB_DEVICE_ALIGN
                  * KB_DEVICE_ALIGN;
    s->stride = room + (slots > 1 ? ZONE : 0);
    uint64_t all = (slots - 1) * s->stride + room;
    s->room = (all + ZONE + page - 1) / page * page;
    s->first = *next;
    s->offset = a->front ? 0 : s->room - all;
    *next += s->room;
    return KB_OK;
}

kb_status kb_cpu_map(const char *name, size_t bytes, int *fd, void **at)
{
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

static unsigned char *span_start(const cpu_buffers *b, size_t i)
{
    void *memory = b->head.arg[i].mode == KB_IN ? b->in : b->out;
    return (unsigned char *)memory + b->span[i].first;
}

static unsigned char *slot_at(const cpu_buffers *b, size_t arg, size_t slot)
{
    return span_start(b, arg) + b->span[arg].offset
         + (slot + b->head.first) % b->head.slots * b->span[arg].stride;
}

static void *array_at(kb_buffers *b, size_t arg, size_t slot)
{
    return slot_at((const cpu_buffers *)b, arg, slot);
}

/* Where a slot gets its contents from: itself, or the pristine copy. */
static void *given_at(const kb_buffers *base, size_t arg, size_t slot)
{
    const cpu_buffers *b = (const cpu_buffers *)base;
    return b->pristine[arg]
         ? b->pristine[arg]
           + (slot + base->first) % base->slots * b->span[arg].bytes
         : slot_at(b, arg, slot);
}

static kb_status keep(cpu_buffers *b, size_t arg, size_t slot)
{
    size_t bytes = b->span[arg].bytes;
    if (!b->pristine[arg])
        b->pristine[arg] = calloc(b->head.slots, bytes);
    if (!b->pristine[arg])
        return KB_ENOMEM;
    memcpy(given_at(&b->head, arg, slot), slot_at(b, arg, slot), bytes);
    return KB_OK;
}

/* The seed of one red zone: zone 0 lies before slot 0, zone i + 1 after slot
 * i. Position in the pattern must not repeat from zone to zone. */
static uint64_t zone_seed(const cpu_buffers *b, size_t arg, size_t zone)
{
    return b->head.seed + (arg + 1) * 0x9e3779b97f4a7c15u
         + (zone + 1) * 0xbf58476d1ce4e5b9u;
}

static unsigned char *zone_at(const cpu_buffers *b, size_t arg, size_t zone,
                              size_t *bytes)
{
    const struct kb_cpu_span *s = &b->span[arg];
    unsigned char *start = span_start(b, arg);
    if (zone == 0) {
        *bytes = s->offset;
        return start;
    }
    unsigned char *end = start + s->offset + (zone - 1) * s->stride + s->bytes;
    *bytes = zone == b->head.slots
           ? (size_t)(start + s->room - end)
           : s->stride - s->bytes;
    return end;
}

/* What a slot has before a sample, from byte from on. */
static void refill(cpu_buffers *b, size_t arg, size_t slot, size_t from,
                   size_t bytes)
{
    const struct kb_arg *a = &b->head.arg[arg];
    char *at = (char *)slot_at(b, arg, slot);
    if (a->mode == KB_OUT)
        kb_tensor_poison(at + from, bytes, a->dtype, b->head.seed);
    else if (b->pristine[arg])
        memcpy(at + from, (char *)given_at(&b->head, arg, slot) + from, bytes);
}

static kb_status poison(kb_buffers *base)
{
    cpu_buffers *b = (cpu_buffers *)base;
    for (size_t i = 0; i < base->args; i++) {
        if (!kb_is_output(base, i))
            continue;
        for (size_t z = 0; z <= base->slots; z++) {
            size_t bytes;
            unsigned char *zone = zone_at(b, i, z, &bytes);
            kb_tensor_poison(zone, bytes, KB_U8, zone_seed(b, i, z));
        }
        for (size_t s = 0; s < base->used; s++)
            if (s && base->arg[i].mode == KB_OUT)       /* poisoned alike */
                memcpy(slot_at(b, i, s), slot_at(b, i, 0), b->span[i].bytes);
            else
                refill(b, i, s, 0, b->span[i].bytes);
    }
    return KB_OK;
}

void kb_cpu_scrub(cpu_buffers *b)
{
    size_t slots = b->head.slots, used = b->head.used, page = page_bytes();
    for (size_t i = 0; i < b->head.args; i++) {
        const struct kb_cpu_span *s = &b->span[i];
        size_t part = s->bytes < page ? s->bytes : page;
        size_t near = kb_is_output(&b->head, i) ? page / s->stride + 1 : 0;
        for (size_t k = 0; k < near && used + k < slots; k++) {
            refill(b, i, used + k, 0, part);
            refill(b, i, slots - 1 - k, s->bytes - part, part);
        }
    }
}

static kb_status damaged(kb_buffers *base, int *arg, size_t *slot)
{
    const cpu_buffers *b = (const cpu_buffers *)base;
    for (size_t i = 0; i < base->args; i++) {
        if (!kb_is_output(base, i))
            continue;
        for (size_t z = 0; z <= base->slots; z++) {
            size_t bytes;
            const unsigned char *zone = zone_at(b, i, z, &bytes);
            if (kb_tensor_guard_check(zone, bytes, zone_seed(b, i, z))
                != SIZE_MAX) {
                *slot = z ? z - 1 : 0;
                *arg = (int)i;
                return KB_OK;
            }
        }
    }
    return KB_OK;
}

/* What goes into the arrays and is read out of them. ---------------------- */

static size_t array_bytes(const kb_buffers *b, size_t i)
{
    return b->arg[i].count * kb_dtype_bytes(b->arg[i].dtype);
}

static kb_status fill(kb_buffers *b, size_t arg, size_t slot,
                      enum kb_fill fill, uint64_t below, uint64_t seed)
{
    struct kb_rng rng;
    const struct kb_arg *a = &b->arg[arg];
    void *at = array_at(b, arg, slot);
    kb_rng_seed(&rng, seed);
    if (!below)
        kb_tensor_fill(at, a->dtype, a->count, fill, &rng);
    for (uint64_t i = 0; below && i < a->count; i++)
        kb_tensor_set(at, a->dtype, i, (double)kb_rng_below(&rng, below));
    return a->mode == KB_INOUT ? keep((cpu_buffers *)b, arg, slot) : KB_OK;
}

static kb_status get(kb_buffers *b, size_t arg, size_t slot, size_t i,
                     double *out)
{
    *out = kb_tensor_get(array_at(b, arg, slot), b->arg[arg].dtype, i);
    return KB_OK;
}

static kb_status copy(kb_buffers *b, size_t arg, size_t slot, size_t to,
                      kb_buffers *pool, size_t of, size_t from)
{
    char *at = given_at(b, arg, slot), *src = given_at(pool, arg, of);
    size_t size = kb_dtype_bytes(b->arg[arg].dtype);
    memcpy(at + to * size, src + from * size, size);
    return KB_OK;
}

static kb_status take(kb_buffers *b, size_t i, kb_buffers *from, size_t slot)
{
    const void *src = given_at(from, i, slot);
    void *dst = array_at(b, i, 0);
    if (from->arg[i].dtype == b->arg[i].dtype)
        memcpy(dst, src, array_bytes(b, i));
    else
        kb_tensor_widen(dst, src, b->arg[i].count, from->arg[i].dtype);
    return KB_OK;
}

static kb_status turn(kb_buffers *b, size_t arg, size_t slot, size_t by)
{
    const struct kb_arg *a = &b->arg[arg];
    return kb_tensor_turn(given_at(b, arg, slot), a->dtype, a->count, by);
}

static kb_status absolute(kb_buffers *b, size_t arg)
{
    void *at = array_at(b, arg, 0);
    kb_tensor_abs(at, at, b->arg[arg].count, b->arg[arg].dtype);
    return KB_OK;
}

static kb_status digest(kb_buffers *b, size_t slot, uint64_t *out)
{
    uint64_t digest = 0;
    for (size_t i = 0; i < b->args; i++)
        if (kb_is_output(b, i))
            digest = digest * 0x9e3779b97f4a7c15u
                   + kb_hash(0, array_at(b, i, slot), array_bytes(b, i));
    *out = digest;
    return KB_OK;
}

/* Argument i of b as float64: itself, or widened into *keep, which is the
 * caller's to free. NULL: out of memory. */
static double *as_f64(kb_buffers *b, size_t i, double **keep)
{
    const struct kb_arg *a = &b->arg[i];
    *keep = NULL;
    if (a->dtype == KB_F64)
        return array_at(b, i, 0);
    *keep = malloc(a->count * sizeof **keep);
    if (*keep)
        kb_tensor_widen(*keep, array_at(b, i, 0), a->count, a->dtype);
    return *keep;
}

static kb_status compare(kb_buffers *b, size_t arg, size_t slot,
                         kb_buffers *want, kb_buffers *scale,
                         const struct kb_bound *bound,
                         struct kb_compare *out)
{
    const struct kb_arg *a = &b->arg[arg];
    double *keep_w, *keep_s = NULL, *s = NULL;
    double *w = as_f64(want, arg, &keep_w);
    kb_status st = KB_ENOMEM;
    if (w && scale)
        s = as_f64(scale, arg, &keep_s);
    if (!w || (scale && !s))
        goto done;
    for (uint64_t j = 0; s && j < a->count; j++)
        s[j] = fmax(fabs(s[j]), fabs(w[j]));
    st = kb_tensor_compare(array_at(b, arg, slot), a->dtype, w, s, a->count,
                           bound, b->seed, out);
done:
    free(keep_w);
    free(keep_s);
    return st;
}

static void free_buffers(kb_buffers *base)
{
    cpu_buffers *b = (cpu_buffers *)base;
    if (b->in)
        munmap(b->in, b->in_bytes);
    if (b->out)
        munmap(b->out, b->out_bytes);
    kb_io_close(&b->in_fd);
    kb_io_close(&b->out_fd);
    for (size_t i = 0; i < b->head.args; i++)
        free(b->pristine[i]);
    free(b);
}

static kb_status allot(kb_buffers *base)
{
    cpu_buffers *b = (cpu_buffers *)base;
    const struct kb_arg *arg = base->arg;
    b->in_fd = b->out_fd = -1;
    b->in_bytes = b->out_bytes = page_bytes();  /* none of no bytes */
    kb_status st = KB_OK;
    for (size_t i = 0; i < base->args && !st; i++)
        if (arg[i].mode != KB_SCALAR)
            st = lay_out(&b->span[i], &arg[i], base->slots,
                         arg[i].mode == KB_IN ? &b->in_bytes : &b->out_bytes);
    KB_THEN(st, kb_cpu_map("kb-in", b->in_bytes, &b->in_fd, &b->in));
    KB_THEN(st, kb_cpu_map("kb-out", b->out_bytes, &b->out_fd, &b->out));
    if (!st && arg[0].front)
        memset(b->in, 0xff, b->in_bytes);
    return st;
}

const struct kb_buffers_ops kb_cpu_buffers = {
    .bytes = sizeof(cpu_buffers), .allot = allot, .free = free_buffers,
    .at = array_at, .fill = fill, .get = get, .copy = copy, .take = take,
    .turn = turn, .absolute = absolute, .poison = poison, .damaged = damaged,
    .digest = digest, .compare = compare
};
