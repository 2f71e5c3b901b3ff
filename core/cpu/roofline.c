#include "roofline.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "clock.h"
#include "cpu.h"

/* ---- the inner loops -----------------------------------------------------
 *
 * Written out and in named variables, so that they stay in registers in a
 * debug build too. Twelve chains cover a latency of 4 to 6 cycles at two
 * operations a cycle and leave registers for the two factors. */
enum { CHAINS = 12, LOADS = 8 };

#define EACH_CHAIN(X) \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)

/* factor and addend are known at run time only, and the sum is handed back: no
 * part of the work can be left out. */
#define DEFINE_PEAK(name, target, scalar, bytes, multiply_add)              \
    target static double name(size_t rounds, double factor, double addend)  \
    {                                                                       \
        typedef scalar vec __attribute__((vector_size(bytes)));             \
        vec f = (vec){ 0 } + (scalar)factor, sum = { 0 };                   \
        vec c = (vec){ 0 } + (scalar)addend;                                \
        EACH_CHAIN(START)                                                   \
        for (size_t i = 0; i < rounds; i++) {                               \
            EACH_CHAIN(multiply_add)                                        \
        }                                                                   \
        EACH_CHAIN(ADD_UP)                                                  \
        double total = 0;                                                   \
        for (size_t i = 0; i < (bytes) / sizeof(scalar); i++)               \
            total += (double)sum[i];                                        \
        return total;                                                       \
    }
#define START(k) vec a##k = c * (k + 1);
#define ADD_UP(k) sum += a##k;
#define PLAIN(k) a##k = a##k * f + c;

/* bytes is a multiple of LOADS vectors, p aligned to one. */
#define DEFINE_READ(name, target, bytes)                                    \
    target static uint64_t name(const void *p, size_t n)                    \
    {                                                                       \
        typedef uint64_t vec __attribute__((vector_size(bytes)));           \
        vec a0 = { 0 }, a1 = a0, a2 = a0, a3 = a0;                          \
        const vec *v = p, *end = v + n / sizeof *v;                         \
        for (; v < end; v += LOADS) {                                       \
            a0 += v[0]; a1 += v[1]; a2 += v[2]; a3 += v[3];                 \
            a0 += v[4]; a1 += v[5]; a2 += v[6]; a3 += v[7];                 \
        }                                                                   \
        a0 += a1 + (a2 + a3);                                               \
        uint64_t total = 0;                                                 \
        for (size_t i = 0; i < (bytes) / 8; i++)                            \
            total += a0[i];                                                 \
        return total;                                                       \
    }

struct isa {
    const char *name;
    size_t vector_bytes;
    double (*f32)(size_t rounds, double factor, double addend);
    double (*f64)(size_t rounds, double factor, double addend);
    uint64_t (*read)(const void *p, size_t n);
};

#define DEFINE_ISA(id, name, target, bytes, multiply_add_f32,               \
                   multiply_add_f64)                                        \
    DEFINE_PEAK(id##_f32, target, float, bytes, multiply_add_f32)           \
    DEFINE_PEAK(id##_f64, target, double, bytes, multiply_add_f64)          \
    DEFINE_READ(id##_read, target, bytes)                                   \
    static const struct isa id = { name, bytes, id##_f32, id##_f64,         \
                                   id##_read };

DEFINE_ISA(baseline, "baseline", , 16, PLAIN, PLAIN)

#if defined __x86_64__
#include <immintrin.h>

#define WIDE __attribute__((target("avx512f")))
#define WIDE_F32(k) a##k = (vec)_mm512_fmadd_ps((__m512)a##k, (__m512)f, \
                                                (__m512)c);
#define WIDE_F64(k) a##k = (vec)_mm512_fmadd_pd((__m512d)a##k, (__m512d)f, \
                                                (__m512d)c);
#define HALF __attribute__((target("avx2,fma")))
#define HALF_F32(k) a##k = (vec)_mm256_fmadd_ps((__m256)a##k, (__m256)f, \
                                                (__m256)c);
#define HALF_F64(k) a##k = (vec)_mm256_fmadd_pd((__m256d)a##k, (__m256d)f, \
                                                (__m256d)c);

DEFINE_ISA(wide, "avx512f", WIDE, 64, WIDE_F32, WIDE_F64)
DEFINE_ISA(half, "avx2+fma", HALF, 32, HALF_F32, HALF_F64)

/* What this processor, and its system, can run; returns how many. */
static size_t usable(const struct isa **list)
{
    size_t n = 0;
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f"))
        list[n++] = &wide;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        list[n++] = &half;
    list[n++] = &baseline;
    return n;
}
#else
static size_t usable(const struct isa **list)
{
    list[0] = &baseline;
    return 1;
}
#endif

/* ---- caches -------------------------------------------------------------- */

/* Reads a file of cache i of the first processor; how many were found. */
static int scan_cache(int i, const char *file, const char *format, void *first,
                      void *second)
{
    char path[96];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s",
             i, file);
    FILE *f = fopen(path, "r");
    int found = f ? fscanf(f, format, first, second) : 0;
    if (f)
        fclose(f);
    return found;
}

/* From sysfs; 32 KiB, 512 KiB and 0 where it has none. */
static void cache_sizes(struct kb_roofline *r)
{
    size_t size[4] = { 0 };
    for (int i = 0; i < 8; i++) {
        int level = 0;
        char type = 'I', unit = 0;
        size_t n = 0;
        if (scan_cache(i, "level", "%d", &level, NULL) == 1
            && scan_cache(i, "type", "%c", &type, NULL) == 1 && type != 'I'
            && scan_cache(i, "size", "%zu%c", &n, &unit) >= 1
            && level >= 1 && level <= 3)
            size[level] = n << (unit == 'K' ? 10 : unit == 'M' ? 20 : 0);
    }
    r->l1d_bytes = size[1] ? size[1] : 32 << 10;
    r->l2_bytes = size[2] ? size[2] : 512 << 10;
    r->l3_bytes = size[3];
}

/* ---- measuring ----------------------------------------------------------- */

enum { RUNS = 15, LEAST_RUNS = 3, ROUNDS = 40000, MAX_ISAS = 3 };
enum { RUN_BUDGET_NS = 50000000, TOUCH_BUDGET_NS = 100000000 };

static const size_t cached_run_bytes = 8 << 20;

struct bench {
    const struct isa *isa;
    double (*peak)(size_t rounds, double factor, double addend);
    char *buffer;
    size_t bytes, passes;
    volatile double sum;        /* what the loops computed ends in these two */
    volatile uint64_t sink;
};

/* The best of several runs, fewer where they are slow; amount a second. */
static double best_rate(struct bench *b, void (*run)(struct bench *),
                        double amount)
{
    double best = 0;
    int64_t start = kb_clock_now_ns();
    for (int i = 0; i < RUNS; i++) {
        if (i >= LEAST_RUNS && kb_clock_now_ns() - start > RUN_BUDGET_NS)
            break;
        int64_t from = kb_clock_own_ns();
        run(b);
        int64_t ns = kb_clock_own_ns() - from;
        best = fmax(best, amount * 1e9 / (double)(ns > 0 ? ns : 1));
    }
    return best;
}

/* The factor is so near to 1 and the addend so small that neither overflow nor
 * denormals come up, whose cost is another. */
static void run_peak(struct bench *b)
{
    volatile double factor = 0.999999, addend = 1e-6;
    b->sum = b->peak(ROUNDS, factor, addend);
}

static double peak(const struct isa *isa, size_t element,
                   double (*run)(size_t, double, double))
{
    struct bench b = { .isa = isa, .peak = run };
    double lanes = (double)(isa->vector_bytes / element);
    return best_rate(&b, run_peak, 2 * lanes * CHAINS * ROUNDS);
}

/* The barrier keeps the compiler from folding the chain, and two registers keep
 * the processor from doing so. */
static void run_clock(struct bench *b)
{
    volatile uint64_t start = 1;
    uint64_t x = start, step = start;
    for (int k = 0; k < ROUNDS; k++) {
#define ADD x += step; __asm__ volatile("" : "+r"(x), "+r"(step));
        ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD
#undef ADD
    }
    b->sink = x;
}

static void run_read(struct bench *b)
{
    for (size_t k = 0; k < b->passes; k++)
        b->sink = b->isa->read(b->buffer, b->bytes);
}

static void run_copy(struct bench *b)
{
    size_t half_bytes = b->bytes / 2;
    memcpy(b->buffer + half_bytes, b->buffer, half_bytes);
    b->sink = (uint64_t)b->buffer[b->bytes - 1];
}

/* Loads from half of a cache, again and again. */
static double cached(const struct bench *whole, size_t cache_bytes)
{
    struct bench b = *whole;
    size_t line = LOADS * b.isa->vector_bytes;
    size_t bytes = cache_bytes / 2 / line * line;
    b.bytes = bytes < b.bytes ? bytes : b.bytes;
    b.passes = cached_run_bytes / b.bytes + 1;
    return best_rate(&b, run_read, (double)b.bytes * (double)b.passes);
}

/* Writes the buffer once, so that its pages exist. A virtual machine may get
 * them from its host only now and slowly: past the budget half is enough. */
static void touch(struct bench *b)
{
    const size_t step = 4 << 20, enough = b->bytes / 2;
    int64_t start = kb_clock_now_ns();
    size_t done = 0;
    while (done < b->bytes) {
        if (done >= enough && kb_clock_now_ns() - start > TOUCH_BUDGET_NS)
            break;
        size_t part = b->bytes - done;
        part = part < step ? part : step;
        memset(b->buffer + done, 1, part);
        done += part;
    }
    b->bytes = done;
}

static size_t buffer_size(size_t l2_bytes, size_t l3_bytes)
{
    const size_t least = 64 << 20, most = 256 << 20;
    size_t last = l3_bytes > l2_bytes ? l3_bytes : l2_bytes;
    if (last >= most / 4)
        return most;
    return 4 * last < least ? least : 4 * last / 4096 * 4096;
}

static kb_status memory_roofs(const struct isa *isa, struct kb_roofline *r)
{
    size_t bytes = buffer_size(r->l2_bytes, r->l3_bytes);
    char *buffer = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (buffer == MAP_FAILED)
        return KB_ENOMEM;
    madvise(buffer, bytes, MADV_HUGEPAGE);
    struct bench b = { .isa = isa, .buffer = buffer, .bytes = bytes,
                       .passes = 1 };
    touch(&b);
    r->dram_bytes_per_s = best_rate(&b, run_read, (double)b.bytes);
    r->dram_copy_bytes_per_s = best_rate(&b, run_copy, (double)b.bytes);
    r->l1_bytes_per_s = cached(&b, r->l1d_bytes);
    r->l2_bytes_per_s = cached(&b, r->l2_bytes);
    munmap(buffer, bytes);
    return KB_OK;
}

kb_status kb_cpu_roofline(kb_device *d, struct kb_roofline *out)
{
    size_t widest = kb_cpu_vector_bytes((const cpu_device *)d);
    struct kb_roofline r = { 0 };
    const struct isa *all[MAX_ISAS], **list = all;
    size_t n = usable(list);
    for (; n > 1 && list[0]->vector_bytes > widest; n--)
        list++;
    cache_sizes(&r);
    kb_status st = memory_roofs(list[0], &r);
    if (st)
        return st;
    for (size_t i = 0; i < n; i++) {
        double f32 = peak(list[i], sizeof(float), list[i]->f32);
        double f64 = peak(list[i], sizeof(double), list[i]->f64);
        if (f32 > r.f32_flops_per_s) {
            r.isa = list[i]->name;
            r.vector_bytes = list[i]->vector_bytes;
        }
        r.f32_flops_per_s = fmax(r.f32_flops_per_s, f32);
        r.f64_flops_per_s = fmax(r.f64_flops_per_s, f64);
    }
    r.clock_hz = best_rate(&(struct bench){ 0 }, run_clock, 16.0 * ROUNDS);
    *out = r;
    return KB_OK;
}
