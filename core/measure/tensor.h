/* tensor.h - element types, and what a judge does to arrays of them: fill,
 * poison, guard, hash, compare.
 *
 * Arrays are dense, hold n elements in native byte order, and may have any
 * alignment. Nothing here allocates. Results depend on the arguments alone, so
 * an evaluation is repeated from its seeds.
 */
#pragma once

#include "kb.h"
#include "rng.h"

/* ---- element types -------------------------------------------------------
 *
 * The columns are the type in C (f16 and bf16 are bits), its bytes, the unit
 * roundoff u, which is the largest relative error of one rounding to nearest
 * (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., sec. 2.2),
 * and the smallest normal number. Integers have neither of the last two. */
#define KB_DTYPE_MAP(X)                                             \
    X(F64,  "f64",  "double",         8, 0x1p-53, 0x1p-1022)        \
    X(F32,  "f32",  "float",          4, 0x1p-24, 0x1p-126)         \
    X(F16,  "f16",  "unsigned short", 2, 0x1p-11, 0x1p-14)          \
    X(BF16, "bf16", "unsigned short", 2, 0x1p-8,  0x1p-126)         \
    X(I8,   "i8",   "signed char",    1, 0, 0)                      \
    X(U8,   "u8",   "unsigned char",  1, 0, 0)                      \
    X(I32,  "i32",  "int",            4, 0, 0)                      \
    X(I64,  "i64",  "long long",      8, 0, 0)

enum kb_dtype {
#define X(id, name, c_type, bytes, roundoff, normal) KB_##id,
    KB_DTYPE_MAP(X)
#undef X
    KB_DTYPES
};

/* EINVAL when text, which may be NULL, names no dtype. */
KB_STATUS kb_dtype_parse(const char *text, enum kb_dtype *out);

/* Defines that function of an enumeration: EINVAL when text, which may be NULL,
 * is none of the names, which are those of its values in order: of a list of
 * X(id, name) they are LIST(KB_ITEM_NAME). */
#define KB_ITEM_NAME(id, name) name,
#define KB_DEFINE_PARSE(function, type, ...)                                \
    kb_status function(const char *text, type *out)                         \
    {                                                                       \
        static const char *const names[] = { __VA_ARGS__ };                 \
        for (size_t i = 0; text && i < sizeof names / sizeof *names; i++)   \
            if (strcmp(text, names[i]) == 0) {                              \
                *out = (type)i;                                             \
                return KB_OK;                                               \
            }                                                               \
        return KB_EINVAL;                                                   \
    }

extern const struct kb_dtype_info {
    const char *c_type;
    size_t bytes;
    double roundoff, normal;    /* 0 of integers */
} kb_dtype_table[KB_DTYPES];

static inline size_t kb_dtype_bytes(enum kb_dtype dtype)
{
    return kb_dtype_table[dtype].bytes;
}

static inline double kb_dtype_roundoff(enum kb_dtype dtype)
{
    return kb_dtype_table[dtype].roundoff;
}

static inline bool kb_dtype_is_float(enum kb_dtype dtype)
{
    return kb_dtype_table[dtype].roundoff > 0;
}

/* Reading is exact, save for i64 beyond 2^53, which rounds to nearest.
 * Writing rounds to nearest, ties to even, once; floats overflow to infinity,
 * integers saturate and take NaN as 0. */
double kb_tensor_get(const void *src, enum kb_dtype dtype, size_t i);
void kb_tensor_set(void *dst, enum kb_dtype dtype, size_t i, double value);

/* The same over arrays, which must not overlap. */
void kb_tensor_widen(double *dst, const void *src, size_t n,
                     enum kb_dtype dtype);
void kb_tensor_narrow(void *dst, const double *src, size_t n,
                      enum kb_dtype dtype);

/* dst[i] = |src[i]|; dst may be src. Integers saturate: |-128| is 127. NaN
 * stays NaN. */
void kb_tensor_abs(void *dst, const void *src, size_t n, enum kb_dtype dtype);

/* Element i times 1 + k by or 1 - k by, k from 1 to most, by draws from seed:
 * inputs that are k roundings away when by is one. Only F32 and F64; other
 * types stay as they are. */
void kb_tensor_nudge(void *a, size_t n, enum kb_dtype dtype, double by,
                     uint64_t most, uint64_t seed);

/* How many of x[n] would be denormal numbers of dtype: not 0, and below its
 * smallest normal number. */
size_t kb_tensor_denormals(const double *x, size_t n, enum kb_dtype dtype);

/* ---- inputs --------------------------------------------------------------
 *
 * One distribution is one way to catch a kernel that is right for the easy
 * values only. z is a standard normal, u uniform in [0, 1).
 *
 *   normal     z
 *   wide       z * 10^(6u - 3), the power in 256 steps
 *   uniform    u, whose mean is not 0: a mean is not a constant
 *   lognormal  exp(1.5 z)
 *   spikes     z, and one in 1,000, at random places, 100 z
 *   ties       4 values in runs of 1 to 2,048: constant rows, equal maxima
 *   integers   -8 .. 8, equally often: small sums are exact in every float
 *   denormal   a quarter signed zeros, a quarter denormals of the dtype, the
 *              rest z
 *
 * Integer dtypes take 16 times the value, rounded and saturated; `integers` as
 * it is, `denormal` with -1, 0, 1 in place of the zeros and denormals. u8 takes
 * the absolute value of that. */
#define KB_FILL_MAP(X)              \
    X(NORMAL,    "normal")    \
    X(WIDE,      "wide")      \
    X(UNIFORM,   "uniform")   \
    X(LOGNORMAL, "lognormal") \
    X(SPIKES,    "spikes")    \
    X(TIES,      "ties")      \
    X(INTEGERS,  "integers")  \
    X(DENORMAL,  "denormal")

enum kb_fill {
#define X(id, name) KB_FILL_##id,
    KB_FILL_MAP(X)
#undef X
    KB_FILLS
};

KB_STATUS kb_fill_parse(const char *text, enum kb_fill *out);

/* Takes one draw from rng whatever n is, and seeds a stream of its own with it,
 * so adding an input to a task leaves the others as they were. */
void kb_tensor_fill(void *dst, enum kb_dtype dtype, size_t n,
                    enum kb_fill fill, struct kb_rng *rng);

/* ---- traces of what was not written, or written where it must not be ----- */

/* Fills with words that depend on seed and place. In a float dtype every
 * element is a quiet NaN whose payload ends in binary 01, so that no NaN a
 * processor makes by itself (payload 0, on CUDA all ones) is taken for poison:
 * Of a float's word the top is that of a quiet NaN (f64 0x7ff8, f32 0x7fc0,
 * f16 0x7e00, bf16 0x7fc0) and the rest random, 4 bits at the least.
 * In an integer dtype all is random. bytes is that of the whole buffer, which
 * starts with element 0. */
void kb_tensor_poison(void *dst, size_t bytes, enum kb_dtype dtype,
                      uint64_t seed);

/* Does element i still hold what kb_tensor_poison put there? An integer of b
 * bits that was written says yes by chance once in 2^b. */
bool kb_tensor_is_poison(const void *src, enum kb_dtype dtype, size_t i,
                         uint64_t seed);

/* The offset of the first byte of a red zone, which was poisoned as U8, that
 * changed; SIZE_MAX when none did. */
size_t kb_tensor_guard_check(const void *src, size_t bytes, uint64_t seed);

/* ---- comparison ----------------------------------------------------------
 *
 * With r the float64 reference, c the candidate's element, s the reference on
 * absolute inputs and K the number of terms summed into an element:
 *
 *   limit = 4 u_out |r| + min(8 sqrt(K), K) u_acc s + tiny
 *   wrong = !(|c - r| <= limit)
 *
 * K u is the classical bound of a sum's forward error, sqrt(K) u its growth
 * when roundings are independent (Higham, sec. 3.1 and 4.2; Higham & Mary
 * 2019), hence the 8. A bound that grows with K leaves no room for the loose
 * constant under which zeros pass for a softmax. Every element counts.
 *
 *   NaN       c must be NaN where r is, and only there.
 *   infinity  c must be r where r is infinite. Where r is finite c may be an
 *             infinity of its sign only if some value within limit of r rounds
 *             to it in the dtype.
 *   s         counts by its absolute value; not finite, it counts as |r|.
 *   exact     limit is 0: c equals r rounded to the dtype. -0 equals 0.
 *   poison    an element that is NaN or wrong and still holds the poison counts
 *             in poison_left, and is wrong even where r is NaN. */
struct kb_bound {
    double u_out;       /* unit roundoff of the output's dtype */
    double u_acc;       /* unit roundoff of the accumulator */
    double reduction;   /* K >= 1; 1 for element-wise work */
    double tiny;        /* absolute slack, in units of the output */
    bool exact;
};

struct kb_compare {
    uint64_t n, bad;            /* elements; those that are wrong */
    uint64_t nan_mismatch;      /* of the wrong, those that no limit makes
                                 * right: one is not finite as the other is, and
                                 * c is no infinity of the sign of a finite r */
    uint64_t poison_left;       /* of the wrong, those never written */
    size_t first_bad;           /* SIZE_MAX when none; its values follow, */
    double got, want, limit;    /* all 0 when none */
    double max_excess;          /* max |c - r| / limit, c the least that rounds
                                 * to infinity where it is one of the sign of a
                                 * finite r; infinity when a finite value meets
                                 * a limit of 0 or no number */
    double err_ss, ref_ss;      /* sums of (c - r)^2 and r^2, both finite */
};

/* What a unit of s adds to the limit. */
double kb_bound_per_scale(const struct kb_bound *b);

/* What dtype and K ask for: u_out of the dtype, u_acc of float32, of float64
 * for f64. tiny is the smallest normal number, so that flushing an output is
 * forgiven; for f16, where that is 6e-5, the smallest denormal. Terms flushed
 * before they are multiplied and summed may cost more: a caller that knows how
 * much adds it. Integers are exact. */
struct kb_bound kb_tensor_bound(enum kb_dtype dtype, double reduction);

/* got[n] of dtype against want[n]; scale[n] is s, NULL means |r|. i64 beyond
 * 2^53 that no double equals is wrong. EINVAL when a term of bound is not
 * finite or is negative, or K < 1. */
KB_STATUS kb_tensor_compare(const void *got, enum kb_dtype dtype,
                            const double *want, const double *scale, size_t n,
                            const struct kb_bound *bound, uint64_t poison_seed,
                            struct kb_compare *out);
