// cuda/judge.h - is an element right? kb_tensor_compare's rules, for the kernel
// kit_compare. Its text stands before that of cuda/kit.cu, so NVRTC compiles it
// as CUDA; a test compiles it as C and holds it against tensor_compare.c.

typedef unsigned int u32;
typedef unsigned long long u64;

#ifndef DEVICE
#define DEVICE __device__
#endif

// enum kb_dtype of tensor.h, in its order.
enum { F64, F32, F16, BF16, I8, U8, I32, I64 };

// struct kb_bound of tensor.h.
struct bound { double u_out, u_acc, reduction, tiny; bool exact; };

// What a value is once it is rounded to a float dtype: the includer's.
DEVICE double rounded(double v, int dtype);

// The same for an integer dtype: it saturates.
DEVICE double whole(double v, int dtype)
{
    double least = dtype == I8 ? -0x1p7 : dtype == U8 ? 0
                 : dtype == I32 ? -0x1p31 : -0x1p63;
    double most = dtype == I8 ? 0x1p7 - 1 : dtype == U8 ? 0x1p8 - 1
                : dtype == I32 ? 0x1p31 - 1 : 0x1p63;
    return fmin(fmax(rint(v), least), most);
}

// Is v the double c it was rounded to? 2^63 is no long long, and a GPU would
// convert it to the largest one.
DEVICE int is_double(long long v, double c)
{
    return c < 0x1p63 && (long long)c == v;
}

DEVICE double limit_of(struct bound b, double r, double s)
{
    double k = fmin(8 * sqrt(b.reduction), b.reduction);
    return 4 * b.u_out * fabs(r) + k * b.u_acc * s + b.tiny;
}

// Element c against r; *mismatch: see nan_mismatch of struct kb_compare.
DEVICE int is_wrong(double c, double r, double limit, int dtype, int exact,
                    int *mismatch)
{
    *mismatch = 0;
    if (exact && isfinite(r))
        r = dtype >= I8 ? whole(r, dtype) : rounded(r, dtype);
    if (r != r || c != c) {
        *mismatch = (r != r) != (c != c);
        return *mismatch;
    }
    if (isinf(r) || isinf(c)) {
        if (c == r || (isinf(c) && !isinf(r) && !exact
                       && rounded(r + (c > 0 ? limit : -limit), dtype) == c))
            return 0;
        *mismatch = isinf(r) || !signbit(c) != !signbit(r);
        return 1;
    }
    return exact ? c != r : !(fabs(c - r) <= limit);
}

// How many limits an element is off. It is 0 where is_wrong() finds a mismatch.
DEVICE double excess_of(double c, double r, double limit, int dtype)
{
    const double no_end = 1.0 / 0.0;
    double over = dtype == F16 ? 0x1.ffep15 : dtype == F32 ? 0x1.ffffffp127
                : dtype == BF16 ? 0x1.ffp127 : no_end;
    double d = isfinite(c) ? fabs(c - r)
             : isinf(c) && !signbit(c) == !signbit(r) ? over - fabs(r) : 0;
    return !isfinite(r) || !(d > 0) ? 0 : limit > 0 ? d / limit : no_end;
}
