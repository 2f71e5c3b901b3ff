#include "tensor.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Most elements are right. A block goes through a short loop that only asks
 * whether anything in it would change the verdict or the largest excess so far;
 * a block where something would is judged again, element by element. */
enum { BLOCK = 512, LANES = 4 };

struct judge {
    const char *got;
    const double *want, *scale;
    enum kb_dtype dtype;
    bool integer, exact;
    double per_want, per_scale, tiny;   /* the limit's three terms */
    double overflow;            /* least magnitude that rounds to infinity */
    uint64_t poison_seed;
    struct kb_compare sum;
};

struct kb_bound kb_tensor_bound(enum kb_dtype dtype, double reduction)
{
    struct kb_bound b = {
        .u_out = kb_dtype_roundoff(dtype), .reduction = reduction,
        .exact = !kb_dtype_is_float(dtype)
    };
    if (b.exact)
        return b;
    b.u_acc = kb_dtype_roundoff(dtype == KB_F64 ? KB_F64 : KB_F32);
    b.tiny = dtype == KB_F64 ? DBL_MIN : dtype == KB_F16 ? 0x1p-24 : FLT_MIN;
    return b;
}

static bool bound_ok(const struct kb_bound *b)
{
    const double terms[] = { b->u_out, b->u_acc, b->tiny };
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++)
        if (!(isfinite(terms[i]) && terms[i] >= 0))
            return false;
    return isfinite(b->reduction) && b->reduction >= 1;
}

static double overflow_of(enum kb_dtype dtype)
{
    double u = kb_dtype_roundoff(dtype);
    if (dtype == KB_F32 || dtype == KB_BF16)
        return (2 - u) * 0x1p127;
    return dtype == KB_F16 ? (2 - u) * 0x1p15 : INFINITY;
}

double kb_bound_per_scale(const struct kb_bound *b)
{
    return b->u_acc * fmin(8 * sqrt(b->reduction), b->reduction);
}

static struct judge judge_of(const struct kb_bound *b, enum kb_dtype dtype)
{
    struct judge j = {
        .dtype = dtype, .integer = !kb_dtype_is_float(dtype),
        .exact = b->exact, .overflow = overflow_of(dtype),
        .sum = { .first_bad = SIZE_MAX },
    };
    if (!b->exact) {
        j.per_want = 4 * b->u_out;
        j.per_scale = kb_bound_per_scale(b);
        j.tiny = b->tiny;
    }
    return j;
}

/* Elements at .. at + n as doubles. An i64 that no double equals becomes a NaN,
 * which is wrong whatever the reference says. */
static void load(const struct judge *j, size_t at, double *c, size_t n)
{
    const char *from = j->got + at * kb_dtype_bytes(j->dtype);
    kb_tensor_widen(c, from, n, j->dtype);
    if (j->dtype != KB_I64)
        return;
    for (size_t i = 0; i < n; i++) {
        int64_t v;
        memcpy(&v, from + i * sizeof v, sizeof v);
        if (fabs(c[i]) >= 0x1p63 ? v != INT64_MIN : (int64_t)c[i] != v)
            c[i] = NAN;
    }
}

static double limit_of(const struct judge *j, double r, double s)
{
    s = isfinite(s) ? fabs(s) : fabs(r);
    return j->per_want * fabs(r) + j->per_scale * s + j->tiny;
}

static bool special_ok(const struct judge *j, double c, double r, double limit)
{
    if (isnan(r) || isnan(c))
        return isnan(r) && isnan(c);
    if (isinf(r))
        return c == r;
    return !signbit(c) == !signbit(r) && fabs(r) + limit >= j->overflow;
}

static double rounded(const struct judge *j, double r)
{
    double buffer;
    kb_tensor_set(&buffer, j->dtype, 0, r);
    return kb_tensor_get(&buffer, j->dtype, 0);
}

static void note_bad(struct judge *j, size_t i, double r, double limit)
{
    struct kb_compare *sum = &j->sum;
    if (sum->bad++)
        return;
    sum->first_bad = i;
    sum->got = kb_tensor_get(j->got, j->dtype, i);
    sum->want = r;
    sum->limit = limit;
}

static void judge_element(struct judge *j, size_t i, double c)
{
    struct kb_compare *sum = &j->sum;
    double r = j->want[i], limit = limit_of(j, r, j->scale[i]);
    double excess;
    bool ok;
    if (isfinite(r) && (isfinite(c) || j->integer)) {
        double d = fabs(c - (j->exact ? rounded(j, r) : r));
        ok = d <= limit;
        excess = d <= 0 ? 0 : limit > 0 && !isnan(d) ? d / limit : INFINITY;
        if (isfinite(d)) {
            sum->err_ss += (c - r) * (c - r);
            sum->ref_ss += r * r;
        }
    } else {
        bool over = isinf(c) && isfinite(r) && !signbit(c) == !signbit(r);
        ok = special_ok(j, c, r, limit);
        excess = over ? fmax(0, (j->overflow - fabs(r)) / limit)
               : ok ? 0 : INFINITY;
        sum->nan_mismatch += !ok && !over;
    }
    if ((!ok || isnan(c))
        && kb_tensor_is_poison(j->got, j->dtype, i, j->poison_seed)) {
        sum->poison_left++;
        excess = INFINITY;
        ok = false;
    }
    sum->max_excess = fmax(sum->max_excess, excess);
    if (!ok)
        note_bad(j, i, r, limit);
}

/* True, and the sums taken, when no element of a whole block is wrong or
 * comes closer to its limit than an earlier one. A NaN makes the comparison
 * false, an infinite limit the sum of limits infinite. */
static bool block_ok(struct judge *j, size_t at, const double *c)
{
    const double *r = j->want + at, *s = j->scale + at;
    double err[LANES] = { 0 }, ref[LANES] = { 0 }, limits[LANES] = { 0 };
    double share = fmin(j->sum.max_excess, 1);
    double per_want = j->per_want, per_scale = j->per_scale, tiny = j->tiny;
    int seen = 0;
    for (size_t i = 0; i < BLOCK; i += LANES)
        for (size_t k = 0; k < LANES; k++) {
            double d = c[i + k] - r[i + k];
            double limit = per_want * fabs(r[i + k])
                         + per_scale * fabs(s[i + k]) + tiny;
            seen |= !(fabs(d) <= share * limit);
            limits[k] += limit;
            err[k] += d * d;
            ref[k] += r[i + k] * r[i + k];
        }
    for (size_t k = 0; k < LANES; k++)
        seen |= !isfinite(limits[k]);
    if (seen)
        return false;
    for (size_t k = 0; k < LANES; k++) {
        j->sum.err_ss += err[k];
        j->sum.ref_ss += ref[k];
    }
    return true;
}

kb_status kb_tensor_compare(const void *got, enum kb_dtype dtype,
                            const double *want, const double *scale, size_t n,
                            const struct kb_bound *bound,
                            uint64_t poison_seed, struct kb_compare *out)
{
    if ((unsigned)dtype >= KB_DTYPES || !bound_ok(bound))
        return KB_EINVAL;
    struct judge j = judge_of(bound, dtype);
    j.got = got;
    j.want = want;
    j.scale = scale ? scale : want;
    j.poison_seed = poison_seed;
    j.sum.n = n;
    double c[BLOCK];
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t part = n - at < BLOCK ? n - at : BLOCK;
        load(&j, at, c, part);
        if (part == BLOCK && block_ok(&j, at, c))
            continue;
        for (size_t i = 0; i < part; i++)
            judge_element(&j, at + i, c[i]);
    }
    *out = j.sum;
    return KB_OK;
}
