// The trusted kernels of the CUDA device: what core/measure/tensor.h does on
// the host, on arrays in device memory. Compiled by NVRTC when a device is
// opened, and cached. Each runs with any grid; the same arguments give the same
// contents.

// enum kb_fill of tensor.h, in its order. Types, dtypes and what is wrong are
// of cuda/judge.h, whose text stands before this one.
enum { NORMAL, WIDE, UNIFORM, LOGNORMAL, SPIKES, TIES, INTEGERS, DENORMAL };

#define EACH(i, n) (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; \
                    i < (n); i += (u64)gridDim.x * blockDim.x)

// The finaliser of SplitMix64.
__device__ u64 mix(u64 x)
{
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

__device__ double get(const void *p, int dtype, u64 i)
{
    float f;
    switch (dtype) {
    case F64: return ((const double *)p)[i];
    case F32: return ((const float *)p)[i];
    case F16:
        asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(((const unsigned short *)p)[i]));
        return f;
    case BF16: return __uint_as_float((u32)((const unsigned short *)p)[i] << 16);
    case I8:  return ((const signed char *)p)[i];
    case U8:  return ((const unsigned char *)p)[i];
    case I32: return ((const int *)p)[i];
    default:  return (double)((const long long *)p)[i];
    }
}

__device__ unsigned short to_bf16(float f)
{
    u32 u = __float_as_uint(f);
    if (f != f)
        return (unsigned short)(u >> 16 | 0x40);
    return (unsigned short)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

__device__ void put(void *p, int dtype, u64 i, double v)
{
    unsigned short h;
    switch (dtype) {
    case F64: ((double *)p)[i] = v; break;
    case F32: ((float *)p)[i] = (float)v; break;
    case F16:
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"((float)v));
        ((unsigned short *)p)[i] = h;
        break;
    case BF16: ((unsigned short *)p)[i] = to_bf16((float)v); break;
    case I8:  ((signed char *)p)[i] = (signed char)fmin(fmax(rint(v), -128.0), 127.0); break;
    case U8:  ((unsigned char *)p)[i] = (unsigned char)fmin(fabs(rint(v)), 255.0); break;
    case I32: ((int *)p)[i] = (int)rint(v); break;
    default:  ((long long *)p)[i] = (long long)rint(v); break;
    }
}

__device__ double uniform(u64 bits) { return (double)(bits >> 11) * 0x1p-53; }

__device__ double normal(u64 bits)      // Box & Muller 1958
{
    float u = ((float)(u32)(bits >> 40) + 0.5f) * 0x1p-24f;
    float v = (float)(u32)(bits & 0xffffff) * 0x1p-24f;
    return sqrtf(-2 * logf(u)) * cospif(2 * v);
}

// The distributions of tensor.h.
__device__ double draw(int fill, u64 seed, u64 i, int is_integer, double least)
{
    u64 a = mix(seed ^ mix(i)), b = mix(a);
    double z;
    switch (fill) {
    case UNIFORM: z = uniform(a); break;
    case WIDE: z = normal(a) * exp10f(6 * (float)uniform(b) - 3); break;
    case LOGNORMAL: z = exp(1.5 * normal(a)); break;
    case SPIKES: z = normal(a) * (b % 1000 == 0 ? 100 : 1); break;
    case TIES: {
        u64 block = mix(seed ^ mix(i >> 11));
        u64 run = mix(block ^ (i & 2047) >> block % 12);
        z = normal(mix(seed ^ (run & 3)));
        break;
    }
    case INTEGERS: return (double)(long long)(a % 17) - 8;
    case DENORMAL:
        if (is_integer)
            return (double)(long long)(a % 3) - 1;
        z = normal(a);
        if (b % 4 == 0)
            z = a & 1 ? -0.0 : 0.0;
        else if (b % 4 == 1)
            z = (a & 1 ? -least : least) * uniform(b);
        break;
    default: z = normal(a); break;
    }
    return is_integer ? 16 * z : z;
}

// below > 0: whole numbers in [0, below), for indices.
extern "C" __global__ void kit_fill(void *p, int dtype, u64 n, int fill, u64 seed, u64 below)
{
    double least = dtype == F64 ? 0x1p-1022 : dtype == F16 ? 0x1p-14 : 0x1p-126;
    for EACH(i, n)
        put(p, dtype, i, below ? (double)(mix(seed ^ mix(i)) % below)
                               : draw(fill, seed, i, dtype >= I8, least));
}

// The poison of element i: a quiet NaN with a payload, or random bits.
__device__ u64 poison_word(int dtype, u64 seed, u64 i)
{
    u64 r = mix(seed + i);
    switch (dtype) {
    case F64: return 0x7ff8000000000000ull | (r & 0x3fffffffffffcull) | 1;
    case F32: return 0x7fc00000u | (r & 0x3ffffc) | 1;
    case F16: return 0x7e00u | (r & 0x1fc) | 1;
    case BF16: return 0x7fc0u | (r & 0x3c) | 1;
    default: return r;
    }
}

__device__ int width(int dtype)
{
    return dtype == F64 || dtype == I64 ? 8 : dtype == F32 || dtype == I32 ? 4
         : dtype == F16 || dtype == BF16 ? 2 : 1;
}

extern "C" __global__ void kit_poison(void *p, int dtype, u64 n, u64 seed)
{
    int w = width(dtype);
    for EACH(i, n) {
        u64 word = poison_word(dtype, seed, i);
        if (w == 8) ((u64 *)p)[i] = word;
        else if (w == 4) ((u32 *)p)[i] = (u32)word;
        else if (w == 2) ((unsigned short *)p)[i] = (unsigned short)word;
        else ((unsigned char *)p)[i] = (unsigned char)word;
    }
}

__device__ int is_poison(const void *p, int dtype, u64 seed, u64 i)
{
    u64 word = poison_word(dtype, seed, i);
    switch (width(dtype)) {
    case 8: return ((const u64 *)p)[i] == word;
    case 4: return ((const u32 *)p)[i] == (u32)word;
    case 2: return ((const unsigned short *)p)[i] == (unsigned short)word;
    default: return ((const unsigned char *)p)[i] == (unsigned char)word;
    }
}

// What is not poison any more, of a red zone.
extern "C" __global__ void kit_guard_check(const void *p, int dtype, u64 n, u64 seed, u64 *damaged)
{
    for EACH(i, n)
        if (!is_poison(p, dtype, seed, i))
            atomicAdd(damaged, 1ull);
}

extern "C" __global__ void kit_abs(void *p, int dtype, u64 n)
{
    for EACH(i, n) {
        double v = get(p, dtype, i);
        if (v == v)
            put(p, dtype, i, fabs(v));
    }
}

extern "C" __global__ void kit_widen(double *to, const void *from, int dtype, u64 n)
{
    for EACH(i, n)
        to[i] = get(from, dtype, i);
}

struct plus { template <class T> __device__ T operator()(T a, T b) const { return a + b; } };
struct most { template <class T> __device__ T operator()(T a, T b) const { return a > b ? a : b; } };

// The values of a block's threads made one, in its first thread: an atomic a
// thread, all to one address, would take longer than reading a large array.
// block size a multiple of 32.
template <class T, class Join> __device__ T of_block(T v, Join join)
{
    __shared__ T part[32];
    for (int d = 16; d; d >>= 1)
        v = join(v, __shfl_down_sync(~0u, v, d));
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int i = 1; i < blockDim.x / 32; i++)
            v = join(v, part[i]);
    return v;
}

// A sum of hashes of words and places: any order gives the same.
extern "C" __global__ void kit_digest(const unsigned char *p, u64 bytes, u64 *digest)
{
    u64 sum = 0;
    for EACH(i, bytes / 8)
        sum += mix(((const u64 *)p)[i] ^ mix(i));
    if (blockIdx.x == 0 && threadIdx.x == 0)
        for (u64 i = bytes / 8 * 8; i < bytes; i++)
            sum += mix(p[i] ^ mix(~i));
    sum = of_block(sum, plus());
    if (threadIdx.x == 0)
        atomicAdd(digest, sum);
}

// struct kb_compare. The host works out got, want and limit; max_excess is the
// bits of a double that is not negative, which order as it does.
struct comparison {
    u64 n, bad, nan_mismatch, poison_left, first_bad;
    double got, want, limit;
    u64 max_excess;
    double err_ss, ref_ss;
};

__device__ double rounded(double v, int dtype)
{
    u64 room;
    put(&room, dtype, 0, v);
    return get(&room, dtype, 0);
}

// scale may be 0: then s = |r|. block size a multiple of 32.
extern "C" __global__ void kit_compare(const void *got, int dtype, const double *want,
                                       const double *scale, u64 n, bound b, u64 seed,
                                       comparison *out)
{
    double err = 0, ref = 0, worst = 0;
    for EACH(i, n) {
        double c = get(got, dtype, i), r = want[i], s = fabs(r);
        if (scale && isfinite(scale[i]))
            s = fmax(s, fabs(scale[i]));
        double limit = limit_of(b, r, s);
        int mismatch, wrong = is_wrong(c, r, limit, dtype, b.exact, &mismatch)
                           || (dtype == I64 && !is_double(((const long long *)got)[i], c));
        int left = (wrong || c != c) && is_poison(got, dtype, seed, i);
        if (wrong || left) {
            atomicAdd(&out->bad, 1ull);
            atomicMin(&out->first_bad, i);
            if (mismatch)
                atomicAdd(&out->nan_mismatch, 1ull);
            if (left)
                atomicAdd(&out->poison_left, 1ull);
        }
        if (isfinite(c) && isfinite(r)) {
            double d = c - r;
            err += d * d;
            ref += r * r;
        }
        worst = fmax(worst, excess_of(c, r, limit, dtype));
    }
    err = of_block(err, plus());
    ref = of_block(ref, plus());
    worst = of_block(worst, most());
    if (threadIdx.x == 0) {
        atomicMax(&out->max_excess, (u64)__double_as_longlong(worst));
        atomicAdd(&out->err_ss, err);
        atomicAdd(&out->ref_ss, ref);
    }
}

// Reads everything, so that it takes the place of what was in the cache.
extern "C" __global__ void kit_read(const uint4 *p, u64 n, u32 *sink)
{
    u32 x = 0;
    for EACH(i, n) {
        uint4 v = p[i];
        x ^= v.x ^ v.y ^ v.z ^ v.w;
    }
    if (x == 0x9e3779b9)
        *sink = x;
}

extern "C" __global__ void kit_copy(uint4 *to, const uint4 *from, u64 n)
{
    for EACH(i, n)
        to[i] = from[i];
}

// 8 independent chains of fused multiply-adds a thread: 16 * rounds flops.
extern "C" __global__ void kit_fma32(float *sink, int rounds, float a, float b)
{
    float x[8];
    for (int j = 0; j < 8; j++)
        x[j] = (float)(threadIdx.x + j);
    for (int i = 0; i < rounds; i++)
#pragma unroll
        for (int j = 0; j < 8; j++)
            x[j] = fmaf(x[j], a, b);
    float sum = 0;
    for (int j = 0; j < 8; j++)
        sum += x[j];
    if (sum == 12345.678f)
        *sink = sum;
}

// bf16 tensor cores by mma.sync: 8 * 4096 flops a warp and round.
extern "C" __global__ void kit_mma_bf16(float *sink, int rounds, u32 seed)
{
#if __CUDA_ARCH__ >= 800
    float d[8][4] = {};
    u32 a[4] = { seed, seed, seed, seed }, b[2] = { seed, seed };
    for (int i = 0; i < rounds; i++)
#pragma unroll
        for (int j = 0; j < 8; j++)
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                         "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                         : "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3])
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    float sum = 0;
    for (int j = 0; j < 8; j++)
        sum += d[j][0];
    if (sum == 12345.678f)
        *sink = sum;
#endif
}
