#include "tensor.h"

#include <assert.h>
#include <math.h>
#include <string.h>

const struct kb_dtype_info kb_dtype_table[KB_DTYPES] = {
#define X(id, name, c_type, bytes, roundoff, normal) \
    { c_type, bytes, roundoff, normal },
    KB_DTYPE_MAP(X)
#undef X
};

#define X(id, name, c_type, bytes, roundoff, normal) name,
KB_DEFINE_PARSE(kb_dtype_parse, enum kb_dtype, KB_DTYPE_MAP(X))
#undef X

static float float_of(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* Read as a float32, a half's bits moved up mean a value 2^112 too small, the
 * denormals among them too. Only the top exponent needs a second look. */
static double of_half(uint16_t h)
{
    uint32_t bits = (uint32_t)(h & 0x7fff) << 13;
    uint32_t sign = (uint32_t)(h & 0x8000) << 16;
    if (bits >= 0x0f800000)
        return float_of(bits | sign | 0x7f800000);
    return float_of(bits | sign) * 0x1p112f;
}

static double of_bfloat(uint16_t h)
{
    return float_of((uint32_t)h << 16);
}

/* x rounded to sign, exponent (bias given) and fraction of the given width.
 * Carrying out of the fraction into the exponent is what rounding up to the
 * next power, to the first normal, or to infinity is. */
static uint16_t to_small(double x, unsigned fraction, int bias)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    unsigned sign = (unsigned)(bits >> 63) << 15;
    unsigned top = ((2u * (unsigned)bias + 1) << fraction);
    uint64_t magnitude = bits & (UINT64_MAX >> 1);
    if (magnitude > UINT64_C(0x7ff0000000000000))
        return (uint16_t)(sign | top | 1u << (fraction - 1));
    int exponent = (int)(magnitude >> 52) - 1023 + bias;
    if (exponent > 2 * bias)
        return (uint16_t)(sign | top);
    if (exponent < -(int)fraction)
        return (uint16_t)sign;
    uint64_t mantissa = (magnitude & 0xfffffffffffff) | UINT64_C(1) << 52;
    unsigned drop = 52 - fraction;
    uint64_t base = 0;
    if (exponent > 0)
        base = (uint64_t)(exponent - 1) << fraction;
    else
        drop += (unsigned)(1 - exponent);
    uint64_t odd = mantissa >> drop & 1;
    uint64_t almost_half = (UINT64_C(1) << (drop - 1)) - 1;
    uint64_t kept = (mantissa + almost_half + odd) >> drop;
    return (uint16_t)(sign | (unsigned)(base + kept));
}

static uint16_t to_half(double x)
{
    return to_small(x, 10, 15);
}

static uint16_t to_bfloat(double x)
{
    return to_small(x, 7, 127);
}

/* low and high are exact doubles, high + 1 for i64: there the comparison must
 * come before the cast. */
static int64_t to_integer(double x, double low, double high)
{
    if (isnan(x))
        return 0;
    if (x <= low)
        return (int64_t)low;
    if (x >= high)
        return high >= 0x1p63 ? INT64_MAX : (int64_t)high;
    return (int64_t)nearbyint(x);
}

#define DEFINE_TO(name, type, low, high)                                    \
    static type name(double x) { return (type)to_integer(x, low, high); }
DEFINE_TO(to_i8, int8_t, INT8_MIN, INT8_MAX)
DEFINE_TO(to_u8, uint8_t, 0, UINT8_MAX)
DEFINE_TO(to_i32, int32_t, INT32_MIN, INT32_MAX)
DEFINE_TO(to_i64, int64_t, -0x1p63, 0x1p63)

/* One switch for the four functions below: dtype, its C type, its reader and
 * its writer. */
#define EACH_TYPE(X)                       \
    X(F64,  double,   (double),  (double)) \
    X(F32,  float,    (double),  (float))  \
    X(F16,  uint16_t, of_half,   to_half)  \
    X(BF16, uint16_t, of_bfloat, to_bfloat)\
    X(I8,   int8_t,   (double),  to_i8)    \
    X(U8,   uint8_t,  (double),  to_u8)    \
    X(I32,  int32_t,  (double),  to_i32)   \
    X(I64,  int64_t,  (double),  to_i64)

void kb_tensor_widen(double *restrict dst, const void *restrict src, size_t n,
                     enum kb_dtype dtype)
{
    const char *p = src;
    switch (dtype) {
#define X(id, type, of, to)                     \
    case KB_##id:                               \
        for (size_t i = 0; i < n; i++) {        \
            type v;                             \
            memcpy(&v, p + i * sizeof v, sizeof v); \
            dst[i] = of(v);                     \
        }                                       \
        break;
    EACH_TYPE(X)
#undef X
    case KB_DTYPES:
        assert(dtype < KB_DTYPES);
    }
}

void kb_tensor_narrow(void *restrict dst, const double *restrict src, size_t n,
                      enum kb_dtype dtype)
{
    char *p = dst;
    switch (dtype) {
#define X(id, type, of, to)                     \
    case KB_##id:                               \
        for (size_t i = 0; i < n; i++) {        \
            type v = to(src[i]);                \
            memcpy(p + i * sizeof v, &v, sizeof v); \
        }                                       \
        break;
    EACH_TYPE(X)
#undef X
    case KB_DTYPES:
        assert(dtype < KB_DTYPES);
    }
}

double kb_tensor_get(const void *src, enum kb_dtype dtype, size_t i)
{
    double value = 0;
    const char *p = src;
    kb_tensor_widen(&value, p + i * kb_dtype_bytes(dtype), 1, dtype);
    return value;
}

void kb_tensor_set(void *dst, enum kb_dtype dtype, size_t i, double value)
{
    char *p = dst;
    kb_tensor_narrow(p + i * kb_dtype_bytes(dtype), &value, 1, dtype);
}

enum { BLOCK = 256 };

/* An i64 may be no double. */
static void abs_i64(char *dst, const char *src, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int64_t v;
        memcpy(&v, src + i * sizeof v, sizeof v);
        v = v == INT64_MIN ? INT64_MAX : v < 0 ? -v : v;
        memcpy(dst + i * sizeof v, &v, sizeof v);
    }
}

void kb_tensor_abs(void *dst, const void *src, size_t n, enum kb_dtype dtype)
{
    double x[BLOCK];
    size_t size = kb_dtype_bytes(dtype);
    if (dtype == KB_I64) {
        abs_i64(dst, src, n);
        return;
    }
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t part = n - at < BLOCK ? n - at : BLOCK;
        kb_tensor_widen(x, (const char *)src + at * size, part, dtype);
        for (size_t i = 0; i < part; i++)
            x[i] = fabs(x[i]);
        kb_tensor_narrow((char *)dst + at * size, x, part, dtype);
    }
}

size_t kb_tensor_denormals(const double *x, size_t n, enum kb_dtype dtype)
{
    double normal = kb_dtype_table[dtype].normal;
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += fabs(x[i]) < normal && fabs(x[i]) > 0;
    return found;
}
