/* What goes into the CPU's buffers and what is read out of them: tensor.h on
 * memory this process maps.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu.h"

static size_t array_bytes(const kb_buffers *b, size_t i)
{
    return b->arg[i].count * kb_dtype_bytes(b->arg[i].dtype);
}

kb_status kb_cpu_fill(kb_buffers *b, size_t arg, size_t slot,
                      enum kb_fill fill, uint64_t below, uint64_t seed)
{
    struct kb_rng rng;
    const struct kb_arg *a = &b->arg[arg];
    void *at = kb_cpu_at(b, arg, slot);
    kb_rng_seed(&rng, seed);
    if (!below)
        kb_tensor_fill(at, a->dtype, a->count, fill, &rng);
    for (uint64_t i = 0; below && i < a->count; i++)
        kb_tensor_set(at, a->dtype, i, (double)kb_rng_below(&rng, below));
    return KB_OK;
}

kb_status kb_cpu_get(kb_buffers *b, size_t arg, size_t slot, size_t i,
                     double *out)
{
    *out = kb_tensor_get(kb_cpu_at(b, arg, slot), b->arg[arg].dtype, i);
    return KB_OK;
}

kb_status kb_cpu_set(kb_buffers *b, size_t arg, size_t slot, size_t i,
                     double value)
{
    kb_tensor_set(kb_cpu_at(b, arg, slot), b->arg[arg].dtype, i, value);
    return KB_OK;
}

kb_status kb_cpu_take(kb_buffers *b, kb_buffers *from, size_t slot)
{
    for (size_t i = 0; i < b->args; i++) {
        if (!kb_is_given(b, i))
            continue;
        const void *src = kb_cpu_pristine(from, i, slot);
        void *dst = kb_cpu_at(b, i, 0);
        if (from->arg[i].dtype == b->arg[i].dtype)
            memcpy(dst, src, array_bytes(b, i));
        else
            kb_tensor_widen(dst, src, b->arg[i].count, from->arg[i].dtype);
    }
    return KB_OK;
}

kb_status kb_cpu_absolute(kb_buffers *b, size_t arg)
{
    void *at = kb_cpu_at(b, arg, 0);
    kb_tensor_abs(at, at, b->arg[arg].count, b->arg[arg].dtype);
    return KB_OK;
}

kb_status kb_cpu_digest(kb_buffers *b, size_t slot, uint64_t *out)
{
    uint64_t digest = 0;
    for (size_t i = 0; i < b->args; i++)
        if (kb_is_output(b, i))
            digest = digest * 0x9e3779b97f4a7c15u
                   + kb_hash(0, kb_cpu_at(b, i, slot), array_bytes(b, i));
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
        return kb_cpu_at(b, i, 0);
    *keep = malloc(a->count * sizeof **keep);
    if (*keep)
        kb_tensor_widen(*keep, kb_cpu_at(b, i, 0), a->count, a->dtype);
    return *keep;
}

kb_status kb_cpu_compare(kb_buffers *b, size_t arg, size_t slot,
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
    st = kb_tensor_compare(kb_cpu_at(b, arg, slot), a->dtype, w, s, a->count,
                           bound, b->seed, out);
done:
    free(keep_w);
    free(keep_s);
    return st;
}
