/* rng.h - seeded random numbers: the only source of chance in KernelBand.
 *
 * The generator is xoshiro256** (Blackman and Vigna, "Scrambled linear
 * pseudorandom number generators", 2018), its state filled by splitmix64
 * (Steele, Lea and Flood, 2014) from one 64-bit seed, the root:
 *
 *   x += 0x9e3779b97f4a7c15;  z = x;
 *   z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
 *   z = (z ^ z >> 27) * 0x94d049bb133111eb;  s[i] = z ^ z >> 31
 *
 * Equal seeds give equal streams. A stream is a plain struct: copy it to
 * remember a place, embed it where it is used. It is not for secrets; those
 * come from the system.
 */
#pragma once

#include "kb.h"

/* splitmix64's finaliser: a bijection of 64 bits. */
static inline uint64_t kb_mix(uint64_t z)
{
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Of n bytes, which start may continue from others: for tables and to see
 * whether something changed, not proof against somebody who can compute it. */
uint64_t kb_hash(uint64_t start, const void *bytes, size_t n);

struct kb_rng {
    uint64_t s[4];              /* where the stream is; never all zero */
    uint64_t root;              /* the seed it grew from; draws leave it be */
};

void kb_rng_seed(struct kb_rng *r, uint64_t seed);

/* 64 uniform bits. */
uint64_t kb_rng_next(struct kb_rng *r);

/* Uniform in [0, 1): the top 53 bits of one draw times 2^-53. */
double kb_rng_uniform(struct kb_rng *r);

/* Uniform in 0 .. n-1, without bias: draws below 2^64 mod n are thrown away.
 * n >= 1. */
uint64_t kb_rng_below(struct kb_rng *r, uint64_t n);

/* Standard normal, Marsaglia's polar method. The second number of each pair
 * is thrown away, so that a stream has no memory but s; _pair returns both,
 * independent of each other. */
double kb_rng_normal(struct kb_rng *r);
double kb_rng_normal_pair(struct kb_rng *r, double *second);

/* Seeds *out with the child stream called name[0 .. n-1] (any bytes, n may be
 * 0). The child is a function of from->root and the name and of nothing else:
 * draws made from either never move the other. Children of children are named
 * by the path, so "a" then "b" differs from "ab" and from "b" then "a"; for
 * one name, different roots give different children. out may be from. */
void kb_rng_split(const struct kb_rng *from, const char *name, size_t n,
                  struct kb_rng *out);
