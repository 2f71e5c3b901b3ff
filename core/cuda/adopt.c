#include "adopt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impl.h"

static bool is_cuda(const kb_device *d)
{
    return d->ops == &kb_cuda_ops;
}

/* Read before it is admitted: what cubin.h refuses is refused here too. */
static kb_status inspect(cuda_device *d, cuda_object *o, char *log,
                         size_t cap)
{
    char why[KB_CUBIN_WHY] = "";
    kb_status st = kb_cubin_open(o->cubin, o->bytes, (uint32_t)d->head.info.arch,
                                 &o->facts, why, sizeof why);
    if (st == KB_EINVAL) {
        snprintf(log, cap, "%s", why);
        return KB_EDENIED;
    }
    return st;
}

kb_status kb_device_adopt(kb_device *base, const void *cubin, size_t n,
                          char *log, size_t cap, kb_object **out)
{
    if (cap)
        log[0] = '\0';
    if (!is_cuda(base) || n < 1 || n > KB_CUBIN_BYTES)
        return KB_EINVAL;
    cuda_device *d = (cuda_device *)base;
    kb_status st = KB_ENOMEM;
    cuda_object *o = calloc(1, sizeof *o);
    if (!o)
        return KB_ENOMEM;
    o->head.ops = &kb_cuda_ops;
    o->device = d;
    o->cubin = malloc(n);
    if (!o->cubin)
        goto fail;
    memcpy(o->cubin, cubin, n);
    o->bytes = n;
    st = inspect(d, o, log, cap);
    if (st)
        goto fail;
    *out = &o->head;
    return KB_OK;
fail:
    kb_object_free(&o->head);
    return st;
}

const void *kb_object_cubin(const kb_object *base, size_t *n)
{
    const cuda_object *o = (const cuda_object *)base;
    if (base->ops != &kb_cuda_ops)
        return NULL;
    *n = o->bytes;
    return o->cubin;
}
