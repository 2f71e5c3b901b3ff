/* Counters of kernels whose counts are known, on a real GPU; what each set
 * costs. Skipped, with the reason, where there is no GPU or no counters. */
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cuda/counters/cupti.h"
#include "../lib/check_main.h"

#define DRIVER(X)                                                           \
    X(cuInit, cuInit, (unsigned))                                           \
    X(cuDeviceGet, cuDeviceGet, (int *, int))                               \
    X(cuDeviceGetAttribute, cuDeviceGetAttribute, (int *, int, int))        \
    X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (void **, int))   \
    X(cuCtxSetCurrent, cuCtxSetCurrent, (void *))                           \
    X(cuCtxSynchronize, cuCtxSynchronize, (void))                           \
    X(cuModuleLoadData, cuModuleLoadData, (void **, const void *))          \
    X(cuModuleGetFunction, cuModuleGetFunction,                             \
      (void **, void *, const char *))                                      \
    X(cuMemAlloc, cuMemAlloc_v2, (uint64_t *, size_t))                      \
    X(cuMemsetD8, cuMemsetD8_v2, (uint64_t, unsigned char, size_t))         \
    X(cuLaunchKernel, cuLaunchKernel,                                       \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,  \
       unsigned, void *, void **, void **))

enum { N = 1 << 26, L2_BYTES = 38 };    /* elements; a device attribute */

static struct {
#define X(name, symbol, args) int (*name) args;
    DRIVER(X)
#undef X
    void *context, *module, *saxpy;
    uint64_t x, y, flush;
    size_t flush_bytes;
    uint32_t stride;
    kb_cupti *c;
} g;

/* y[i] += 2 x[i * stride mod N], one thread an element. */
static const char ptx[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry saxpy(.param .u64 px, .param .u64 py, .param .u32 ps)\n"
    "{\n"
    ".reg .b32 %r<8>; .reg .b64 %d<8>; .reg .f32 %f<4>;\n"
    "ld.param.u64 %d1, [px]; ld.param.u64 %d2, [py]; ld.param.u32 %r1, [ps];\n"
    "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
    "mad.lo.u32 %r5, %r2, %r3, %r4;\n"
    "mul.lo.u32 %r6, %r5, %r1; and.b32 %r6, %r6, 67108863;\n"
    "mul.wide.u32 %d3, %r6, 4; add.u64 %d3, %d1, %d3;\n"
    "mul.wide.u32 %d4, %r5, 4; add.u64 %d4, %d2, %d4;\n"
    "ld.global.f32 %f1, [%d3]; ld.global.f32 %f2, [%d4];\n"
    "fma.rn.f32 %f3, %f1, 0f40000000, %f2; st.global.f32 [%d4], %f3;\n"
    "ret;\n}\n";

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int skip(const char *why)
{
    printf("cupti on a GPU: skipped: %s\n", why);
    return 0;
}

/* The context and its buffers; 0 when there is no GPU here. */
static int open_gpu(void)
{
    int device, l2_bytes = 0;
    void *lib = dlopen("libcuda.so.1", RTLD_NOW);
    if (!lib)
        return skip("no driver (libcuda.so.1)");
#define X(name, symbol, args)                                               \
    do {                                                                    \
        void *f = dlsym(lib, #symbol);                                      \
        ck_assert_msg(f != NULL, "the driver has no " #symbol);             \
        memcpy(&g.name, &f, sizeof f);                                      \
    } while (0);
    DRIVER(X)
#undef X
    if (g.cuInit(0) || g.cuDeviceGet(&device, 0))
        return skip("no device");
    ck_assert_int_eq(g.cuDevicePrimaryCtxRetain(&g.context, device), 0);
    ck_assert_int_eq(g.cuCtxSetCurrent(g.context), 0);
    ck_assert_int_eq(g.cuDeviceGetAttribute(&l2_bytes, L2_BYTES, device), 0);
    g.flush_bytes = 2 * (size_t)l2_bytes;
    ck_assert_int_eq(g.cuMemAlloc(&g.x, 4 * (size_t)N), 0);
    ck_assert_int_eq(g.cuMemAlloc(&g.y, 4 * (size_t)N), 0);
    ck_assert_int_eq(g.cuMemAlloc(&g.flush, g.flush_bytes), 0);
    ck_assert_int_eq(g.cuModuleLoadData(&g.module, ptx), 0);
    ck_assert_int_eq(g.cuModuleGetFunction(&g.saxpy, g.module, "saxpy"), 0);
    g.stride = 1;
    return 1;
}

static int open_counters(void)
{
    char why[KB_CUPTI_WHY] = "";
    if (!open_gpu())
        return 0;
    int64_t start = now_ns();
    kb_status st = kb_cupti_open(g.context, 0, NULL, &g.c, why, sizeof why);
    if (st == KB_ENODEV)
        return skip(why);
    ck_assert_msg(st == KB_OK, "%s: %s", kb_status_name(st), why);
    printf("cupti: opened in %.1f ms\n", (double)(now_ns() - start) * 1e-6);
    return 1;
}

static kb_status prepare(void)
{
    return g.cuMemsetD8(g.x, 0, 4 * (size_t)N)
           || g.cuMemsetD8(g.y, 0, 4 * (size_t)N)
           || g.cuMemsetD8(g.flush, 1, g.flush_bytes)
           || g.cuCtxSynchronize() ? KB_ECRASH : KB_OK;
}

static kb_status launch(void)
{
    void *params[] = { &g.x, &g.y, &g.stride };
    return g.cuLaunchKernel(g.saxpy, N / 256, 1, 1, 256, 1, 1, 0, NULL, params,
                            NULL)
           || g.cuCtxSynchronize() ? KB_ECRASH : KB_OK;
}

/* arg: NULL, or which of the two steps fails with ETIME. */
static kb_status replay(void *arg, bool counted)
{
    if (arg && *(const bool *)arg == counted)
        return KB_ETIME;
    return counted ? launch() : prepare();
}

static double value_of(const struct kb_cupti_set *set, const double *value,
                       const char *key)
{
    for (size_t i = 0; i < set->metrics; i++)
        if (!strcmp(set->metric[i].key, key))
            return value[i];
    ck_abort_msg("no metric %s in the set %s", key, set->name);
    return NAN;
}

static void collect(const struct kb_cupti_set *set, double *value)
{
    kb_status st = kb_cupti_collect(g.c, set, replay, NULL, value);
    ck_assert_msg(st == KB_OK, "set %s: %s: %s", set->name,
                  kb_status_name(st), kb_cupti_why(g.c));
}

static double collect_ms(const struct kb_cupti_set *set, double *value)
{
    int64_t start = now_ns();
    collect(set, value);
    return (double)(now_ns() - start) * 1e-6;
}

static void print_values(const struct kb_cupti_set *set, const double *value)
{
    for (size_t i = 0; i < set->metrics; i++)
        printf("  %-24s %.6g\n", set->metric[i].key, value[i]);
}

/* The flush is part of what a collection costs, and is told beside it. */
START_TEST(a_set_costs_its_passes)
{
    double value[KB_CUPTI_METRICS];
    if (!open_counters())
        return;
    prepare();
    int64_t start = now_ns();
    ck_assert_int_eq(prepare(), KB_OK);
    printf("cupti: prepare takes %.2f ms a pass\n",
           (double)(now_ns() - start) * 1e-6);
    const struct kb_cupti_set *const sets[] = { &kb_cupti_search,
                                                &kb_cupti_lean, &kb_cupti_full };
    for (size_t n = 0; n < 3; n++) {
        const struct kb_cupti_set *set = sets[n];
        double least = HUGE_VAL, first = collect_ms(set, value);
        for (int i = 0; i < 5; i++)
            least = fmin(least, collect_ms(set, value));
        printf("cupti: %-10s %2zu metrics %zu passes: first %.1f ms, then "
               "%.1f ms\n", set->name, set->metrics, set->passes, first, least);
        print_values(set, value);
    }
    kb_cupti_close(g.c);
}
END_TEST

START_TEST(a_saxpy_is_counted_right)
{
    double v[KB_CUPTI_METRICS];
    const struct kb_cupti_set *f = &kb_cupti_full;
    if (!open_counters())
        return;
    collect(f, v);
    double bytes = value_of(f, v, "dram_bytes"), least = 12.0 * N;
    printf("cupti: saxpy moves %.1f MB through DRAM, compulsory %.1f MB\n",
           bytes * 1e-6, least * 1e-6);
    ck_assert_double_gt(bytes, 0.85 * least);
    ck_assert_double_lt(bytes, 1.2 * least);
    ck_assert_double_eq(value_of(f, v, "f32_fma"), N);
    ck_assert_double_eq(value_of(f, v, "f64_fma"), 0);
    ck_assert_double_eq(value_of(f, v, "spill_loads"), 0);
    ck_assert_double_eq(value_of(f, v, "tensor_pct"), 0);
    ck_assert_double_eq_tol(value_of(f, v, "threads_per_instruction"), 32, .1);
    ck_assert_double_eq_tol(value_of(f, v, "load_sector_pct"), 100, 1);
    double ns = value_of(f, v, "time_ns");
    ck_assert_double_gt(ns, 12.0 * N / 20e12 * 1e9);
    double coalesced = value_of(f, v, "l2_sectors")
                     / value_of(f, v, "l2_requests") / 4;
    printf("cupti: saxpy %.1f us, %.0f GB/s, DRAM %.1f %%, sectors a request "
           "%.2f of 1\n", ns * 1e-3, bytes / ns, value_of(f, v, "dram_pct"),
           coalesced);
    ck_assert_double_gt(coalesced, 0.7);
    g.stride = 32;
    collect(f, v);
    coalesced = value_of(f, v, "l2_sectors") / value_of(f, v, "l2_requests")
              / 4;
    printf("cupti: x with a stride of 32: bytes used a sector %.1f %%, sectors "
           "a request %.2f of 1\n", value_of(f, v, "load_sector_pct"),
           coalesced);
    ck_assert_double_lt(value_of(f, v, "load_sector_pct"), 40);
    ck_assert_double_lt(coalesced, 0.5);
    kb_cupti_close(g.c);
}
END_TEST

static double launch_us(void)
{
    double least = HUGE_VAL;
    for (int i = 0; i < 20; i++) {
        int64_t start = now_ns();
        ck_assert_int_eq(launch(), KB_OK);
        least = fmin(least, (double)(now_ns() - start) * 1e-3);
    }
    return least;
}

START_TEST(launches_cost_the_same_beside_the_profiler)
{
    double v[KB_CUPTI_METRICS];
    if (!open_gpu())
        return;
    launch_us();
    double before = launch_us();
    char why[KB_CUPTI_WHY] = "";
    kb_status st = kb_cupti_open(g.context, 0, NULL, &g.c, why, sizeof why);
    if (st) {
        skip(why);
        return;
    }
    double opened = launch_us();
    collect(&kb_cupti_search, v);
    double used = launch_us();
    printf("cupti: a launch takes %.1f us before, %.1f opened, %.1f after a "
           "collection\n", before, opened, used);
    kb_cupti_close(g.c);
    ck_assert_double_lt(used, 1.5 * before);
}
END_TEST

START_TEST(what_one_profiler_found_out_opens_another)
{
    double first[KB_CUPTI_METRICS], again[KB_CUPTI_METRICS];
    char why[KB_CUPTI_WHY] = "";
    if (!open_counters())
        return;
    collect(&kb_cupti_search, first);
    struct kb_cupti_available known = kb_cupti_known(g.c);
    ck_assert_uint_gt(known.bytes, 0);
    void *image = malloc(known.bytes);
    ck_assert_ptr_nonnull(image);
    memcpy(image, known.image, known.bytes);
    known.image = image;
    kb_cupti_close(g.c);
    int64_t start = now_ns();
    kb_status st = kb_cupti_open(g.context, 0, &known, &g.c, why, sizeof why);
    ck_assert_msg(st == KB_OK, "%s: %s", kb_status_name(st), why);
    printf("cupti: %zu bytes of what is available known, opened in %.1f ms\n",
           known.bytes, (double)(now_ns() - start) * 1e-6);
    free(image);
    collect(&kb_cupti_search, again);
    ck_assert_double_eq(value_of(&kb_cupti_search, first, "instructions"),
                        value_of(&kb_cupti_search, again, "instructions"));
    ck_assert_double_gt(value_of(&kb_cupti_search, again, "dram_bytes"), 0);
    kb_cupti_close(g.c);
}
END_TEST

/* Holds the counters, where there are any, from the byte written until the one
 * read. */
static void hold_counters(int from, int to)
{
    double v[KB_CUPTI_METRICS];
    char held = (char)open_counters();
    if (held)
        collect(&kb_cupti_search, v);
    ck_assert_int_eq(write(to, &held, 1), 1);
    ck_assert_int_eq(read(from, &held, 1), 1);
    _exit(0);
}

START_TEST(counters_that_another_process_held_are_had_once_it_has_ended)
{
    double v[KB_CUPTI_METRICS];
    int go[2], ready[2];
    char held = 0;
    ck_assert_int_eq(pipe(go), 0);
    ck_assert_int_eq(pipe(ready), 0);
    pid_t other = fork();
    ck_assert_int_ge(other, 0);
    if (!other)
        hold_counters(go[0], ready[1]);
    ck_assert_int_eq(read(ready[0], &held, 1), 1);
    if (held) {
        ck_assert(open_counters());
        if (kb_cupti_collect(g.c, &kb_cupti_search, replay, NULL, v))
            ck_assert_ptr_nonnull(strstr(kb_cupti_why(g.c), "another profiler"));
    }
    ck_assert_int_eq(write(go[1], &held, 1), 1);
    ck_assert_int_eq(waitpid(other, NULL, 0), other);
    if (held) {
        collect(&kb_cupti_search, v);
        kb_cupti_close(g.c);
    }
}
END_TEST

START_TEST(a_callback_that_fails_ends_the_collection)
{
    double v[KB_CUPTI_METRICS] = { 7 };
    bool counted = false;
    if (!open_counters())
        return;
    ck_assert_int_eq(kb_cupti_collect(g.c, &kb_cupti_lean, replay, &counted,
                                      v), KB_ETIME);
    ck_assert_double_eq(v[0], 7);
    collect(&kb_cupti_lean, v);
    ck_assert_double_gt(v[0], 0);
    counted = true;
    ck_assert_int_eq(kb_cupti_collect(g.c, &kb_cupti_lean, replay, &counted,
                                      v), KB_ETIME);
    ck_assert_int_eq(kb_cupti_collect(g.c, &kb_cupti_lean, replay, NULL, v),
                     KB_ENODEV);
    ck_assert_uint_gt(strlen(kb_cupti_why(g.c)), 10);
    kb_cupti_close(g.c);
}
END_TEST

static Suite *tests(void)
{
    if (!dlopen("libcuda.so.1", RTLD_NOW)) {
        puts("cupti on a GPU: skipped: no driver (libcuda.so.1)");
        return NULL;
    }
    Suite *s = suite_create("cupti on a GPU");
    TCase *t = tcase_create("cupti");
    tcase_add_test(t, a_set_costs_its_passes);
    tcase_add_test(t, a_saxpy_is_counted_right);
    tcase_add_test(t, what_one_profiler_found_out_opens_another);
    tcase_add_test(t, launches_cost_the_same_beside_the_profiler);
    tcase_add_test(t, counters_that_another_process_held_are_had_once_it_has_ended);
    tcase_add_test(t, a_callback_that_fails_ends_the_collection);
    suite_add_tcase(s, t);
    return s;
}

TEST_MAIN(tests)
