#include "tensor.h"

#include <assert.h>
#include <string.h>

/* Word i of a random sequence named by seed: a finaliser of 64 bits (Stafford's
 * mix 13) on a counter. */
static uint64_t word_at(uint64_t seed, uint64_t i)
{
    uint64_t z = seed + (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
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

size_t kb_tensor_poison_left(const void *src, size_t n, enum kb_dtype dtype,
                             uint64_t seed)
{
    struct poison p = poison_of(dtype, seed);
    const char *from = src;
    size_t element = kb_dtype_bytes(dtype), left = 0;
    size_t per_word = 8 / element, words = n / per_word;
    for (size_t i = 0; i < words; i++) {
        uint64_t held, laid = poison_at(&p, i);
        memcpy(&held, from + 8 * i, 8);
        if (held == laid) {
            left += per_word;
            continue;
        }
        for (size_t at = 0; at < 8; at += element)
            left += !memcmp((char *)&held + at, (char *)&laid + at, element);
    }
    for (size_t i = words * per_word; i < n; i++)
        left += kb_tensor_is_poison(src, dtype, i, seed);
    return left;
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
    size_t at = 0;
    for (; bytes - at >= 8; at += 8) {
        uint64_t held, laid = poison_at(&p, at / 8);
        memcpy(&held, from + at, 8);
        if (held != laid)
            break;
    }
    for (; at < bytes; at++) {
        uint64_t laid = poison_at(&p, at / 8);
        if (memcmp(from + at, (char *)&laid + at % 8, 1) != 0)
            return at;
    }
    return SIZE_MAX;
}

static const uint64_t prime[] = {
    0, UINT64_C(0x9e3779b185ebca87), UINT64_C(0xc2b2ae3d27d4eb4f),
    UINT64_C(0x165667b19e3779f9), UINT64_C(0x85ebca77c2b2ae63),
    UINT64_C(0x27d4eb2f165667c5),
};

static uint64_t rotate(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

static uint64_t read_word(const unsigned char *p)
{
    uint64_t w;
    memcpy(&w, p, sizeof w);
#if defined __BYTE_ORDER__ && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    w = __builtin_bswap64(w);
#endif
    return w;
}

static uint64_t round_of(uint64_t lane, uint64_t word)
{
    return rotate(lane + word * prime[2], 31) * prime[1];
}

/* All of src that fills stripes of 32 bytes. */
static uint64_t hash_stripes(const unsigned char *p, size_t stripes)
{
    uint64_t a = prime[1] + prime[2], b = prime[2], c = 0, d = 0 - prime[1];
    for (size_t i = 0; i < stripes; i++, p += 32) {
        a = round_of(a, read_word(p));
        b = round_of(b, read_word(p + 8));
        c = round_of(c, read_word(p + 16));
        d = round_of(d, read_word(p + 24));
    }
    uint64_t h = rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18);
    const uint64_t lane[] = { a, b, c, d };
    for (int i = 0; i < 4; i++)
        h = (h ^ round_of(0, lane[i])) * prime[1] + prime[4];
    return h;
}

uint64_t kb_tensor_hash(const void *src, size_t bytes)
{
    const unsigned char *p = src;
    size_t at = bytes / 32 * 32;
    uint64_t h = at ? hash_stripes(p, at / 32) : prime[5];
    h += bytes;
    for (; bytes - at >= 8; at += 8)
        h = rotate(h ^ round_of(0, read_word(p + at)), 27) * prime[1]
            + prime[4];
    if (bytes - at >= 4) {
        uint64_t w = p[at] | (uint64_t)p[at + 1] << 8
                   | (uint64_t)p[at + 2] << 16 | (uint64_t)p[at + 3] << 24;
        h = rotate(h ^ w * prime[1], 23) * prime[2] + prime[3];
        at += 4;
    }
    for (; at < bytes; at++)
        h = rotate(h ^ p[at] * prime[5], 11) * prime[1];
    h = (h ^ h >> 33) * prime[2];
    h = (h ^ h >> 29) * prime[3];
    return h ^ h >> 32;
}
