#include "rng.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const uint64_t golden = 0x9e3779b97f4a7c15;     /* 2^64 / phi, odd */

/* A step is a bijection of h for every word, so that bytes of one length which
 * differ in one word never meet. */
uint64_t kb_hash(uint64_t start, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    uint64_t h = kb_mix(start + n + golden), word;
    for (; n >= sizeof word; n -= sizeof word, p += sizeof word) {
        memcpy(&word, p, sizeof word);
        h = (h ^ word) * golden;
        h ^= h >> 32;
    }
    word = 0;
    memcpy(&word, p, n);
    return kb_mix(h ^ word);
}

static uint64_t rotl(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

void kb_rng_seed(struct kb_rng *r, uint64_t seed)
{
    /* Four values of a bijection at four places: at most one of them is 0. */
    uint64_t x = seed;
    for (int i = 0; i < 4; i++)
        r->s[i] = kb_mix(x += golden);
    r->root = seed;
}

uint64_t kb_rng_next(struct kb_rng *r)
{
    uint64_t *s = r->s;
    uint64_t drawn = rotl(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return drawn;
}

double kb_rng_uniform(struct kb_rng *r)
{
    return (double)(kb_rng_next(r) >> 11) * 0x1p-53;
}

uint64_t kb_rng_below(struct kb_rng *r, uint64_t n)
{
    assert(n >= 1);
    uint64_t spare = (0 - n) % n;       /* 2^64 mod n */
    uint64_t x;
    do {
        x = kb_rng_next(r);
    } while (x < spare);
    return x % n;
}

double kb_rng_normal_pair(struct kb_rng *r, double *second)
{
    double u, v, square;
    do {
        u = 2 * kb_rng_uniform(r) - 1;
        v = 2 * kb_rng_uniform(r) - 1;
        square = u * u + v * v;
    } while (square >= 1 || square == 0);
    double stretch = sqrt(-2 * log(square) / square);
    *second = v * stretch;
    return u * stretch;
}

double kb_rng_normal(struct kb_rng *r)
{
    double second;
    return kb_rng_normal_pair(r, &second);
}

void kb_rng_split(const struct kb_rng *from, const char *name, size_t n,
                  struct kb_rng *out)
{
    /* Every line is a bijection of h, so roots never meet under one name. The
     * last keeps "a" then "b" apart from "ab". */
    uint64_t h = from->root;
    for (size_t i = 0; i < n; i++)
        h = kb_mix((h ^ (unsigned char)name[i]) + golden);
    h = kb_mix(h ^ 0x6b65726e656c6261);
    kb_rng_seed(out, h);
}
