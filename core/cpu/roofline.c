#include "roofline.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "clock.h"

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

DEFINE_PEAK(peak_f32, , float, 16, PLAIN)
DEFINE_PEAK(peak_f64, , double, 16, PLAIN)
DEFINE_READ(read_all, , 16)

struct isa {
    const char *name;
    size_t vector_bytes;
    double (*f32)(size_t rounds, double factor, double addend);
    double (*f64)(size_t rounds, double factor, double addend);
    uint64_t (*read)(const void *p, size_t n);
};

static const struct isa baseline = {
    "baseline", 16, peak_f32, peak_f64, read_all
};

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

DEFINE_PEAK(wide_f32, WIDE, float, 64, WIDE_F32)
DEFINE_PEAK(wide_f64, WIDE, double, 64, WIDE_F64)
DEFINE_READ(wide_read, WIDE, 64)
DEFINE_PEAK(half_f32, HALF, float, 32, HALF_F32)
DEFINE_PEAK(half_f64, HALF, double, 32, HALF_F64)
DEFINE_READ(half_read, HALF, 32)

static const struct isa wide = {
    "avx512f", 64, wide_f32, wide_f64, wide_read
};
static const struct isa half = {
    "avx2+fma", 32, half_f32, half_f64, half_read
};

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

static bool read_line(const char *path, char *line, int bytes)
{
    FILE *f = fopen(path, "r");
    if (!f)
        return false;
    bool ok = fgets(line, bytes, f) != NULL;
    fclose(f);
    return ok;
}

/* Size of cache index i of the first processor and its level; 0 at the end of
 * the list and for a cache of instructions. */
static size_t cache_of(int i, int *level)
{
    static const char dir[] = "/sys/devices/system/cpu/cpu0/cache/index";
    char path[96], line[32], unit = 0;
    size_t size = 0;
    *level = 0;
    snprintf(path, sizeof path, "%s%d/level", dir, i);
    if (!read_line(path, line, sizeof line) || sscanf(line, "%d", level) != 1)
        return 0;
    snprintf(path, sizeof path, "%s%d/type", dir, i);
    if (!read_line(path, line, sizeof line) || line[0] == 'I')
        return 0;
    snprintf(path, sizeof path, "%s%d/size", dir, i);
    if (!read_line(path, line, sizeof line)
        || sscanf(line, "%zu%c", &size, &unit) < 1)
        return 0;
    return unit == 'K' ? size << 10 : unit == 'M' ? size << 20 : size;
}

void kb_roofline_caches(size_t *l1d_bytes, size_t *l2_bytes, size_t *l3_bytes)
{
    size_t size[4] = { 0 };
    int level;
    for (int i = 0; i < 8; i++) {
        size_t bytes = cache_of(i, &level);
        if (bytes && level >= 1 && level <= 3)
            size[level] = bytes;
    }
    *l1d_bytes = size[1] ? size[1] : 32 << 10;
    *l2_bytes = size[2] ? size[2] : 512 << 10;
    *l3_bytes = size[3];
}

/* ---- measuring ----------------------------------------------------------- */

enum { RUNS = 15, PASSES = 7, ROUNDS = 40000, MAX_ISAS = 3 };
enum { PASS_BUDGET_NS = 50000000, TOUCH_BUDGET_NS = 100000000 };

static const size_t cached_run_bytes = 8 << 20;

struct bench {
    const struct isa *isa;
    char *buffer;
    size_t buffer_bytes;
    volatile uint64_t sink;     /* what the loops computed ends here */
};

static double per_second(double amount, int64_t from_ns)
{
    int64_t ns = kb_clock_own_ns() - from_ns;
    return amount * 1e9 / (double)(ns > 0 ? ns : 1);
}

/* The factor is so near to 1 and the addend so small that neither overflow nor
 * denormals come up, whose cost is another. */
static double peak(const struct isa *isa, size_t element,
                   double (*run)(size_t, double, double))
{
    double best = 0, lanes = (double)(isa->vector_bytes / element);
    volatile double factor = 0.999999, addend = 1e-6, sink;
    for (int i = 0; i < RUNS; i++) {
        int64_t from = kb_clock_own_ns();
        sink = run(ROUNDS, factor, addend);
        (void)sink;
        best = fmax(best, per_second(2 * lanes * CHAINS * ROUNDS, from));
    }
    return best;
}

/* The barrier keeps the compiler from folding the chain, and two registers keep
 * the processor from doing so. */
static double clock_rate(void)
{
    volatile uint64_t start = 1;
    uint64_t x = start, step = start;
    double best = 0;
    for (int i = 0; i < RUNS; i++) {
        int64_t from = kb_clock_own_ns();
        for (int k = 0; k < ROUNDS; k++) {
#define ADD x += step; __asm__ volatile("" : "+r"(x), "+r"(step));
            ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD
#undef ADD
        }
        best = fmax(best, per_second(16.0 * ROUNDS, from));
    }
    return best;
}

static double cached(struct bench *b, size_t cache_bytes)
{
    size_t line = LOADS * b->isa->vector_bytes;
    size_t bytes = cache_bytes / 2 / line * line;
    if (bytes > b->buffer_bytes)
        bytes = b->buffer_bytes;
    size_t passes = cached_run_bytes / bytes + 1;
    double best = 0;
    for (int i = 0; i < RUNS; i++) {
        int64_t from = kb_clock_own_ns();
        for (size_t k = 0; k < passes; k++)
            b->sink = b->isa->read(b->buffer, bytes);
        best = fmax(best, per_second((double)bytes * (double)passes, from));
    }
    return best;
}

static void read_once(struct bench *b)
{
    b->sink = b->isa->read(b->buffer, b->buffer_bytes);
}

static void copy_once(struct bench *b)
{
    size_t half_bytes = b->buffer_bytes / 2;
    memcpy(b->buffer + half_bytes, b->buffer, half_bytes);
    b->sink = (uint64_t)b->buffer[b->buffer_bytes - 1];
}

/* The best of several passes, fewer where memory is slow. Either pass touches
 * every byte of the buffer once. */
static double streamed(struct bench *b, void (*pass)(struct bench *))
{
    double best = 0;
    int64_t start = kb_clock_now_ns();
    for (int i = 0; i < PASSES; i++) {
        int64_t from = kb_clock_own_ns();
        pass(b);
        best = fmax(best, per_second((double)b->buffer_bytes, from));
        if (kb_clock_now_ns() - start > PASS_BUDGET_NS)
            break;
    }
    return best;
}

/* Writes the buffer once, so that its pages exist. A virtual machine may get
 * them from its host only now and slowly: past the budget half is enough. */
static void touch(struct bench *b)
{
    const size_t step = 4 << 20, enough = b->buffer_bytes / 2;
    int64_t start = kb_clock_now_ns();
    size_t done = 0;
    while (done < b->buffer_bytes) {
        if (done >= enough && kb_clock_now_ns() - start > TOUCH_BUDGET_NS)
            break;
        size_t part = b->buffer_bytes - done;
        part = part < step ? part : step;
        memset(b->buffer + done, 1, part);
        done += part;
    }
    b->buffer_bytes = done;
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
    struct bench b = { .isa = isa, .buffer = buffer, .buffer_bytes = bytes };
    touch(&b);
    r->dram_bytes_per_s = streamed(&b, read_once);
    r->dram_copy_bytes_per_s = streamed(&b, copy_once);
    r->l1_bytes_per_s = cached(&b, r->l1d_bytes);
    r->l2_bytes_per_s = cached(&b, r->l2_bytes);
    munmap(buffer, bytes);
    return KB_OK;
}

kb_status kb_roofline_measure(struct kb_roofline *out)
{
    struct kb_roofline r = { 0 };
    const struct isa *list[MAX_ISAS];
    size_t n = usable(list);
    kb_roofline_caches(&r.l1d_bytes, &r.l2_bytes, &r.l3_bytes);
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
    r.clock_hz = clock_rate();
    *out = r;
    return KB_OK;
}
