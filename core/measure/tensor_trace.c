#include "tensor.h"

#include <string.h>

enum { BLOCK = 256 };

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
                     uint64_t most, uint64_t seed)
{
    double x[BLOCK];
    if (dtype != KB_F64 && dtype != KB_F32)
        return;
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t part = n - at < BLOCK ? n - at : BLOCK;
        char *block = (char *)a + at * kb_dtype_bytes(dtype);
        kb_tensor_widen(x, block, part, dtype);
        for (size_t i = 0; i < part; i++) {
            uint64_t word = word_at(seed, at + i);
            double times = by * (double)(1 + (word >> 1) % most);
            x[i] *= 1 + (word & 1 ? times : -times);
        }
        kb_tensor_narrow(block, x, part, dtype);
    }
}

/* Neighbouring seeds are neighbouring sequences until they are mixed. */
static struct poison poison_of(enum kb_dtype dtype, uint64_t seed)
{
    static const struct { uint64_t keep, set; } nan[KB_DTYPES] = {
        [KB_F64] = { 0x0007fffffffffffc, 0x7ff8000000000001 },
        [KB_F32] = { 0x003ffffc003ffffc, 0x7fc000017fc00001 },
        [KB_F16] = { 0x01fc01fc01fc01fc, 0x7e017e017e017e01 },
        [KB_BF16] = { 0x003c003c003c003c, 0x7fc17fc17fc17fc1 },
    };
    return (struct poison){
        word_at(seed, 0), nan[dtype].set ? nan[dtype].keep : UINT64_MAX,
        nan[dtype].set
    };
}

static uint64_t poison_at(const struct poison *p, uint64_t i)
{
    return (word_at(p->seed, i) & p->keep) | p->set;
}

void kb_tensor_poison(void *dst, size_t bytes, enum kb_dtype dtype,
                      uint64_t seed)
{
    struct poison p = poison_of(dtype, seed);
    size_t words = bytes / 8;
    for (size_t i = 0; i < words; i++) {
        uint64_t w = poison_at(&p, i);
        memcpy((char *)dst + 8 * i, &w, 8);
    }
    uint64_t last = poison_at(&p, words);
    memcpy((char *)dst + 8 * words, &last, bytes % 8);
}

bool kb_tensor_is_poison(const void *src, enum kb_dtype dtype, size_t i,
                         uint64_t seed)
{
    struct poison p = poison_of(dtype, seed);
    size_t element = kb_dtype_bytes(dtype), at = i * element;
    uint64_t w = poison_at(&p, at / 8);
    return !memcmp((const char *)src + at, (char *)&w + at % 8, element);
}

size_t kb_tensor_guard_check(const void *src, size_t bytes, uint64_t seed)
{
    for (size_t at = 0; at < bytes; at++)
        if (!kb_tensor_is_poison(src, KB_U8, at, seed))
            return at;
    return SIZE_MAX;
}
