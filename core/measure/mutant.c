#include "mutant.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

KB_DEFINE_PARSE(kb_mutant_parse, enum kb_mutant, KB_MUTANT_MAP(KB_ITEM_NAME))

static void fill_with(void *out, const struct kb_mutation *m, double v)
{
    for (size_t i = 0; i < m->n; i++)
        kb_tensor_set(out, m->dtype, i, v);
}

/* Of the finite elements: their mean, or the root of their mean square. */
static double average(const void *a, const struct kb_mutation *m, bool square)
{
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < m->n; i++) {
        double v = kb_tensor_get(a, m->dtype, i);
        if (!isfinite(v))
            continue;
        sum += square ? v * v : v;
        n++;
    }
    double mean = n ? sum / (double)n : 0;
    return square ? sqrt(mean) : mean;
}

/* v with that many bits of its significand, to nearest even. */
static double with_bits(double v, int bits)
{
    int exponent;
    if (v == 0 || !isfinite(v))
        return v;
    double f = frexp(v, &exponent);
    return ldexp(nearbyint(ldexp(f, bits)), exponent - bits);
}

static void halve(void *out, const struct kb_mutation *m)
{
    int bits = m->dtype == KB_F64 ? 24 : m->dtype == KB_F32 ? 11
             : m->dtype == KB_F16 ? 8 : 4;
    if (!kb_dtype_is_float(m->dtype))
        return;
    for (size_t i = 0; i < m->n; i++)
        kb_tensor_set(out, m->dtype, i,
                      with_bits(kb_tensor_get(out, m->dtype, i), bits));
}

static void move_one(void *out, const struct kb_mutation *m)
{
    size_t i = (size_t)(m->seed % m->n);
    double v = kb_tensor_get(out, m->dtype, i);
    double by = kb_dtype_is_float(m->dtype)
              ? 0.1 * fmax(fabs(v), average(out, m, true)) : 1;
    if (!(by > 0) || !isfinite(by))
        by = 1;
    kb_tensor_set(out, m->dtype, i, isfinite(v) ? v + by : 0);
    if (kb_tensor_get(out, m->dtype, i) == v)          /* saturated */
        kb_tensor_set(out, m->dtype, i, v - by);
}

static void swap(void *out, const void *right, const struct kb_mutation *m)
{
    size_t size = kb_dtype_bytes(m->dtype), block = m->rows * m->cols;
    assert(block && m->n % block == 0);
    for (size_t at = 0; at < m->n; at += block)
        for (size_t r = 0; r < m->rows; r++)
            for (size_t c = 0; c < m->cols; c++)
                memcpy((char *)out + (at + c * m->rows + r) * size,
                       (const char *)right + (at + r * m->cols + c) * size,
                       size);
}

static size_t count_other(const void *a, const void *b,
                          const struct kb_mutation *m)
{
    size_t other = 0;
    for (size_t i = 0; i < m->n; i++) {
        double x = kb_tensor_get(a, m->dtype, i);
        double y = kb_tensor_get(b, m->dtype, i);
        other += x != y && !(isnan(x) && isnan(y));
    }
    return other;
}

size_t kb_mutant_make(void *out, const void *right,
                      const struct kb_mutation *m)
{
    assert(m->n > 0);
    size_t tail = m->n / 16 > 0 ? m->n / 16 : 1;
    memcpy(out, right, m->n * kb_dtype_bytes(m->dtype));
    switch (m->kind) {
    case KB_MUTANT_ZEROS: fill_with(out, m, 0); break;
    case KB_MUTANT_MEAN:  fill_with(out, m, average(right, m, false)); break;
    case KB_MUTANT_COPY:
        for (size_t i = 0; i < m->n; i++)
            kb_tensor_set(out, m->dtype, i,
                          kb_tensor_get(m->input, m->input_dtype,
                                        i % m->input_n));
        break;
    case KB_MUTANT_HALF:  halve(out, m); break;
    case KB_MUTANT_ONE:   move_one(out, m); break;
    case KB_MUTANT_TAIL:
        for (size_t i = m->n - tail; i < m->n; i++)
            kb_tensor_set(out, m->dtype, i, NAN);
        break;
    default: swap(out, right, m);
    }
    return count_other(out, right, m);
}

kb_status kb_tensor_turn(void *a, enum kb_dtype dtype, size_t n, size_t by)
{
    size_t size = kb_dtype_bytes(dtype);
    assert(by < n);
    if (by == 0)
        return KB_OK;
    void *head = malloc(by * size);
    if (!head)
        return KB_ENOMEM;
    memcpy(head, a, by * size);
    memmove(a, (char *)a + by * size, (n - by) * size);
    memcpy((char *)a + (n - by) * size, head, by * size);
    free(head);
    return KB_OK;
}
