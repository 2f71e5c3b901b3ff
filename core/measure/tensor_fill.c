#include "tensor.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* A fill under way: what must outlive one block of it. */
enum { BLOCK = 512, POWERS = 256, LEVELS = 4 };

struct filler {
    struct kb_rng rng;
    bool has_second;            /* of a pair of normal numbers */
    double second;
    double power[POWERS];       /* wide */
    size_t to_spike;            /* spikes: elements before the next */
    double level[LEVELS];       /* ties */
    double value;
    size_t run;
    double smallest;            /* denormal: least normal number, or 0 */
};

static double normal(struct filler *f)
{
    f->has_second = !f->has_second;
    return f->has_second ? kb_rng_normal_pair(&f->rng, &f->second) : f->second;
}

/* Of a Bernoulli(1/1000) sequence, the failures before a success. */
static size_t spike_gap(struct kb_rng *r)
{
    return (size_t)(log(1 - kb_rng_uniform(r)) / log1p(-1e-3));
}

static void filler_start(struct filler *f, enum kb_dtype dtype,
                         enum kb_fill fill, uint64_t seed)
{
    f->has_second = false;
    kb_rng_seed(&f->rng, seed);
    if (fill == KB_FILL_WIDE)
        for (int i = 0; i < POWERS; i++)
            f->power[i] = pow(10, 6 * (i + 0.5) / POWERS - 3);
    if (fill == KB_FILL_SPIKES)
        f->to_spike = spike_gap(&f->rng);
    if (fill == KB_FILL_TIES)
        for (int i = 0; i < LEVELS; i++)
            f->level[i] = nearbyint(16 * normal(f)) / 16;
    f->run = 0;
    f->smallest = kb_dtype_smallest_normal(dtype);
}

static void fill_spikes(struct filler *f, double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = normal(f);
    size_t at = f->to_spike;
    for (; at < n; at += 1 + spike_gap(&f->rng))
        x[at] *= 100;
    f->to_spike = at - n;
}

static void fill_ties(struct filler *f, double *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (f->run == 0) {
            uint64_t bits = kb_rng_next(&f->rng);
            unsigned most = 1u << (bits >> 32) % 12;
            f->run = 1 + (bits >> 40) % most;
            f->value = f->level[bits % LEVELS];
        }
        f->run--;
        x[i] = f->value;
    }
}

static double some_denormal(struct filler *f)
{
    uint64_t bits = kb_rng_next(&f->rng);
    double sign = bits & 4 ? -1 : 1;
    if (bits & 2)
        return normal(f);
    if (f->smallest == 0)
        return sign * (double)(bits & 1) / 16;
    return bits & 1 ? sign * 0 : sign * f->smallest * kb_rng_uniform(&f->rng);
}

static void fill_block(struct filler *f, enum kb_fill fill, double *x, size_t n)
{
    struct kb_rng *r = &f->rng;
    switch (fill) {
    case KB_FILL_WIDE:
        for (size_t i = 0; i < n; i++)
            x[i] = normal(f) * f->power[kb_rng_next(r) % POWERS];
        return;
    case KB_FILL_UNIFORM:
        for (size_t i = 0; i < n; i++)
            x[i] = kb_rng_uniform(r);
        return;
    case KB_FILL_LOGNORMAL:
        for (size_t i = 0; i < n; i++)
            x[i] = exp(1.5 * normal(f));
        return;
    case KB_FILL_SPIKES:
        fill_spikes(f, x, n);
        return;
    case KB_FILL_TIES:
        fill_ties(f, x, n);
        return;
    case KB_FILL_INTEGERS:
        for (size_t i = 0; i < n; i++)
            x[i] = (double)((kb_rng_next(r) >> 32) * 17 >> 32) - 8;
        return;
    case KB_FILL_DENORMAL:
        for (size_t i = 0; i < n; i++)
            x[i] = some_denormal(f);
        return;
    default:
        assert(fill == KB_FILL_NORMAL);
        for (size_t i = 0; i < n; i++)
            x[i] = normal(f);
    }
}

static const char *const fills[] = {
#define X(id, name) name,
    KB_FILL_MAP(X)
#undef X
};

kb_status kb_fill_parse(const char *text, enum kb_fill *out)
{
    size_t i = kb_name_index(text, fills, KB_FILLS);
    if (i == KB_FILLS)
        return KB_EINVAL;
    *out = (enum kb_fill)i;
    return KB_OK;
}

void kb_tensor_fill(void *dst, enum kb_dtype dtype, size_t n,
                    enum kb_fill fill, struct kb_rng *rng)
{
    struct filler f;
    double x[BLOCK];
    size_t element = kb_dtype_bytes(dtype);
    bool integer = !kb_dtype_is_float(dtype);
    filler_start(&f, dtype, fill, kb_rng_next(rng));
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t part = n - at < BLOCK ? n - at : BLOCK;
        fill_block(&f, fill, x, part);
        if (integer && fill != KB_FILL_INTEGERS)
            for (size_t i = 0; i < part; i++)
                x[i] *= 16;
        if (dtype == KB_U8)
            for (size_t i = 0; i < part; i++)
                x[i] = fabs(x[i]);
        kb_tensor_narrow((char *)dst + at * element, x, part, dtype);
    }
}
