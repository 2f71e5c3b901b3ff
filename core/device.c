#include "device.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_DIGITS = 4,            /* of a device's number */
    MOST_TURNED = 4096,         /* places that stirring turns an array by */
    ONE_DRAWN_IN = 32,          /* elements that it renews, */
    LEAST_DRAWN = 4             /* and how many at least */
};

static bool is_family(const char *name, const char *family)
{
    size_t n = strlen(family);
    if (strncmp(name, family, n) != 0 || !name[n])
        return strcmp(name, family) == 0;
    size_t digits = strspn(name + n + 1, "0123456789");
    return name[n] == ':' && digits >= 1 && digits <= MOST_DIGITS
        && !name[n + 1 + digits];
}

/* The implementation of devices so called; NULL: that is no device's name. */
static const struct kb_device_ops *ops_of(const char *name)
{
    return is_family(name, kb_cpu_device.family) ? &kb_cpu_device
         : is_family(name, kb_cuda_device.family) ? &kb_cuda_device : NULL;
}

const char *kb_device_language(const char *name)
{
    const struct kb_device_ops *ops = ops_of(name);
    return ops ? ops->language : NULL;
}

kb_status kb_device_open(const char *name, const char *exe, kb_device **out,
                         const char **why)
{
    const struct kb_device_ops *ops = ops_of(name);
    *why = "";
    if (!ops)
        return kb_because(why, KB_ENODEV, "devices are \"cpu\", \"cpu:N\", "
                          "\"cuda\" and \"cuda:N\", N being a number");
    kb_device *d = calloc(1, ops->bytes);
    if (!d)
        return KB_ENOMEM;
    d->ops = ops;
    d->info.language = ops->language;
    d->users = 1;
    kb_status st = ops->open(d, name, exe, why);
    return KB_HAND_OVER(st, d, kb_device_close, out);
}

/* Whatever was made of a device calls it when it is freed, so the device ends
 * with the last of them, in whatever order they and it are let go. */
static kb_device *hold(kb_device *d)
{
    d->users++;
    return d;
}

void kb_device_close(kb_device *d)
{
    if (d && --d->users == 0)
        d->ops->close(d);
}

/* Defines what frees one of the things made of a device, errno as it was. */
#define DEFINE_FREE(function, type, release)                                \
    void function(type *x)                                                  \
    {                                                                       \
        int saved = errno;                                                  \
        kb_device *d = x ? x->device : NULL;                                \
        if (x)                                                              \
            x->ops->release(x);                                             \
        kb_device_close(d);                                                 \
        errno = saved;                                                      \
    }
DEFINE_FREE(kb_object_free, kb_object, free)
DEFINE_FREE(kb_buffers_free, kb_buffers, free)
DEFINE_FREE(kb_program_stop, kb_program, stop)

kb_status kb_device_build(kb_device *d, const struct kb_build *b, char *log,
                          size_t cap, kb_object **out)
{
    assert(cap > 0);
    log[0] = '\0';
    if (b->cubin ? strcmp(d->info.language, "cuda") != 0
                 : b->args < 1 || b->args > KB_DEVICE_ARGS)
        return KB_EINVAL;
    kb_object *o = calloc(1, d->ops->object->bytes);
    if (!o)
        return KB_ENOMEM;
    o->ops = d->ops->object;
    o->device = hold(d);
    kb_status st = o->ops->build(o, b, log, cap);
    return KB_HAND_OVER(st, o, kb_object_free, out);
}

kb_status kb_buffers_new(kb_device *d, const struct kb_arg *arg, size_t args,
                         size_t slots, kb_buffers **out)
{
    if (args < 1 || args > KB_DEVICE_ARGS || slots < 1
        || slots > KB_DEVICE_SLOTS)
        return KB_EINVAL;
    kb_buffers *b = calloc(1, d->ops->buffers->bytes);
    if (!b)
        return KB_ENOMEM;
    b->ops = d->ops->buffers;
    b->device = hold(d);
    b->args = args;
    b->slots = b->used = slots;
    memcpy(b->arg, arg, args * sizeof *arg);
    kb_status st = b->ops->allot(b);
    return KB_HAND_OVER(st, b, kb_buffers_free, out);
}

static kb_status stir_one(kb_buffers *b, size_t arg, size_t slot,
                          kb_buffers *pool, size_t of, bool turned,
                          struct kb_rng *rng)
{
    uint64_t n = b->arg[arg].count, there = pool->arg[arg].count;
    uint64_t far = n < MOST_TURNED ? n : MOST_TURNED;
    uint64_t drawn = turned ? n / ONE_DRAWN_IN : 0;
    drawn = drawn > LEAST_DRAWN ? drawn : n < LEAST_DRAWN ? n : LEAST_DRAWN;
    uint64_t stride = n / drawn;
    kb_status st = KB_OK;
    if (turned && n > 1)
        st = b->ops->turn(b, arg, slot, 1 + kb_rng_below(rng, far - 1));
    for (uint64_t k = 0; k < drawn && !st; k++)
        st = b->ops->copy(b, arg, slot, k * stride + kb_rng_below(rng, stride),
                          pool, of, kb_rng_below(rng, there));
    return st;
}

kb_status kb_buffers_stir(kb_buffers *b, size_t slot, kb_buffers *pool,
                          size_t of, bool turned, uint64_t seed)
{
    struct kb_rng rng;
    if (pool->device != b->device || pool->args != b->args
        || slot >= b->slots || of >= pool->slots)
        return KB_EINVAL;
    for (size_t i = 0; i < b->args; i++)
        if (pool->arg[i].mode != b->arg[i].mode
            || pool->arg[i].dtype != b->arg[i].dtype)
            return KB_EINVAL;
    kb_rng_seed(&rng, seed);
    kb_status st = KB_OK;
    for (size_t i = 0; i < b->args && !st; i++)
        if (kb_is_given(b, i))
            st = stir_one(b, i, slot, pool, of, turned && b->ops->turn, &rng);
    return st;
}

kb_status kb_buffers_denormals(kb_buffers *b, size_t arg, enum kb_dtype dtype,
                               size_t *out)
{
    assert(kb_is_array(b, arg, 0));
    const void *at = kb_buffers_at(b, arg, 0);
    if (!at || b->arg[arg].dtype != KB_F64)
        return KB_ENODEV;
    *out = kb_tensor_denormals(at, b->arg[arg].count, dtype);
    return KB_OK;
}

static kb_status move(kb_buffers *b, size_t arg, void *host, bool in)
{
    void *at = kb_buffers_at(b, arg, 0);
    size_t bytes = b->arg[arg].count * kb_dtype_bytes(b->arg[arg].dtype);
    if (!at)
        return b->ops->move(b, arg, host, in);
    memcpy(in ? at : host, in ? host : at, bytes);
    return KB_OK;
}

/* The array in malloc'd memory, to be freed whatever comes. */
static kb_status fetch(kb_buffers *b, size_t arg, void **out)
{
    const struct kb_arg *a = &b->arg[arg];
    *out = malloc(a->count * kb_dtype_bytes(a->dtype));
    return *out ? move(b, arg, *out, false) : KB_ENOMEM;
}

kb_status kb_buffers_mutate(kb_buffers *b, size_t arg, enum kb_mutant kind,
                            size_t from, size_t rows, size_t cols,
                            uint64_t seed, size_t *other)
{
    assert(kb_is_array(b, arg, 0) && kb_is_array(b, from, 0));
    const struct kb_arg *a = &b->arg[arg], *f = &b->arg[from];
    void *right = NULL, *input = NULL;
    void *wrong = malloc(a->count * kb_dtype_bytes(a->dtype));
    kb_status st = wrong ? fetch(b, arg, &right) : KB_ENOMEM;
    if (!st && kind == KB_MUTANT_COPY)
        st = fetch(b, from, &input);
    if (!st) {
        struct kb_mutation m = { .kind = kind, .dtype = a->dtype,
            .n = a->count, .input = input, .input_dtype = f->dtype,
            .input_n = f->count, .rows = rows, .cols = cols, .seed = seed };
        *other = kb_mutant_make(wrong, right, &m);
        st = move(b, arg, wrong, true);
    }
    free(right);
    free(wrong);
    free(input);
    return st;
}

kb_status kb_buffers_take(kb_buffers *b, kb_buffers *from, size_t slot)
{
    if (slot >= from->slots || from->device != b->device)
        return KB_EINVAL;
    for (size_t i = 0; i < b->args; i++)
        if (kb_is_given(b, i)
            && (i >= from->args || from->arg[i].mode != b->arg[i].mode
                || from->arg[i].count != b->arg[i].count
                || (from->arg[i].dtype != b->arg[i].dtype
                    && b->arg[i].dtype != KB_F64)))
            return KB_EINVAL;
    kb_status st = KB_OK;
    for (size_t i = 0; i < b->args && !st; i++)
        if (kb_is_given(b, i))
            st = b->ops->take(b, i, from, slot);
    return st;
}

kb_status kb_buffers_nudge(kb_buffers *b, size_t arg, enum kb_dtype dtype,
                           uint64_t most, uint64_t seed)
{
    assert(kb_is_array(b, arg, 0) && kb_is_given(b, arg));
    const struct kb_arg *a = &b->arg[arg];
    void *host;
    kb_status st = fetch(b, arg, &host);
    if (!st) {
        kb_tensor_nudge(host, a->count, a->dtype,
                        2 * kb_dtype_roundoff(dtype), most, seed);
        st = move(b, arg, host, true);
    }
    free(host);
    return st;
}

kb_status kb_buffers_spread(kb_buffers *b, size_t arg, kb_buffers *want,
                            kb_buffers *near, const struct kb_bound *bound,
                            double times, kb_buffers *base)
{
    uint64_t n = b->arg[arg].count;
    kb_buffers *const all[] = { base ? base : b, want, near };
    void *x[3] = { NULL };
    kb_status st = b->arg[arg].dtype == KB_F64 ? KB_OK : KB_ENODEV;
    for (size_t k = 0; k < 3 && !st; k++)
        st = arg >= all[k]->args || all[k]->arg[arg].count != n ? KB_EINVAL
           : all[k]->arg[arg].dtype != KB_F64 ? KB_ENODEV
           : fetch(all[k], arg, &x[k]);
    double *scale = x[0], *right = x[1], *other = x[2];
    for (uint64_t i = 0; i < n && !st; i++) {
        double more = times * fabs(other[i] - right[i])
                    / kb_bound_per_scale(bound);
        if (base)
            scale[i] = fmax(fabs(scale[i]), fabs(right[i]));
        scale[i] += isfinite(more) ? more : 0;
    }
    KB_THEN(st, move(b, arg, scale, true));
    for (size_t k = 0; k < 3; k++)
        free(x[k]);
    return st;
}

kb_status kb_buffers_compare(kb_buffers *b, size_t arg, size_t slot,
                             kb_buffers *want, kb_buffers *scale,
                             const struct kb_bound *bound,
                             struct kb_compare *out)
{
    assert(kb_is_array(b, arg, slot));
    uint64_t n = b->arg[arg].count;
    if (want->device != b->device || (scale && scale->device != b->device)
        || !kb_is_array(want, arg, 0) || want->arg[arg].count != n
        || (scale && (!kb_is_array(scale, arg, 0)
                      || scale->arg[arg].count != n)))
        return KB_EINVAL;
    return b->ops->compare(b, arg, slot, want, scale, bound, out);
}

kb_status kb_program_start(kb_device *d, const kb_object *o, kb_buffers *b,
                           const struct kb_plan *plan, kb_program **out,
                           char *why, size_t cap)
{
    assert(cap > 0);
    why[0] = '\0';
    if (o->device != d || b->device != d)
        return kb_refuse(why, cap, KB_EINVAL, "the %s of another device: make "
                         "them of the one that loads",
                         o->device != d ? "object is" : "buffers are");
    kb_program *p = calloc(1, d->ops->program->bytes);
    if (!p)
        return KB_ENOMEM;
    p->ops = d->ops->program;
    p->device = hold(d);
    kb_status st = p->ops->start(p, o, b, plan, why, cap);
    return KB_HAND_OVER(st, p, kb_program_stop, out);
}
