#include "tensor.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* SplitMix64 (Steele, Lea & Flood 2014). The state moves by an addition alone,
 * so draws overlap in the pipeline: that is why it and not kb_rng is here. */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static double uniform(uint64_t *state)
{
    return (double)(draw(state) >> 11) * 0x1p-53;
}

/* In (0, 1], for logarithms. */
static double uniform_positive(uint64_t *state)
{
    return ((double)(draw(state) >> 11) + 1) * 0x1p-53;
}

/* Layer i is the strip |x| < edge[i], below it layer i - 1. All have one area;
 * layer 0 holds the tail beyond edge[1] and a rectangle, and edge[0] is the
 * width it would have were it a rectangle whole. */
enum { LAYERS = 256 };

struct ziggurat {
    double edge[LAYERS + 1], height[LAYERS + 1];
};

static const double tail_start = 3.6541528853610088;
static const double layer_area = 0.00492867323399;

static double density(double x)
{
    return exp(-0.5 * x * x);
}

static void ziggurat_build(struct ziggurat *z)
{
    z->edge[0] = layer_area / density(tail_start);
    z->edge[1] = tail_start;
    for (int i = 2; i < LAYERS; i++) {
        double x = z->edge[i - 1];
        z->edge[i] = sqrt(-2 * log(layer_area / x + density(x)));
    }
    z->edge[LAYERS] = 0;
    for (int i = 0; i <= LAYERS; i++)
        z->height[i] = density(z->edge[i]);
}

/* Marsaglia's sampler of a normal beyond tail_start (1964). */
static double tail(uint64_t *state)
{
    double x, y;
    do {
        x = -log(uniform_positive(state)) / tail_start;
        y = -log(uniform_positive(state));
    } while (2 * y < x * x);
    return tail_start + x;
}

/* What the first look, which settles 99 of 100, could not accept. */
static double normal_slow(const struct ziggurat *z, uint64_t *state,
                          unsigned layer, double x)
{
    for (;;) {
        if (layer == 0)
            return copysign(tail(state), x);
        double low = z->height[layer], high = z->height[layer + 1];
        if (low + uniform(state) * (high - low) < density(x))
            return x;
        uint64_t bits = draw(state);
        layer = bits % LAYERS;
        x = (double)((int64_t)bits >> 10) * 0x1p-53 * z->edge[layer];
        if (fabs(x) < z->edge[layer + 1])
            return x;
    }
}

static double normal(const struct ziggurat *z, uint64_t *state)
{
    uint64_t bits = draw(state);
    unsigned layer = bits % LAYERS;
    double x = (double)((int64_t)bits >> 10) * 0x1p-53 * z->edge[layer];
    if (fabs(x) < z->edge[layer + 1])
        return x;
    return normal_slow(z, state, layer, x);
}

/* A fill under way: what must outlive one block of it. */
enum { BLOCK = 512, POWERS = 256, LEVELS = 4 };

struct filler {
    struct ziggurat ziggurat;
    uint64_t state;
    double power[POWERS];       /* wide */
    size_t to_spike;            /* spikes: elements before the next */
    double level[LEVELS];       /* ties */
    double value;
    size_t run;
    double smallest;            /* denormal: least normal number, or 0 */
};

/* Of a Bernoulli(1/1000) sequence, the failures before a success. */
static size_t spike_gap(uint64_t *state)
{
    return (size_t)(log(uniform_positive(state)) / log1p(-1e-3));
}

static void filler_start(struct filler *f, enum kb_dtype dtype,
                         enum kb_fill fill, uint64_t seed)
{
    f->state = seed;
    ziggurat_build(&f->ziggurat);
    if (fill == KB_FILL_WIDE)
        for (int i = 0; i < POWERS; i++)
            f->power[i] = pow(10, 6 * (i + 0.5) / POWERS - 3);
    if (fill == KB_FILL_SPIKES)
        f->to_spike = spike_gap(&f->state);
    if (fill == KB_FILL_TIES)
        for (int i = 0; i < LEVELS; i++)
            f->level[i] =
                nearbyint(16 * normal(&f->ziggurat, &f->state)) / 16;
    f->run = 0;
    f->smallest = kb_dtype_smallest_normal(dtype);
}

static void fill_spikes(struct filler *f, double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = normal(&f->ziggurat, &f->state);
    size_t at = f->to_spike;
    for (; at < n; at += 1 + spike_gap(&f->state))
        x[at] *= 100;
    f->to_spike = at - n;
}

static void fill_ties(struct filler *f, double *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (f->run == 0) {
            uint64_t bits = draw(&f->state);
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
    uint64_t bits = draw(&f->state);
    double sign = bits & 4 ? -1 : 1;
    if (bits & 2)
        return normal(&f->ziggurat, &f->state);
    if (f->smallest == 0)
        return sign * (double)(bits & 1) / 16;
    return bits & 1 ? sign * 0 : sign * f->smallest * uniform(&f->state);
}

static void fill_block(struct filler *f, enum kb_fill fill, double *x, size_t n)
{
    const struct ziggurat *z = &f->ziggurat;
    uint64_t *s = &f->state;
    switch (fill) {
    case KB_FILL_WIDE:
        for (size_t i = 0; i < n; i++)
            x[i] = normal(z, s) * f->power[draw(s) % POWERS];
        return;
    case KB_FILL_UNIFORM:
        for (size_t i = 0; i < n; i++)
            x[i] = uniform(s);
        return;
    case KB_FILL_LOGNORMAL:
        for (size_t i = 0; i < n; i++)
            x[i] = exp(1.5 * normal(z, s));
        return;
    case KB_FILL_SPIKES:
        fill_spikes(f, x, n);
        return;
    case KB_FILL_TIES:
        fill_ties(f, x, n);
        return;
    case KB_FILL_INTEGERS:
        for (size_t i = 0; i < n; i++)
            x[i] = (double)((draw(s) >> 32) * 17 >> 32) - 8;
        return;
    case KB_FILL_DENORMAL:
        for (size_t i = 0; i < n; i++)
            x[i] = some_denormal(f);
        return;
    default:
        assert(fill == KB_FILL_NORMAL);
        for (size_t i = 0; i < n; i++)
            x[i] = normal(z, s);
    }
}

static const char *const fills[] = {
#define X(id, name) name,
    KB_FILL_MAP(X)
#undef X
};

const char *kb_fill_name(enum kb_fill fill)
{
    return (unsigned)fill < KB_FILLS ? fills[fill] : "?";
}

kb_status kb_fill_parse(const char *text, enum kb_fill *out)
{
    for (unsigned i = 0; text && i < KB_FILLS; i++)
        if (!strcmp(text, fills[i])) {
            *out = (enum kb_fill)i;
            return KB_OK;
        }
    return KB_EINVAL;
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
