#include "rng.h"

#include <assert.h>
#include <math.h>

static const uint64_t golden = 0x9e3779b97f4a7c15;     /* 2^64 / phi, odd */

/* splitmix64's finaliser: a bijection of 64 bits. */
static uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
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
        r->s[i] = mix(x += golden);
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

double kb_rng_normal(struct kb_rng *r)
{
    double u, v, square;
    do {
        u = 2 * kb_rng_uniform(r) - 1;
        v = 2 * kb_rng_uniform(r) - 1;
        square = u * u + v * v;
    } while (square >= 1 || square == 0);
    return u * sqrt(-2 * log(square) / square);
}

void kb_rng_split(const struct kb_rng *from, const char *name, size_t n,
                  struct kb_rng *out)
{
    /* Every line is a bijection of h, so roots never meet under one name. The
     * last keeps "a" then "b" apart from "ab". */
    uint64_t h = from->root;
    for (size_t i = 0; i < n; i++)
        h = mix((h ^ (unsigned char)name[i]) + golden);
    h = mix(h ^ 0x6b65726e656c6261);
    kb_rng_seed(out, h);
}
