/* Arrays in device memory: what the CPU does with tensor.h is done here by the
 * kernels of cuda/kit.cu. An array lies between two red zones of CUDA_ZONE
 * bytes in one allocation. There is one slot.
 */
#include <math.h>
#include <stdlib.h>

#include "clock.h"
#include "impl.h"

static const int64_t timeout_ns = 60000000000;

static uint64_t array_bytes(const kb_buffers *b, size_t arg)
{
    return b->arg[arg].count * kb_dtype_bytes(b->arg[arg].dtype);
}

/* The tail's red zone starts at the array's last byte. */
static uint64_t room_bytes(const kb_buffers *b, size_t arg)
{
    return (array_bytes(b, arg) + 255) / 256 * 256 + 2 * CUDA_ZONE;
}

static kb_status settle(cuda_device *d)
{
    return kb_cuda_wait(d, kb_clock_now_ns() + timeout_ns);
}

/* A kernel's int may be an enumeration here. */
_Static_assert(sizeof(enum kb_dtype) == sizeof(int)
               && sizeof(enum kb_fill) == sizeof(int), "as in cuda/kit.cu");

static kb_status copy_bytes(cuda_device *d, cu_pointer to, cu_pointer from,
                            uint64_t bytes)
{
    return KB_CUDA(d, "copying", MemcpyDtoDAsync, to, from, bytes, d->stream);
}

/* Where an array gets its contents from: itself, or the pristine copy. */
static cu_pointer given_at(const cuda_buffers *b, size_t arg)
{
    return b->pristine[arg] ? b->pristine[arg] : b->at[arg];
}

static kb_status keep(cuda_buffers *b, size_t arg)
{
    cuda_device *d = b->device;
    uint64_t bytes = array_bytes(&b->head, arg);
    kb_status st = b->pristine[arg]
                 ? KB_OK : kb_cuda_alloc(d, &b->pristine[arg], bytes);
    KB_THEN(st, copy_bytes(d, b->pristine[arg], b->at[arg], bytes));
    return st;
}

static kb_status fill(kb_buffers *base, size_t arg, size_t slot,
                       enum kb_fill fill, uint64_t below, uint64_t seed)
{
    (void)slot;
    cuda_buffers *b = (cuda_buffers *)base;
    struct kb_arg *a = &base->arg[arg];
    void *params[] = { &b->at[arg], &a->dtype, &a->count, &fill, &seed,
                       &below };
    kb_status st = kb_cuda_kit_run(b->device, KIT_fill, a->count, params);
    return st || a->mode != KB_INOUT ? st : keep(b, arg);
}

static kb_status get(kb_buffers *base, size_t arg, size_t slot, size_t i,
                      double *out)
{
    cuda_buffers *b = (cuda_buffers *)base;
    uint64_t word = 0;
    enum kb_dtype dtype = base->arg[arg].dtype;
    size_t size = kb_dtype_bytes(dtype);
    (void)slot;
    kb_status st = settle(b->device);
    KB_THEN(st, KB_CUDA(b->device, "reading", MemcpyDtoH, &word,
                        b->at[arg] + i * size, size));
    if (!st)
        *out = kb_tensor_get(&word, dtype, 0);
    return st;
}

static kb_status move(kb_buffers *base, size_t arg, void *host, bool in)
{
    cuda_buffers *b = (cuda_buffers *)base;
    uint64_t bytes = array_bytes(base, arg);
    cu_pointer at = b->at[arg];
    kb_status st = settle(b->device);
    return st ? st
         : in ? KB_CUDA(b->device, "writing", MemcpyHtoD, at, host, bytes)
              : KB_CUDA(b->device, "reading", MemcpyDtoH, host, at, bytes);
}

static kb_status copy(kb_buffers *base, size_t arg, size_t slot, size_t to,
                       kb_buffers *pool, size_t of, size_t from)
{
    (void)slot;
    (void)of;
    cuda_buffers *b = (cuda_buffers *)base;
    size_t size = kb_dtype_bytes(base->arg[arg].dtype);
    cu_pointer src = given_at((const cuda_buffers *)pool, arg);
    return copy_bytes(b->device, given_at(b, arg) + to * size,
                      src + from * size, size);
}

static kb_status take(kb_buffers *base, size_t i, kb_buffers *source,
                      size_t slot)
{
    (void)slot;
    cuda_buffers *b = (cuda_buffers *)base, *from = (cuda_buffers *)source;
    struct kb_arg *a = &source->arg[i];
    cu_pointer src = given_at(from, i);
    void *params[] = { &b->at[i], &src, &a->dtype, &a->count };
    if (base->arg[i].dtype == a->dtype)
        return copy_bytes(b->device, b->at[i], src, array_bytes(base, i));
    return kb_cuda_kit_run(b->device, KIT_widen, a->count, params);
}

static kb_status absolute(kb_buffers *base, size_t arg)
{
    cuda_buffers *b = (cuda_buffers *)base;
    struct kb_arg *a = &base->arg[arg];
    void *params[] = { &b->at[arg], &a->dtype, &a->count };
    return kb_cuda_kit_run(b->device, KIT_abs, a->count, params);
}

kb_status kb_cuda_refresh(cuda_buffers *b)
{
    kb_status st = KB_OK;
    for (size_t i = 0; i < b->head.args && !st; i++) {
        struct kb_arg *a = &b->head.arg[i];
        void *params[] = { &b->at[i], &a->dtype, &a->count, &b->head.seed };
        if (a->mode == KB_OUT)
            st = kb_cuda_kit_run(b->device, KIT_poison, a->count, params);
        else if (a->mode == KB_INOUT && b->pristine[i])
            st = copy_bytes(b->device, b->at[i], b->pristine[i],
                            array_bytes(&b->head, i));
    }
    return st;
}

/* Where red zone z (0 before, 1 after) of an array lies. */
static cu_pointer zone_at(const cuda_buffers *b, size_t arg, size_t z,
                          uint64_t *bytes)
{
    uint64_t used = CUDA_ZONE + array_bytes(&b->head, arg);
    *bytes = z ? room_bytes(&b->head, arg) - used : CUDA_ZONE;
    return b->base[arg] + (z ? used : 0);
}

/* Words of the page of results: whatever is asked of all arguments is read in
 * one go. */
enum { DIGESTS = 0, DAMAGE = KB_DEVICE_ARGS, WORDS = 2 * KB_DEVICE_ARGS };

static cu_pointer word_at(const cuda_device *d, size_t i)
{
    return d->results + i * sizeof(uint64_t);
}

/* Poisons both zones of an array, inputs too, as bytes, or counts what is not
 * poison any more there: nothing may be written to them. */
static kb_status guards(cuda_buffers *b, size_t arg, enum kb_cuda_kit which)
{
    kb_status st = KB_OK;
    cu_pointer sink = word_at(b->device, DAMAGE + arg);
    for (size_t z = 0; z < 2 && !st; z++) {
        uint64_t bytes;
        cu_pointer at = zone_at(b, arg, z, &bytes);
        uint64_t seed = b->head.seed + arg * 0x9e3779b97f4a7c15u + z;
        enum kb_dtype dtype = KB_U8;
        void *params[] = { &at, &dtype, &bytes, &seed, &sink };
        st = kb_cuda_kit_run(b->device, which, bytes, params);
    }
    return st;
}

static kb_status read_results(cuda_device *d, void *to, size_t bytes)
{
    kb_status st = settle(d);
    return st ? st : KB_CUDA(d, "reading results", MemcpyDtoH, to, d->results,
                             bytes);
}

static kb_status clear_results(cuda_device *d)
{
    return kb_cuda_set(d, d->results, 0, WORDS * sizeof(uint64_t));
}

static kb_status start_digest(cuda_buffers *b, size_t arg)
{
    uint64_t bytes = array_bytes(&b->head, arg);
    cu_pointer sink = word_at(b->device, DIGESTS + arg);
    void *params[] = { &b->at[arg], &bytes, &sink };
    return kb_cuda_kit_run(b->device, KIT_digest, bytes / 8 + 1, params);
}

static kb_status digest(kb_buffers *base, size_t slot, uint64_t *out)
{
    cuda_buffers *b = (cuda_buffers *)base;
    uint64_t digest = 0, word[WORDS];
    (void)slot;
    kb_status st = clear_results(b->device);
    for (size_t i = 0; i < base->args && !st; i++)
        if (kb_is_output(base, i))
            st = start_digest(b, i);
    KB_THEN(st, read_results(b->device, word, sizeof word));
    for (size_t i = 0; i < base->args && !st; i++)
        digest = digest * 0x9e3779b97f4a7c15u + word[DIGESTS + i];
    *out = digest;
    return st;
}

/* Runs that kernel on the zones and digests the inputs; gives the words of
 * results. */
static kb_status look(cuda_buffers *b, enum kb_cuda_kit which, uint64_t *word,
                      size_t bytes)
{
    kb_status st = clear_results(b->device);
    for (size_t i = 0; i < b->head.args && !st; i++) {
        if (b->head.arg[i].mode != KB_SCALAR)
            st = guards(b, i, which);
        if (!st && b->head.arg[i].mode == KB_IN)
            st = start_digest(b, i);
    }
    return st ? st : read_results(b->device, word, bytes);
}

/* What the inputs are is remembered: nothing keeps a kernel from writing to
 * them, so damaged looks whether one did. */
static kb_status poison(kb_buffers *base)
{
    cuda_buffers *b = (cuda_buffers *)base;
    kb_status st = look(b, KIT_poison, b->given, sizeof b->given);
    return st ? st : kb_cuda_refresh(b);
}

static kb_status damaged(kb_buffers *base, int *arg, size_t *slot)
{
    cuda_buffers *b = (cuda_buffers *)base;
    uint64_t word[WORDS];
    kb_status st = look(b, KIT_guard_check, word, sizeof word);
    for (size_t i = 0; i < base->args && !st; i++) {
        if (word[DAMAGE + i] || (base->arg[i].mode == KB_IN
                                 && word[DIGESTS + i] != b->given[i])) {
            *arg = (int)i;
            *slot = 0;
            return KB_OK;
        }
    }
    return st;
}

/* The values of the first bad element, for the message. */
static kb_status explain(cuda_buffers *b, size_t arg, kb_buffers *want,
                         kb_buffers *scale, const struct kb_bound *bound,
                         struct kb_compare *out)
{
    double s = 0;
    kb_status st = get(&b->head, arg, 0, out->first_bad, &out->got);
    KB_THEN(st, get(want, arg, 0, out->first_bad, &out->want));
    if (!st && scale)
        st = get(scale, arg, 0, out->first_bad, &s);
    if (st)
        return st;
    s = fmax(isfinite(s) ? fabs(s) : 0, fabs(out->want));
    out->limit = bound->exact ? 0 : 4 * bound->u_out * fabs(out->want)
               + kb_bound_per_scale(bound) * s + bound->tiny;
    return KB_OK;
}

static kb_status compare(kb_buffers *base, size_t arg, size_t slot,
                          kb_buffers *want, kb_buffers *scale,
                          const struct kb_bound *bound,
                          struct kb_compare *out)
{
    cuda_buffers *b = (cuda_buffers *)base;
    cuda_device *d = b->device;
    if (want->arg[arg].dtype != KB_F64
        || (scale && scale->arg[arg].dtype != KB_F64))
        return KB_EINVAL;
    struct kb_arg *a = &base->arg[arg];
    struct kb_bound limits = *bound;
    struct kb_compare r = { .n = a->count, .first_bad = SIZE_MAX };
    cu_pointer s = scale ? ((cuda_buffers *)scale)->at[arg] : 0;
    void *params[] = { &b->at[arg], &a->dtype, &((cuda_buffers *)want)->at[arg],
                       &s, &a->count, &limits, &base->seed, &d->results };
    (void)slot;
    kb_status st = settle(d);
    KB_THEN(st, KB_CUDA(d, "writing", MemcpyHtoD, d->results, &r,
                        sizeof r));
    KB_THEN(st, kb_cuda_kit_run(d, KIT_compare, r.n, params));
    KB_THEN(st, read_results(d, &r, sizeof r));
    if (!st && r.bad)
        st = explain(b, arg, want, scale, bound, &r);
    if (!st)
        *out = r;
    return st;
}

static void free_buffers(kb_buffers *base)
{
    cuda_buffers *b = (cuda_buffers *)base;
    for (size_t i = 0; i < base->args; i++) {
        kb_cuda_free(b->device, b->base[i]);
        kb_cuda_free(b->device, b->pristine[i]);
    }
    free(b);
}

static kb_status allot(kb_buffers *base)
{
    cuda_buffers *b = (cuda_buffers *)base;
    cuda_device *d = b->device = (cuda_device *)base->device;
    kb_status st = base->slots == 1 ? KB_OK : KB_EINVAL;
    for (size_t i = 0; i < base->args && !st; i++) {
        if (base->arg[i].mode == KB_SCALAR)
            continue;
        uint64_t bytes = room_bytes(base, i);
        st = base->arg[i].count < 1 || bytes > d->head.info.memory_bytes
           ? KB_EINVAL : kb_cuda_alloc(d, &b->base[i], bytes);
        KB_THEN(st, kb_cuda_set(d, b->base[i], 0, bytes));
        b->at[i] = b->base[i] + CUDA_ZONE;
    }
    return st;
}

const struct kb_buffers_ops kb_cuda_buffers = {
    .bytes = sizeof(cuda_buffers), .allot = allot, .free = free_buffers,
    .fill = fill, .get = get, .copy = copy, .move = move, .take = take,
    .absolute = absolute, .poison = poison, .damaged = damaged,
    .digest = digest, .compare = compare
};
