/* mutant.h - wrong answers made from right ones, to try a judge with.
 *
 *   zeros  zero everywhere
 *   mean   the mean of the right answer everywhere
 *   copy   the elements of an input, again from its start where it is shorter
 *   half   every float with half of its significand's bits or fewer: f64 as
 *          f32, f32 with the 11 of f16, f16 with the 8 of bf16, bf16 with 4
 *   one    one element moved by a tenth of the larger of its own size and the
 *          root of the mean square; an integer by 1
 *   tail   the last sixteenth, one element at the least, NaN (integers: 0)
 *   swap   the last two dimensions exchanged: the transpose, kept as it lies
 */
#pragma once

#include "tensor.h"

#define KB_MUTANT_MAP(X) \
    X(ZEROS, "zeros") X(MEAN, "mean") X(COPY, "copy") X(HALF, "half") \
    X(ONE, "one") X(TAIL, "tail") X(SWAP, "swap")

enum kb_mutant {
#define X(id, name) KB_MUTANT_##id,
    KB_MUTANT_MAP(X)
#undef X
    KB_MUTANTS
};

/* EINVAL when text names none. */
KB_STATUS kb_mutant_parse(const char *text, enum kb_mutant *out);

struct kb_mutation {
    enum kb_mutant kind;
    enum kb_dtype dtype;
    size_t n;                   /* elements of the answer */
    const void *input;          /* of copy, with its type and size */
    enum kb_dtype input_dtype;
    size_t input_n;
    size_t rows, cols;          /* of swap: the last two dimensions; their
                                 * product divides n */
    uint64_t seed;              /* where one is */
};

/* out[n], which must not overlap right, is the mutant of right[n]. Returns how
 * many of its elements are not equal to those of right (two NaN are equal, so
 * are both zeros): 0 says that this mutant is the right answer, and no judge
 * can tell. */
size_t kb_mutant_make(void *out, const void *right,
                      const struct kb_mutation *m);

/* Turns a[n] by `by` < n places: a[i] becomes what a[(i + by) mod n] was.
 * ENOMEM. */
KB_STATUS kb_tensor_turn(void *a, enum kb_dtype dtype, size_t n, size_t by);
