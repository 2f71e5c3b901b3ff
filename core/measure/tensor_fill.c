#include "tensor.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* A fill under way. */
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
    f->smallest = kb_dtype_table[dtype].normal;
}

static double spiked(struct filler *f)
{
    double x = normal(f);
    if (f->to_spike--)
        return x;
    f->to_spike = spike_gap(&f->rng);
    return 100 * x;
}

static double tied(struct filler *f)
{
    if (f->run == 0) {
        uint64_t bits = kb_rng_next(&f->rng);
        unsigned most = 1u << (bits >> 32) % 12;
        f->run = 1 + (bits >> 40) % most;
        f->value = f->level[bits % LEVELS];
    }
    f->run--;
    return f->value;
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

static double element(struct filler *f, enum kb_fill fill)
{
    switch (fill) {
    case KB_FILL_WIDE:
        return normal(f) * f->power[kb_rng_next(&f->rng) % POWERS];
    case KB_FILL_UNIFORM:
        return kb_rng_uniform(&f->rng);
    case KB_FILL_LOGNORMAL:
        return exp(1.5 * normal(f));
    case KB_FILL_SPIKES:
        return spiked(f);
    case KB_FILL_TIES:
        return tied(f);
    case KB_FILL_INTEGERS:
        return (double)((kb_rng_next(&f->rng) >> 32) * 17 >> 32) - 8;
    case KB_FILL_DENORMAL:
        return some_denormal(f);
    default:
        assert(fill == KB_FILL_NORMAL);
        return normal(f);
    }
}

KB_DEFINE_PARSE(kb_fill_parse, enum kb_fill, KB_FILL_MAP(KB_ITEM_NAME))

void kb_tensor_fill(void *dst, enum kb_dtype dtype, size_t n,
                    enum kb_fill fill, struct kb_rng *rng)
{
    struct filler f;
    double x[BLOCK];
    size_t size = kb_dtype_bytes(dtype);
    bool scaled = !kb_dtype_is_float(dtype) && fill != KB_FILL_INTEGERS;
    filler_start(&f, dtype, fill, kb_rng_next(rng));
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t part = n - at < BLOCK ? n - at : BLOCK;
        for (size_t i = 0; i < part; i++) {
            x[i] = element(&f, fill) * (scaled ? 16 : 1);
            x[i] = dtype == KB_U8 ? fabs(x[i]) : x[i];
        }
        kb_tensor_narrow((char *)dst + at * size, x, part, dtype);
    }
}
