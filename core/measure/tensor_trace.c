#include "tensor.h"

#include <assert.h>
#include <string.h>

/* Word i of a random sequence named by seed. */
static uint64_t word_at(uint64_t seed, uint64_t i)
{
    return kb_mix(seed + (i + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

/* A word of poison: (random & keep) | set, element by element the same. */
struct poison {
    uint64_t seed, keep, set;
};

void kb_tensor_nudge(void *a, size_t n, enum kb_dtype dtype, double by,
                     uint64_t seed)
{
    for (size_t i = 0; i < n; i++) {
        double sign = word_at(seed, i) & 1 ? by : -by;
        if (dtype == KB_F64)
            ((double *)a)[i] *= 1 + sign;
        else if (dtype == KB_F32)
            ((float *)a)[i] = (float)(((float *)a)[i] * (1 + sign));
    }
}

/* Neighbouring seeds are neighbouring sequences until they are mixed. */
static struct poison poison_of(enum kb_dtype dtype, uint64_t seed)
{
    struct poison p = { word_at(seed, 0), UINT64_MAX, 0 };
    switch (dtype) {
    case KB_F64:
        p.keep = UINT64_C(0x0007fffffffffffc);
        p.set = UINT64_C(0x7ff8000000000001);
        break;
    case KB_F32:
        p.keep = UINT64_C(0x003ffffc003ffffc);
        p.set = UINT64_C(0x7fc000017fc00001);
        break;
    case KB_F16:
        p.keep = UINT64_C(0x01fc01fc01fc01fc);
        p.set = UINT64_C(0x7e017e017e017e01);
        break;
    case KB_BF16:
        p.keep = UINT64_C(0x003c003c003c003c);
        p.set = UINT64_C(0x7fc17fc17fc17fc1);
        break;
    default:
        break;
    }
    return p;
}

static uint64_t poison_at(const struct poison *p, uint64_t i)
{
    return (word_at(p->seed, i) & p->keep) | p->set;
}

static void lay(char *dst, size_t bytes, const struct poison *p)
{
    size_t words = bytes / 8;
    for (size_t i = 0; i < words; i++) {
        uint64_t w = poison_at(p, i);
        memcpy(dst + 8 * i, &w, 8);
    }
    if (bytes % 8) {
        uint64_t w = poison_at(p, words);
        memcpy(dst + 8 * words, &w, bytes % 8);
    }
}

void kb_tensor_poison(void *dst, size_t bytes, enum kb_dtype dtype,
                      uint64_t seed)
{
    struct poison p = poison_of(dtype, seed);
    lay(dst, bytes, &p);
}

bool kb_tensor_is_poison(const void *src, enum kb_dtype dtype, size_t i,
                         uint64_t seed)
{
    struct poison p = poison_of(dtype, seed);
    size_t element = kb_dtype_bytes(dtype), at = i * element;
    uint64_t w = poison_at(&p, at / 8);
    return !memcmp((const char *)src + at, (char *)&w + at % 8, element);
}

void kb_tensor_guard_fill(void *dst, size_t bytes, uint64_t seed)
{
    struct poison p = poison_of(KB_U8, seed);
    lay(dst, bytes, &p);
}

size_t kb_tensor_guard_check(const void *src, size_t bytes, uint64_t seed)
{
    struct poison p = poison_of(KB_U8, seed);
    const unsigned char *from = src;
    for (size_t at = 0; at < bytes; at++) {
        uint64_t laid = poison_at(&p, at / 8);
        if (memcmp(from + at, (char *)&laid + at % 8, 1) != 0)
            return at;
    }
    return SIZE_MAX;
}
