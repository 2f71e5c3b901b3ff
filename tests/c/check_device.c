/* This file tests the CPU device (core/device.c and core/cpu). It checks that
 * kernels are built, run and timed correctly, that buffers are isolated, and
 * that hostile kernels are stopped and reported. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "device.h"
#include "system/jail.h"
#include "../lib/check_main.h"

static const int64_t ms = 1000000, second = 1000000000;

static char exe[4096];
static kb_device *device;
static kb_object *zone_object, *death_object;   /* x[0] chooses a misdeed */

/* build/MODE/tests/check_device -> build/MODE/kernelband, where kernels run */
static bool find_exe(void)
{
    char self[3000];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0)
        return false;
    self[n] = '\0';
    snprintf(exe, sizeof exe, "%s/../kernelband", dirname(self));
    return access(exe, X_OK) == 0;
}

static void open_device(void)
{
    const char *why = "?";
    signal(SIGPIPE, SIG_IGN);
    device = NULL;
    kb_status st = kb_device_open("cpu", exe, &device, &why);
    ck_assert_msg(st == KB_OK, "%s: %s", kb_status_name(st), why);
}

static void poison(kb_buffers *b, uint64_t seed)
{
    ck_assert_int_eq(kb_buffers_poison(b, seed), KB_OK);
}

static int damaged(kb_buffers *b, size_t *slot)
{
    int arg = -1;
    ck_assert_int_eq(b->ops->damaged(b, &arg, slot), KB_OK);
    return arg;
}

static void close_device(void)
{
    kb_device_close(device);
}

/* y = 2 x + 1 and its arguments: float x[n], float y[n], int n. */
#define AXPY(body) "void axpy(const float *x, float *y, int n) {" body "}"
#define LOOP "for (int i = 0; i < n; i++) y[i] = 2 * x[i] + 1;"

static void axpy_args(struct kb_arg arg[3], uint64_t n)
{
    memset(arg, 0, 3 * sizeof *arg);
    arg[0] = (struct kb_arg){ .mode = KB_IN, .dtype = KB_F32, .count = n };
    arg[1] = (struct kb_arg){ .mode = KB_OUT, .dtype = KB_F32, .count = n };
    arg[2] = (struct kb_arg){ .mode = KB_SCALAR, .dtype = KB_I32,
                              .integer = (int64_t)n };
}

static kb_status try_build(const char *source, const char *entry,
                           const struct kb_arg *arg, size_t args, char *log,
                           size_t cap, kb_object **out)
{
    struct kb_build b = { .source = source, .entry = entry, .arg = arg,
                          .args = args, .timeout_ns = 20 * second };
    return kb_device_build(device, &b, log, cap, out);
}

static kb_object *build(const char *source, const char *entry,
                        const struct kb_arg *arg, size_t args)
{
    char log[2000];
    kb_object *o = NULL;
    kb_status st = try_build(source, entry, arg, args, log, sizeof log, &o);
    ck_assert_msg(st == KB_OK, "%s: %s", kb_status_name(st), log);
    return o;
}

static kb_object *build_axpy(const char *source)
{
    struct kb_arg arg[3];
    axpy_args(arg, 1);
    return build(source, "axpy", arg, 3);
}

static kb_buffers *axpy_buffers(uint64_t n, size_t slots)
{
    struct kb_arg arg[3];
    kb_buffers *b = NULL;
    axpy_args(arg, n);
    ck_assert_int_eq(kb_buffers_new(device, arg, 3, slots, &b), KB_OK);
    for (size_t slot = 0; slot < slots; slot++) {
        float *x = kb_buffers_at(b, 0, slot);
        for (uint64_t i = 0; i < n; i++)
            x[i] = (float)i;
    }
    return b;
}

static kb_program *load(const kb_object *o, kb_buffers *b)
{
    char why[KB_DEVICE_WHY] = "";
    kb_program *p = NULL;
    kb_status st = kb_program_start(device, o, b, NULL, &p, why, sizeof why);
    ck_assert_msg(st == KB_OK, "%s: %s", kb_status_name(st), why);
    return p;
}

static void launch(kb_program *p, uint64_t iterations)
{
    int64_t ns = -1;
    kb_status st = p->ops->launch(p, iterations, 2 * second, &ns);
    ck_assert_msg(st == KB_OK, "%s: %s", kb_status_name(st),
                  p->why);
    ck_assert_int_gt(ns, 0);
}

static void expect_axpy(kb_buffers *b, size_t slot, uint64_t n)
{
    const float *y = kb_buffers_at(b, 1, slot);
    for (uint64_t i = 0; i < n; i++)
        ck_assert_msg(y[i] == 2 * (float)i + 1, "slot %zu y[%zu] = %g", slot,
                      (size_t)i, (double)y[i]);
}

/* Results --------------------------------------------------------------- */

START_TEST(a_kernel_computes_and_slots_rotate)
{
    static const uint64_t sizes[] = { 1, 15, 16, 17, 1024, 5000 };
    kb_object *o = build_axpy(AXPY(LOOP));
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        size_t slot;
        kb_buffers *b = axpy_buffers(sizes[k], 3);
        kb_program *p = load(o, b);
        poison(b, 7);
        launch(p, 2);
        expect_axpy(b, 0, sizes[k]);
        expect_axpy(b, 1, sizes[k]);
        ck_assert(kb_tensor_is_poison(kb_buffers_at(b, 1, 2), KB_F32, 0, 7));
        launch(p, 4);                       /* each launch begins at slot 0 */
        expect_axpy(b, 2, sizes[k]);
        ck_assert_int_eq(damaged(b, &slot), -1);
        kb_program_stop(p);
        kb_buffers_free(b);
    }
    kb_object_free(o);
}
END_TEST

START_TEST(each_slot_has_inputs_of_its_own)
{
    kb_object *o = build_axpy(AXPY(LOOP));
    kb_buffers *b = axpy_buffers(64, 3);
    kb_program *p = load(o, b);
    for (size_t slot = 0; slot < 3; slot++)
        for (int i = 0; i < 64; i++)
            ((float *)kb_buffers_at(b, 0, slot))[i] = (float)slot;
    poison(b, 1);
    launch(p, 3);
    for (size_t slot = 0; slot < 3; slot++)
        ck_assert_float_eq(((float *)kb_buffers_at(b, 1, slot))[63],
                           2 * (float)slot + 1);
    kb_program_stop(p);
    kb_buffers_free(b);
    kb_object_free(o);
}
END_TEST

START_TEST(an_element_becomes_what_another_is_in_its_slot_alone)
{
    kb_buffers *b = axpy_buffers(64, 2);
    for (size_t slot = 0; slot < 2; slot++)
        for (int i = 0; i < 64; i++)
            ((float *)kb_buffers_at(b, 0, slot))[i] = (float)i;
    ck_assert_int_eq(b->ops->copy(b, 0, 1, 5, b, 1, 63), KB_OK);
    ck_assert_float_eq(((float *)kb_buffers_at(b, 0, 0))[5], 5);
    ck_assert_float_eq(((float *)kb_buffers_at(b, 0, 1))[5], 63);
    ck_assert_float_eq(((float *)kb_buffers_at(b, 0, 1))[63], 63);
    kb_buffers_free(b);
}
END_TEST

START_TEST(slots_that_are_not_in_use_keep_what_they_hold)
{
    kb_buffers *b = axpy_buffers(64, 3);
    poison(b, 1);
    kb_buffers_use(b, 2, 0);
    poison(b, 2);
    ck_assert(kb_tensor_is_poison(kb_buffers_at(b, 1, 1), KB_F32, 0, 2));
    ck_assert(kb_tensor_is_poison(kb_buffers_at(b, 1, 2), KB_F32, 0, 1));
    kb_buffers_use(b, 100, 0);
    poison(b, 3);
    ck_assert(kb_tensor_is_poison(kb_buffers_at(b, 1, 2), KB_F32, 0, 3));
    kb_buffers_free(b);
}
END_TEST

/* The first three slots, or the last, the first and the second. */
START_TEST(a_renewed_program_dies_of_slots_that_are_not_in_use)
{
    enum { N = 2048 };
    static const char *const uses[] = { AXPY("if (x[n - 1] < 0) y[0] = 1;"),
                                        AXPY("(void)x; y[n - 1] = 1;") };
    kb_object *o = build_axpy(uses[_i / 2]);
    kb_buffers *b = axpy_buffers(N, 5);
    kb_buffers_use(b, 3, _i % 2 ? 4 : 0);
    for (uint64_t launches = 3; launches <= 4; launches++) {
        int64_t ns;
        kb_program *p = load(o, b);
        ck_assert_int_eq(p->ops->renew(p), KB_OK);
        kb_status st = p->ops->launch(p, launches, 2 * second, &ns);
        ck_assert_int_eq(st, launches == 3 ? KB_OK : KB_ECRASH);
        ck_assert(launches == 3 || strstr(p->why, "Segmentation fault"));
        kb_program_stop(p);
    }
    kb_buffers_free(b);
    kb_object_free(o);
}
END_TEST

START_TEST(a_renewed_program_dies_of_the_slot_before_its_own)
{
    static const char *const uses[] = { AXPY("y[0] = x[-2000]; (void)n;"),
                                        AXPY("(void)x; (void)n; y[-2000] = 1;") };
    kb_object *o = build_axpy(uses[_i]);
    kb_buffers *b = axpy_buffers(2048, 5);
    int64_t ns;
    kb_program *p = load(o, b);
    kb_buffers_use(b, 2, 2);
    launch(p, 1);                       /* as it is, it has them all */
    ck_assert_int_eq(p->ops->renew(p), KB_OK);
    ck_assert_int_eq(p->ops->launch(p, 1, 2 * second, &ns), KB_ECRASH);
    kb_program_stop(p);
    kb_buffers_free(b);
    kb_object_free(o);
}
END_TEST

START_TEST(a_renewed_program_remembers_nothing)
{
    kb_object *o = build_axpy("static int calls;\n" AXPY(
        "for (int i = 0; i < n; i++) y[i] = x[i] + calls; calls++;"));
    kb_buffers *b = axpy_buffers(64, 1);
    kb_program *p = load(o, b);
    const float *y = kb_buffers_at(b, 1, 0);
    for (int k = 0; k < 6; k++) {
        if (k > 2)
            ck_assert_int_eq(p->ops->renew(p), KB_OK);
        launch(p, 1);
        ck_assert_float_eq(y[5], k > 2 ? 5 : 5 + (float)k);
    }
    launch(p, 1);                       /* nor what came before it was renewed */
    launch(p, 1);
    ck_assert_float_eq(y[5], 6);
    kb_program_stop(p);
    kb_buffers_free(b);
    kb_object_free(o);
}
END_TEST

/* An element of the slot after it, which is not in use, on the same page. */
START_TEST(a_renewed_program_finds_nothing_in_a_neighbour)
{
    enum { N = 64, STRIDE = 80 };
    kb_object *o = build_axpy(AXPY(
        "(void)x; (void)n; y[0] = y[80]; y[80] = 5;"));
    kb_buffers *b = axpy_buffers(N, 3);
    kb_program *p = load(o, b);
    kb_buffers_use(b, 1, (size_t)_i);
    for (uint64_t k = 1; k <= 2; k++) {
        ck_assert_int_eq(p->ops->renew(p), KB_OK);
        poison(b, k);
        launch(p, 1);
        ck_assert_float_ne(((float *)kb_buffers_at(b, 1, 0))[0], 5);
        ck_assert_float_eq(((float *)kb_buffers_at(b, 1, 1))[0], 5);
    }
    kb_program_stop(p);
    kb_buffers_free(b);
    kb_object_free(o);
}
END_TEST

/* The first element of the slot after it and the last of the one before: arrays
 * that are longer than a page, of which a part is on a page with the one in use. */
START_TEST(a_renewed_program_finds_nothing_in_long_neighbours)
{
    enum { N = 1500, STRIDE = 1520 };
    kb_object *o = build_axpy(AXPY(
        "(void)x; (void)n; y[0] = y[1520]; y[1] = y[-21];"
        "y[1520] = 5; y[-21] = 5;"));
    kb_buffers *b = axpy_buffers(N, 3);
    kb_program *p = load(o, b);
    kb_buffers_use(b, 1, 1);
    float *y = kb_buffers_at(b, 1, 0);
    ck_assert_ptr_eq(kb_buffers_at(b, 1, 1), y + STRIDE);
    ck_assert_ptr_eq(kb_buffers_at(b, 1, 2), y - STRIDE);
    for (uint64_t k = 1; k <= 2; k++) {
        ck_assert_int_eq(p->ops->renew(p), KB_OK);
        poison(b, k);
        launch(p, 1);
        ck_assert_float_ne(y[0], 5);
        ck_assert_float_ne(y[1], 5);
        ck_assert_float_eq(y[STRIDE], 5);
        ck_assert_float_eq(y[N - STRIDE - 1], 5);
    }
    kb_program_stop(p);
    kb_buffers_free(b);
    kb_object_free(o);
}
END_TEST

START_TEST(stirring_changes_the_inputs_of_a_slot_as_its_seed_says)
{
    kb_buffers *b = axpy_buffers(4096, 2), *c = axpy_buffers(4096, 2);
    kb_buffers *pool = axpy_buffers(64, 3);
    for (int i = 0; i < 64; i++)
        ((float *)kb_buffers_at(pool, 0, 2))[i] = (float)(-1 - i);
    ck_assert_int_eq(kb_buffers_stir(b, 1, pool, 2, true, 7), KB_OK);
    ck_assert_int_eq(kb_buffers_stir(c, 1, pool, 2, true, 7), KB_OK);
    const float *x = kb_buffers_at(b, 0, 1);
    int moved = 0, drawn = 0;
    for (int i = 0; i < 4096; i++) {
        moved += x[i] != (float)i;
        drawn += x[i] < 0;
        ck_assert_float_eq(((float *)kb_buffers_at(b, 0, 0))[i], (float)i);
    }
    ck_assert_mem_eq(x, kb_buffers_at(c, 0, 1), 4096 * sizeof *x);
    ck_assert_int_ge(moved, 4000);              /* it is turned */
    ck_assert_int_eq(drawn, 4096 / 32);
    ck_assert_int_eq(kb_buffers_stir(b, 2, pool, 2, true, 7), KB_EINVAL);
    ck_assert_int_eq(kb_buffers_stir(b, 1, pool, 3, true, 7), KB_EINVAL);
    kb_buffers_free(b);
    kb_buffers_free(c);
    kb_buffers_free(pool);
}
END_TEST

START_TEST(stirring_a_small_array_for_long_leaves_it_as_varied_as_the_pool)
{
    enum { N = 8 };
    kb_buffers *b = axpy_buffers(N, 1), *pool = axpy_buffers(4096, 1);
    const float *x = kb_buffers_at(b, 0, 0);
    int alike = 0, new_ones = 0;
    for (uint64_t k = 0; k < 2000; k++)
        ck_assert_int_eq(kb_buffers_stir(b, 0, pool, 0, true, k), KB_OK);
    for (int i = 0; i < N; i++) {
        new_ones += x[i] >= N;
        for (int j = 0; j < i; j++)
            alike += x[i] == x[j];
    }
    ck_assert_int_le(alike, 1);
    ck_assert_int_ge(new_ones, N - 2);
    kb_buffers_free(b);
    kb_buffers_free(pool);
}
END_TEST

/* Linux books processor time on a process when it stops running: a sample was
 * told up to a tick too short, and the one after it that much too long. */
START_TEST(no_sample_gives_its_time_to_the_next)
{
    enum { SAMPLES = 100 };
    int64_t ns[SAMPLES], least = INT64_MAX;
    kb_object *o = build_axpy(AXPY(
        "volatile float v = x[0]; for (int k = 0; k < 300000; k++) v = v * 0.5f;"
        LOOP));
    kb_buffers *b = axpy_buffers(1, 1);
    kb_program *p = load(o, b);
    launch(p, 2);
    for (int i = 0; i < SAMPLES; i++) {
        ck_assert_int_eq(p->ops->launch(p, 1, 2 * second, &ns[i]), KB_OK);
        if (ns[i] < least)
            least = ns[i];
    }
    int near = 0;               /* nothing makes the same work much shorter */
    for (int i = 0; i < SAMPLES; i++)
        near += ns[i] < least + least / 2;
    ck_assert_int_ge(near, SAMPLES / 2);
    kb_program_stop(p);
    kb_buffers_free(b);
    kb_object_free(o);
}
END_TEST

START_TEST(a_run_that_is_not_timed_computes_the_same)
{
    kb_object *o = build_axpy(AXPY(LOOP));
    kb_buffers *b = axpy_buffers(64, 1);
    kb_program *p = load(o, b);
    poison(b, 1);
    ck_assert_int_eq(p->ops->launch(p, 1, second, NULL), KB_OK);
    expect_axpy(b, 0, 64);
    kb_program_stop(p);
    kb_buffers_free(b);
    kb_object_free(o);
}
END_TEST

START_TEST(call_i_runs_on_slot_i_mod_slots)
{
    struct kb_arg arg[] = { { .mode = KB_OUT, .dtype = KB_I64, .count = 1 } };
    kb_object *o = build("static long long calls;"
                         "void count(long long *y) { *y = ++calls; }",
                         "count", arg, 1);
    kb_buffers *b = NULL;
    ck_assert_int_eq(kb_buffers_new(device, arg, 1, 3, &b), KB_OK);
    kb_program *p = load(o, b);
    launch(p, 7);
    static const long long want[] = { 7, 5, 6 };
    for (size_t s = 0; s < 3; s++)
        ck_assert_int_eq(*(long long *)kb_buffers_at(b, 0, s), want[s]);
    launch(p, 1);
    ck_assert_int_eq(*(long long *)kb_buffers_at(b, 0, 0), 8);
    kb_program_stop(p);
    kb_buffers_free(b);
    kb_object_free(o);
}
END_TEST

START_TEST(scalars_of_every_type_arrive)
{
    static const char source[] =
        "void pass(double *y, double a, float b, signed char c,"
        " unsigned char d, int e, long long f, unsigned short g,"
        " unsigned short h) { y[0] = a; y[1] = b; y[2] = c; y[3] = d;"
        " y[4] = e; y[5] = (double)f; y[6] = g; y[7] = h; }";
    struct kb_arg arg[] = {
        { .mode = KB_OUT, .dtype = KB_F64, .count = 8 },
        { .dtype = KB_F64, .real = -1.25e300 },
        { .dtype = KB_F32, .real = 0.1 },
        { .dtype = KB_I8, .real = -128, .integer = -128 },
        { .dtype = KB_U8, .real = 255, .integer = 255 },
        { .dtype = KB_I32, .real = -70000, .integer = -70000 },
        { .dtype = KB_I64, .real = 1e15, .integer = 1000000000000000 },
        { .dtype = KB_F16, .real = 1.5 }, { .dtype = KB_BF16, .real = -2 },
    };
    static const double want[] = {
        -1.25e300, 0.1f, -128, 255, -70000, 1e15, 0x3e00, 0xc000
    };
    kb_object *o = build(source, "pass", arg, 9);
    kb_buffers *b = NULL;
    ck_assert_int_eq(kb_buffers_new(device, arg, 9, 1, &b), KB_OK);
    kb_program *p = load(o, b);
    launch(p, 1);
    const double *y = kb_buffers_at(b, 0, 0);
    for (size_t i = 0; i < 8; i++)
        ck_assert_msg(y[i] == want[i], "y[%zu] = %g, not %g", i, y[i],
                      want[i]);
    for (size_t i = 1; i < 9; i++)
        ck_assert_ptr_null(kb_buffers_at(b, i, 0));
    kb_program_stop(p);
    kb_buffers_free(b);
    kb_object_free(o);
}
END_TEST

START_TEST(in_out_arrays_start_every_launch_as_their_slot_was_filled)
{
    enum { N = 5, SLOTS = 3 };
    struct kb_arg arg[] = {
        { .mode = KB_INOUT, .dtype = KB_F32, .count = N }
    };
    kb_object *o = build("void inc(float *y) { for (int i = 0; i < 5; i++)"
                         " y[i] += 1; }", "inc", arg, 1);
    kb_buffers *b = NULL;
    float want[SLOTS][N];
    ck_assert_int_eq(kb_buffers_new(device, arg, 1, SLOTS, &b), KB_OK);
    for (size_t s = 0; s < SLOTS; s++) {
        ck_assert_int_eq(b->ops->fill(b, 0, s, KB_FILL_NORMAL, 1000, s + 1),
                         KB_OK);
        memcpy(want[s], kb_buffers_at(b, 0, s), sizeof want[s]);
    }
    ck_assert_mem_ne(want[0], want[1], sizeof want[0]);
    kb_program *p = load(o, b);
    for (size_t round = 0; round < SLOTS; round++) {
        kb_buffers_use(b, SLOTS, round);        /* slot 0 is that one now */
        poison(b, round);
        launch(p, SLOTS);
        for (size_t s = 0; s < SLOTS; s++)
            for (int i = 0; i < N; i++)
                ck_assert_float_eq(((float *)kb_buffers_at(b, 0, s))[i],
                                   want[(s + round) % SLOTS][i] + 1);
    }
    kb_program_stop(p);
    kb_buffers_free(b);
    kb_object_free(o);
}
END_TEST

START_TEST(what_turns_or_stirs_an_in_out_array_is_there_at_the_next_launch)
{
    enum { N = 64, SLOTS = 2 };
    struct kb_arg arg[] = {
        { .mode = KB_INOUT, .dtype = KB_F32, .count = N }
    };
    kb_buffers *b = NULL, *from = NULL;
    float was[N];
    ck_assert_int_eq(kb_buffers_new(device, arg, 1, SLOTS, &b), KB_OK);
    ck_assert_int_eq(kb_buffers_new(device, arg, 1, 1, &from), KB_OK);
    ck_assert_int_eq(from->ops->fill(from, 0, 0, KB_FILL_NORMAL, 0, 2), KB_OK);
    float *y = kb_buffers_at(b, 0, 1);
    ck_assert_int_eq(b->ops->fill(b, 0, 1, KB_FILL_NORMAL, 0, 1), KB_OK);
    memcpy(was, y, sizeof was);
    memset(y, 0, sizeof was);                   /* a kernel ran */
    ck_assert_int_eq(b->ops->turn(b, 0, 1, 3), KB_OK);
    poison(b, 1);
    ck_assert_mem_eq(y, was + 3, (N - 3) * sizeof *was);
    ck_assert_mem_eq(y + N - 3, was, 3 * sizeof *was);

    memcpy(was, y, sizeof was);
    memset(y, 0, sizeof was);
    ck_assert_int_eq(kb_buffers_stir(b, 1, from, 0, true, 7), KB_OK);
    poison(b, 2);
    int moved = 0;
    for (int i = 0; i < N; i++)
        moved += y[i] != was[i];
    ck_assert_int_ge(moved, N - 4);

    memcpy(was, y, sizeof was);
    memset(y, 0, sizeof was);
    ck_assert_int_eq(kb_buffers_take(from, b, 1), KB_OK);
    ck_assert_mem_eq(kb_buffers_at(from, 0, 0), was, sizeof was);
    kb_buffers_free(b);
    kb_buffers_free(from);
}
END_TEST

START_TEST(arrays_are_aligned_in_the_kernel_too)
{
    kb_object *o = build_axpy(AXPY("y[0] = (float)((unsigned long)x % 64);"
                                   "y[1] = (float)((unsigned long)y % 64);"));
    for (uint64_t n = 2; n < 40; n += 9) {
        kb_buffers *b = axpy_buffers(n, 3);
        kb_program *p = load(o, b);
        launch(p, 3);
        for (size_t s = 0; s < 3; s++) {
            const float *y = kb_buffers_at(b, 1, s);
            ck_assert_float_eq(y[0], 0);
            ck_assert_float_eq(y[1], 0);
            ck_assert_uint_eq((size_t)y % 64, 0);
        }
        kb_program_stop(p);
        kb_buffers_free(b);
    }
    kb_object_free(o);
}
END_TEST

START_TEST(arrays_lie_far_from_each_other)
{
    kb_object *o = build_axpy(AXPY("long d = (const char *)y - (const char *)x;"
                                   "y[0] = (float)((d < 0 ? -d : d) >> 20);"));
    kb_buffers *b = axpy_buffers(100, 1);
    kb_program *p = load(o, b);
    launch(p, 1);
    ck_assert_float_ge(((float *)kb_buffers_at(b, 1, 0))[0], 128);
    kb_program_stop(p);
    kb_buffers_free(b);
    kb_object_free(o);
}
END_TEST

START_TEST(several_programs_share_buffers)
{
    kb_object *one = build_axpy(AXPY(LOOP));
    kb_object *two = build_axpy(AXPY("for (int i = 0; i < n; i++)"
                                     " y[i] = -x[i];"));
    kb_buffers *b = axpy_buffers(100, 1);
    kb_program *p = load(one, b), *q = load(two, b);
    kb_object_free(one);                    /* borrowed for the start only */
    for (int i = 0; i < 3; i++) {
        launch(p, 1);
        expect_axpy(b, 0, 100);
        launch(q, 1);
        ck_assert_float_eq(((float *)kb_buffers_at(b, 1, 0))[7], -7);
    }
    ((float *)kb_buffers_at(b, 0, 0))[7] = 70;  /* inputs stay ours to write */
    launch(q, 1);
    ck_assert_float_eq(((float *)kb_buffers_at(b, 1, 0))[7], -70);
    kb_program_stop(p);
    kb_program_stop(q);
    kb_buffers_free(b);
    kb_object_free(two);
}
END_TEST

static const struct { const char *body; uint64_t n; } zones[] = {
    { "y[-1] = 0;", 20 }, { "y[-16] = 0;", 16 }, { "y[n] = 0;", 20 },
    { "y[n + 11] = 0;", 20 }, { "((char *)(y + n))[0] ^= 1;", 17 },
};
enum { ZONES = sizeof zones / sizeof *zones };

START_TEST(red_zones_tell_of_every_side)
{
    kb_buffers *b = axpy_buffers(zones[_i].n, 1);
    ((float *)kb_buffers_at(b, 0, 0))[0] = (float)_i;
    kb_program *p = load(zone_object, b);
    size_t slot = 99;
    poison(b, 3);
    ck_assert_int_eq(damaged(b, &slot), -1);
    ck_assert_uint_eq(slot, 99);
    launch(p, 1);
    ck_assert_int_eq(damaged(b, &slot), 1);
    ck_assert_uint_eq(slot, 0);
    poison(b, 4);
    ck_assert_int_eq(damaged(b, &slot), -1);
    kb_program_stop(p);
    kb_buffers_free(b);
}
END_TEST

START_TEST(a_red_zone_lies_between_slots)
{
    kb_object *o = build_axpy(AXPY("y[n] = 0;"));
    kb_buffers *b = axpy_buffers(16, 3);
    kb_program *p = load(o, b);
    size_t slot = 99;
    poison(b, 3);
    launch(p, 2);
    ck_assert_int_eq(damaged(b, &slot), 1);
    ck_assert_uint_eq(slot, 0);
    ck_assert(kb_tensor_is_poison(kb_buffers_at(b, 1, 1), KB_F32, 0, 3));
    kb_program_stop(p);
    kb_buffers_free(b);
    kb_object_free(o);
}
END_TEST

/* Loads and launches once with x[0] = which; the status of either. */
static kb_status fate(const kb_object *o, float which, char *why, size_t cap)
{
    kb_buffers *b = axpy_buffers(1024, 1);
    kb_program *p = NULL;
    int64_t ns = 4321;
    ((float *)kb_buffers_at(b, 0, 0))[0] = which;
    kb_status st = kb_program_start(device, o, b, NULL, &p, why, cap);
    if (st) {
        ck_assert_ptr_null(p);
    } else {
        poison(b, 5);
        st = p->ops->launch(p, 1, 200 * ms, &ns);
        snprintf(why, cap, "%s", p->why);
        if (st)
            ck_assert_int_eq(ns, 4321);
        kb_program_stop(p);
    }
    kb_buffers_free(b);
    return st;
}

/* Ends ------------------------------------------------------------------ */

static const struct {
    const char *body;
    kb_status status;
    const char *why;
} deaths[] = {
    { "((volatile float *)x)[0] = 1;", KB_ECRASH, "signal 11" },
    { "((volatile float *)y)[n + 16] = 1;", KB_ECRASH, "signal 11" },
    { "((volatile float *)y)[-2048] = 1;", KB_ECRASH, "signal 11" },
    { "((volatile float *)y)[-(15 << 20)] = 1;", KB_ECRASH, "signal 11" },
    { "((volatile float *)y)[n + (15 << 20)] = 1;", KB_ECRASH, "signal 11" },
    { "y[0] = ((volatile float *)x)[n + 16];", KB_ECRASH, "signal 11" },
    { "y[0] = 1 / (float)(n / (n - n));", KB_ECRASH, "signal" },
    { "extern void exit(int); exit(0);", KB_ECRASH, "status 0" },
    { "extern void exit(int); exit(125);", KB_ECRASH, "status 125" },
    { "extern void exit(int); exit(126);", KB_ECRASH, "status 126" },
    { "extern void abort(void); abort();", KB_ECRASH, "signal 6" },
    { "extern int fork(void); fork();", KB_EDENIED, "clone" },
    { "extern int open(const char *, int, ...); open(\"/\", 0);", KB_EDENIED,
      "openat" },
    { "extern long write(int, void *, long); write(2, y, 1);", KB_EDENIED,
      "write" },
    { "extern int usleep(unsigned); usleep(1);", KB_EDENIED,
      "clock_nanosleep" },
    { "extern int mprotect(void *, unsigned long, int);"
      "mprotect((void *)((long)x & -4096l), 4096, 3);"
      "((volatile float *)x)[0] = 1;", KB_ECRASH, "signal 11" },
    { "extern int mprotect(void *, unsigned long, int);"
      "mprotect((void *)((long)y & -4096l), 4096, 7);", KB_EDENIED,
      "mprotect" },
    { "extern int sigfillset(void *); char s[128]; sigfillset(s);"
      "extern int sigprocmask(int, void *, void *); sigprocmask(0, s, 0);"
      "extern int getppid(void); y[0] = getppid();", KB_EDENIED, "call" },
    { "char big[64 << 20]; volatile char *v = big; v[0] = 1;", KB_ECRASH,
      "signal 11" },
    { "for (volatile int i = 1; i; ) ;", KB_ETIME, "time" },
};
enum { DEATHS = sizeof deaths / sizeof *deaths };

/* One function a body, and axpy, which calls the one that x[0] says. */
static kb_object *build_choice(const char *(*body)(size_t), size_t n)
{
    char *source = NULL;
    size_t size;
    FILE *f = open_memstream(&source, &size);
    for (size_t i = 0; i < n; i++)
        fprintf(f, "__attribute__((noinline)) static void f%zu"
                "(const float *x, float *y, int n)\n{\n%s\n}\n", i, body(i));
    fprintf(f, "void axpy(const float *x, float *y, int n)\n{\n"
            "switch ((int)x[0]) {\n");
    for (size_t i = 0; i < n; i++)
        fprintf(f, "case %zu: f%zu(x, y, n); break;\n", i, i);
    fprintf(f, "}}");
    fclose(f);
    kb_object *o = build_axpy(source);
    free(source);
    return o;
}

static const char *zone_body(size_t i)
{
    return zones[i].body;
}

static const char *death_body(size_t i)
{
    return deaths[i].body;
}

static void open_misdeeds(void)
{
    open_device();
    zone_object = build_choice(zone_body, ZONES);
    death_object = build_choice(death_body, DEATHS);
}

static void close_misdeeds(void)
{
    kb_object_free(zone_object);
    kb_object_free(death_object);
    close_device();
}

START_TEST(every_death_has_its_status_and_reason)
{
    char why[KB_DEVICE_WHY] = "";
    kb_status st = fate(death_object, (float)_i, why, sizeof why);
    ck_assert_msg(st == deaths[_i].status, "%s: %s (%s)", deaths[_i].body,
                  kb_status_name(st), why);
    ck_assert_msg(strstr(why, deaths[_i].why), "%s: %s", deaths[_i].body, why);
}
END_TEST

START_TEST(after_a_death_a_launch_is_eworker)
{
    kb_object *o = build_axpy(AXPY("extern void abort(void); abort();"));
    kb_buffers *b = axpy_buffers(10, 1);
    kb_program *p = load(o, b);
    int64_t ns = 99;
    ck_assert_int_eq(p->ops->launch(p, 1, second, &ns), KB_ECRASH);
    ck_assert_int_eq(p->ops->launch(p, 1, second, &ns), KB_EWORKER);
    ck_assert_int_eq(ns, 99);
    struct kb_metric metric[KB_DEVICE_METRICS];
    char why[64];
    size_t n = 99;
    kb_status st = p->ops->profile(p, "search", metric, &n, why, sizeof why);
    ck_assert(st == KB_ENODEV ? n == 99 && why[0] : st == KB_OK && n == 4);
    kb_program_stop(p);
    kb_program_stop(NULL);
    kb_buffers_free(b);
    kb_object_free(o);
}
END_TEST

START_TEST(an_idle_program_that_dies_is_found_at_the_next_launch)
{
    kb_object *o = build_axpy(AXPY(LOOP
        "extern int raise(int); if (x[0] != 0) raise(15);"));
    kb_buffers *b = axpy_buffers(10, 1);
    kb_program *p = load(o, b);
    int64_t ns = 99;
    launch(p, 1);
    ((float *)kb_buffers_at(b, 0, 0))[0] = 1;
    ck_assert_int_eq(p->ops->launch(p, 1, second, &ns), KB_ECRASH);
    ck_assert_str_eq(p->why, "killed by signal 15 (Terminated)");
    kb_program_stop(p);
    kb_buffers_free(b);
    kb_object_free(o);
}
END_TEST

START_TEST(a_constructor_is_jailed_as_well)
{
    static const struct { const char *body; kb_status st; } all[] = {
        { "extern void abort(void); abort();", KB_ECRASH },
        { "extern int fork(void); fork();", KB_EDENIED },
        { "extern void exit(int); exit(0);", KB_ECRASH },
        { "extern int open(const char *, int, ...);"
          "if (open(\"/etc/passwd\", 0) >= 0) return;"
          "extern void abort(void); abort();", KB_ECRASH },
    };
    char source[500], why[KB_DEVICE_WHY] = "";
    snprintf(source, sizeof source, "__attribute__((constructor)) "
             "static void early(void) {%s}" AXPY(LOOP), all[_i].body);
    kb_object *o = build_axpy(source);
    ck_assert_int_eq(fate(o, 0, why, sizeof why), all[_i].st);
    ck_assert_str_ne(why, "");
    kb_object_free(o);
}
END_TEST

/* Building -------------------------------------------------------------- */

START_TEST(a_source_that_does_not_compile_is_ebuild_with_a_log)
{
    static const struct { const char *source, *says; } all[] = {
        { "void axpy(", "error" },
        { "#include \"/etc/passwd\"\n", "/etc/passwd" },
        { "#include \"/proc/self/environ\"\n", "environ" },
        { "__asm__(\".incbin \\\"/etc/passwd\\\"\");" AXPY(""), "passwd" },
        { "void other(void) {}", "axpy" },
        { AXPY("") "void kb_cpu_call(void *a) {}", "kb_cpu_call" },
        { AXPY("extern void absent(void); absent();"), "absent" },
        { "", "axpy" },
    };
    struct kb_arg arg[3];
    char log[4096] = "";
    kb_object *o = NULL;
    axpy_args(arg, 1);
    ck_assert_int_eq(try_build(all[_i].source, "axpy", arg, 3, log,
                               sizeof log, &o), KB_EBUILD);
    ck_assert_ptr_null(o);
    ck_assert_msg(strstr(log, all[_i].says), "%s", log);
    ck_assert_ptr_null(strstr(log, "root:"));
    ck_assert_ptr_null(strstr(log, "PATH="));
}
END_TEST

START_TEST(a_log_is_cut_to_its_room)
{
    struct kb_arg arg[3];
    char log[64];
    kb_object *o = NULL;
    axpy_args(arg, 1);
    memset(log, 'x', sizeof log);
    ck_assert_int_eq(try_build("wrong wrong;", "axpy", arg, 3, log, 32, &o),
                     KB_EBUILD);
    ck_assert_uint_eq(strlen(log), 31);
    ck_assert_int_eq(log[32], 'x');
    ck_assert_int_eq(try_build("wrong wrong;", "axpy", arg, 3, log, 1, &o),
                     KB_EBUILD);
    ck_assert_str_eq(log, "");
}
END_TEST

START_TEST(a_slow_compiler_is_etime)
{
    struct kb_arg arg[3];
    char log[100];
    kb_object *o = NULL;
    axpy_args(arg, 1);
    struct kb_build b = { .source = AXPY(LOOP), .entry = "axpy", .arg = arg,
                          .args = 3, .timeout_ns = 1000 };
    ck_assert_int_eq(kb_device_build(device, &b, log, sizeof log, &o),
                     KB_ETIME);
    ck_assert_ptr_null(o);
}
END_TEST

START_TEST(bad_requests_are_einval)
{
    static const char *const entry[] = { "", "1x", "a b", "a;b", "a\n", "-x" };
    struct kb_arg arg[KB_DEVICE_ARGS + 1];
    char log[100];
    kb_object *o = NULL;
    kb_buffers *b = NULL;
    memset(arg, 0, sizeof arg);
    axpy_args(arg, 1);
    for (size_t i = 0; i < sizeof entry / sizeof *entry; i++)
        ck_assert_int_eq(try_build(AXPY(LOOP), entry[i], arg, 3, log,
                                   sizeof log, &o), KB_EINVAL);
    ck_assert_int_eq(try_build("", "axpy", arg, 0, log, sizeof log, &o),
                     KB_EINVAL);
    ck_assert_int_eq(try_build("", "axpy", arg, KB_DEVICE_ARGS + 1, log,
                               sizeof log, &o), KB_EINVAL);
    ck_assert_ptr_null(o);
    ck_assert_int_eq(kb_buffers_new(device, arg, 0, 1, &b), KB_EINVAL);
    ck_assert_int_eq(kb_buffers_new(device, arg, 33, 1, &b), KB_EINVAL);
    ck_assert_int_eq(kb_buffers_new(device, arg, 3, 0, &b), KB_EINVAL);
    ck_assert_int_eq(kb_buffers_new(device, arg, 3, KB_DEVICE_SLOTS + 1, &b),
                     KB_EINVAL);
    arg[1].count = 0;
    ck_assert_int_eq(kb_buffers_new(device, arg, 3, 1, &b), KB_EINVAL);
    arg[1].count = UINT64_MAX / 2;
    ck_assert_int_ne(kb_buffers_new(device, arg, 3, 1, &b), KB_OK);
    ck_assert_ptr_null(b);
}
END_TEST

START_TEST(an_object_shows_its_text)
{
    enum { CAP = 1 << 20 };
    char *text = malloc(CAP);
    size_t used = 0;
    kb_object *o = build_axpy(AXPY(LOOP));
    kb_status st = o->ops->text(o, text, CAP, &used);
    if (st == KB_ENODEV) {
        fprintf(stderr, "check_device: skipped: there is no objdump\n");
    } else {
        ck_assert_int_eq(st, KB_OK);
        ck_assert_uint_eq(used, strlen(text));
        ck_assert_ptr_nonnull(strstr(text, ".text"));
        ck_assert_ptr_nonnull(strstr(text, "<axpy>:"));
        ck_assert_int_eq(o->ops->text(o, text, 50, &used), KB_OK);
        ck_assert_uint_eq(used, 49);
    }
    kb_object_free(o);
    free(text);
}
END_TEST

/* The device itself ----------------------------------------------------- */

START_TEST(bad_names_are_enodev_with_a_reason)
{
    static const char *const names[] = {
        "", "cp", "gpu", "cuda:x", "cpux", "cpu:", "cpu:x", "cpu:-1",
        "cpu:99999", "cpu:0x", "cpu:1023",
    };
    const char *why = NULL;
    kb_device *d = NULL;
    ck_assert_int_eq(kb_device_open(names[_i], exe, &d, &why), KB_ENODEV);
    ck_assert_ptr_null(d);
    ck_assert_str_ne(why, "");
}
END_TEST

START_TEST(kernels_run_on_the_processor_asked_for)
{
    cpu_set_t before, after;
    char name[16];
    const char *why = "";
    kb_device *d = NULL;
    sched_getaffinity(0, sizeof before, &before);
    int first = 0;
    while (!CPU_ISSET((size_t)first, &before))
        first++;
    snprintf(name, sizeof name, "cpu:%d", first);
    ck_assert_int_eq(kb_device_open(name, exe, &d, &why), KB_OK);
    sched_getaffinity(0, sizeof after, &after);
    if (CPU_COUNT(&before) > 1)
        ck_assert(!CPU_ISSET((size_t)first, &after));
    kb_device_close(d);
}
END_TEST

START_TEST(a_closed_device_gives_its_processor_back)
{
    cpu_set_t before, during, after;
    char name[2][16] = { "", "" };
    const char *why = "";
    kb_device *d[2] = { NULL, NULL };
    sched_getaffinity(0, sizeof before, &before);
    for (size_t cpu = 0, n = 0; cpu < CPU_SETSIZE && n < 2; cpu++)
        if (CPU_ISSET(cpu, &before))
            snprintf(name[n++], sizeof name[0], "cpu:%zu", cpu);
    if (!*name[1])
        return;                         /* there is one processor */
    for (int first = 0; first < 2; first++) {
        for (int i = 0; i < 2; i++)
            ck_assert_int_eq(kb_device_open(name[i], exe, &d[i], &why), KB_OK);
        sched_getaffinity(0, sizeof during, &during);
        ck_assert(!CPU_EQUAL(&before, &during));
        kb_device_close(d[first]);
        kb_device_close(d[!first]);
        sched_getaffinity(0, sizeof after, &after);
        ck_assert(CPU_EQUAL(&before, &after));
    }
}
END_TEST

/* Of several processes each times on a processor of its own, while there is one. */
START_TEST(two_processes_do_not_time_on_one_processor)
{
    cpu_set_t all;
    int ready[2], end[2];
    char name[64];
    const char *why = "";
    kb_device *d = NULL;
    sched_getaffinity(0, sizeof all, &all);
    if (CPU_COUNT(&all) < 2) {
        puts("skipped: two processes on processors of their own: there is one");
        return;
    }
    /* Where no other test has taken any. */
    if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET)) {
        puts("skipped: two processes on processors of their own: unshare fails");
        return;
    }
    ck_assert_int_eq(pipe(ready), 0);
    ck_assert_int_eq(pipe(end), 0);
    pid_t other = fork();
    ck_assert_int_eq(kb_device_open("cpu", exe, &d, &why), KB_OK);
    if (other == 0) {
        write(ready[1], d->info.name, sizeof name);
        close(end[1]);
        read(end[0], name, 1);
        _exit(0);
    }
    ck_assert_int_eq(read(ready[0], name, sizeof name), sizeof name);
    ck_assert_str_ne(name, d->info.name);
    kb_device_close(d);
    ck_assert_int_eq(kb_device_open(name, exe, &d, &why), KB_OK);
    ck_assert_str_eq(name, d->info.name);    /* whoever asks has it, too */
    kb_device_close(d);
    close(end[1]);
    waitpid(other, NULL, 0);
}
END_TEST

/* Pages are as large as this says: the library asks in this process. */
static long pretended_page;

long sysconf(int name)
{
    long (*real)(int);
    *(void **)&real = dlsym(RTLD_NEXT, "sysconf");
    return name == _SC_PAGESIZE && pretended_page ? pretended_page
                                                  : real(name);
}

START_TEST(arrays_lie_on_pages_of_their_own_however_large_those_are)
{
    const struct kb_arg arg[2] = {
        { .mode = KB_OUT, .dtype = KB_F32, .count = 1 },
        { .mode = KB_OUT, .dtype = KB_F32, .count = 1 }
    };
    kb_buffers *b = NULL;
    size_t slot;
    pretended_page = 65536;
    ck_assert_int_eq(kb_buffers_new(device, arg, 2, 1, &b), KB_OK);
    char *first = kb_buffers_at(b, 0, 0), *second_ = kb_buffers_at(b, 1, 0);
    ck_assert_int_eq(second_ - first, pretended_page);
    poison(b, 1);
    kb_object *o = build("void two(float *a, float *b) { *a = 1; *b = 2; }",
                         "two", arg, 2);
    kb_program *p = load(o, b);
    ck_assert_int_eq(p->ops->launch(p, 1, second, NULL), KB_OK);
    ck_assert_float_eq(*(float *)(void *)first, 1);
    ck_assert_float_eq(*(float *)(void *)second_, 2);
    ck_assert_int_eq(damaged(b, &slot), -1);
    kb_program_stop(p);
    kb_object_free(o);
    kb_buffers_free(b);
}
END_TEST

START_TEST(the_device_says_what_it_builds_with)
{
    ck_assert_str_ne(device->info.compiler, "");
    ck_assert_ptr_nonnull(strstr(device->info.flags, "-O3"));
    ck_assert_ptr_nonnull(strstr(device->info.flags, "-shared"));
}
END_TEST

static void stay_in(const char *dir)
{
    setenv("TMPDIR", dir, 1);
}

START_TEST(folders_of_dead_workers_are_removed)
{
    char dir[] = "/tmp/kb-stale-XXXXXX", stale[100], other[100], busy[100];
    char deep[160];
    const char *why = "";
    kb_device *d = NULL;
    ck_assert_ptr_nonnull(mkdtemp(dir));
    chmod(dir, 0755);
    stay_in(dir);
    pid_t pid = fork();
    if (pid == 0) {                 /* a worker that is killed */
        d = NULL;
        if (kb_device_open("cpu", exe, &d, &why))
            _exit(1);
        device = d;
        build_axpy(AXPY(LOOP));
        raise(SIGKILL);
    }
    int wstatus = 0;
    waitpid(pid, &wstatus, 0);
    ck_assert(WIFSIGNALED(wstatus));
    snprintf(stale, sizeof stale, "%s/kernelband-objects-stale1", dir);
    snprintf(other, sizeof other, "%s/somebody-elses", dir);
    snprintf(busy, sizeof busy, "%s/kernelband-objects-busy12", dir);
    mkdir(stale, 0755);
    mkdir(other, 0755);
    mkdir(busy, 0755);
    snprintf(deep, sizeof deep, "%s/7", stale);
    mkdir(deep, 0755);
    int lock = open(busy, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_eq(flock(lock, LOCK_EX), 0);

    ck_assert_int_eq(kb_device_open("cpu", exe, &d, &why), KB_OK);
    ck_assert_int_eq(access(stale, F_OK), -1);
    ck_assert_int_eq(access(other, F_OK), 0);
    ck_assert_int_eq(access(busy, F_OK), 0);
    kb_device_close(d);
    rmdir(other);
    rmdir(busy);
    ck_assert_int_eq(rmdir(dir), 0);        /* so nothing else is left */
}
END_TEST

/* What every engine that starts does to the folders of dead ones. */
static void clear_folders(const char *dir)
{
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d)); ) {
        if (strncmp(e->d_name, "kernelband-objects-", 19))
            continue;
        int fd = openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
            unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
        if (fd >= 0)
            close(fd);
    }
    if (d)
        closedir(d);
}

START_TEST(a_machine_is_as_wide_as_its_compiler_makes_vectors)
{
    char cc[] = "/tmp/kb-narrow-XXXXXX";
    FILE *f = fdopen(mkstemp(cc), "w");
    fputs("#!/bin/sh\nexec cc \"$@\" -mno-avx\n", f);
    fchmod(fileno(f), 0755);
    fclose(f);
    setenv("KERNELBAND_CC", cc, 1);
    const char *why = "";
    kb_device *d = NULL;
    struct kb_roofline r;
    ck_assert_msg(kb_device_open("cpu", exe, &d, &why) == KB_OK, "%s", why);
    unsetenv("KERNELBAND_CC");
    ck_assert_int_eq(d->ops->roofline(d, &r), KB_OK);
    kb_device_close(d);
    unlink(cc);
    ck_assert_uint_eq(r.vector_bytes, 16);
}
END_TEST

START_TEST(a_fresh_folder_is_not_lost_to_one_that_clears_stale_ones)
{
    char dir[] = "/tmp/kb-fresh-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(dir));
    chmod(dir, 0755);
    stay_in(dir);
    setenv("KERNELBAND_CC", "/bin/true", 1);    /* is asked for its version */
    pid_t pid = fork();
    while (pid == 0) {
        clear_folders(dir);
        if (getppid() == 1)
            _exit(0);
    }
    int64_t end_ns = kb_clock_now_ns() + 1500000000;
    for (int i = 0; i < 300 && kb_clock_now_ns() < end_ns; i++) {
        const char *why = "";
        kb_device *d = NULL;
        kb_status st = kb_device_open("cpu", exe, &d, &why);
        if (st)
            kill(pid, SIGKILL);
        ck_assert_msg(st == KB_OK, "after %d: %s", i, why);
        kb_device_close(d);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    unsetenv("KERNELBAND_CC");
    clear_folders(dir);
    ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

static int64_t processor_ns(pid_t pid)
{
    clockid_t id;
    struct timespec t;
    ck_assert_int_eq(clock_getcpuclockid(pid, &id), 0);
    ck_assert_int_eq(clock_gettime(id, &t), 0);
    return (int64_t)t.tv_sec * second + t.tv_nsec;
}

/* The oldest child of this process, or the youngest; 0: unknown. */
static pid_t child(bool youngest)
{
    char path[64];
    int pid = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *f = fopen(path, "r");
    while (f && fscanf(f, "%d", &pid) == 1 && youngest)
        ;
    if (f)
        fclose(f);
    return (pid_t)pid;
}

/* The inode of the object that a process has loaded. */
static unsigned long loaded_file(pid_t pid)
{
    char path[64], line[5000];
    unsigned long inode = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *f = fopen(path, "r");
    while (f && !inode && fgets(line, sizeof line, f))
        if (strstr(line, "kernelband-objects-"))
            ck_assert_int_eq(sscanf(line, "%*s %*s %*s %*s %lu", &inode), 1);
    if (f)
        fclose(f);
    return inode;
}

START_TEST(each_process_loads_a_copy_of_the_object)
{
    kb_object *o = build_axpy(AXPY(LOOP));
    kb_buffers *b = axpy_buffers(10, 1);
    kb_program *p = load(o, b);
    pid_t pid = child(false);                   /* the oldest is p's */
    unsigned long inode = pid ? loaded_file(pid) : 0;
    kb_program *q = load(o, b);
    if (!inode) {
        fprintf(stderr, "check_device: skipped: /proc shows no child's maps\n");
    } else {
        launch(p, 1);
        kb_program_stop(p);
        p = NULL;
        pid = child(false);
        ck_assert_uint_ne(loaded_file(pid), 0);
        ck_assert_uint_ne(loaded_file(pid), inode);
    }
    kb_program_stop(q);
    if (p)
        kb_program_stop(p);
    kb_buffers_free(b);
    kb_object_free(o);
}
END_TEST

START_TEST(an_idle_program_uses_no_processor)
{
    kb_object *o = build_axpy(AXPY(LOOP));
    kb_buffers *b = axpy_buffers(1000, 1);
    kb_program *p = load(o, b);
    launch(p, 10);
    pid_t pid = child(true);
    if (pid > 0) {
        usleep(5000);
        int64_t before = processor_ns(pid);
        usleep(50000);
        ck_assert_int_lt(processor_ns(pid) - before, ms);
    } else {
        fprintf(stderr, "check_device: skipped: no /proc/*/children\n");
    }
    kb_program_stop(p);
    kb_buffers_free(b);
    kb_object_free(o);
}
END_TEST

/* How often this process has given up its processor to wait. */
static long rests(void)
{
    struct rusage used;
    ck_assert_int_eq(getrusage(RUSAGE_SELF, &used), 0);
    return used.ru_nvcsw;
}

/* Stops a process for 4 ms; returns the process that lets it go on. */
static pid_t hold(pid_t held)
{
    ck_assert_int_eq(kill(held, SIGSTOP), 0);
    pid_t pid = fork();
    if (pid == 0) {
        usleep(4000);
        kill(held, SIGCONT);
        _exit(0);
    }
    return pid;
}

START_TEST(a_copy_is_waited_for_asleep_after_a_timed_launch)
{
    kb_object *o = build_axpy(AXPY(LOOP));
    kb_buffers *b = axpy_buffers(1000, 1);
    kb_program *p = load(o, b);
    pid_t loader = child(false);
    long most = 0;
    for (int i = 0; i < 5 && loader > 0; i++) {     /* under load not each time */
        launch(p, 1);
        pid_t holder = hold(loader);
        ck_assert_int_eq(p->ops->renew(p), KB_OK);
        long before = rests();
        ck_assert_int_eq(p->ops->launch(p, 1, second, NULL), KB_OK);
        long n = rests() - before;
        most = n > most ? n : most;
        ck_assert_int_eq(waitpid(holder, NULL, 0), holder);
    }
    if (loader > 0)
        ck_assert_int_ge(most, 10);
    else
        fprintf(stderr, "check_device: skipped: no /proc/*/children\n");
    kb_program_stop(p);
    kb_buffers_free(b);
    kb_object_free(o);
}
END_TEST

/* Minor page faults of a process so far, see proc(5); -1: unknown. */
static long faults(pid_t pid)
{
    char path[64];
    long n = -1;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    if (f && fscanf(f, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %ld", &n) != 1)
        n = -1;
    if (f)
        fclose(f);
    return n;
}

/* Can pages be asked for before they are touched? */
static bool populates(void)
{
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert(page != MAP_FAILED);
    int failed = madvise(page, bytes, MADV_POPULATE_READ);
    munmap(page, bytes);
    return !failed;
}

/* At its second call it uses more of its stack, of its variables and of libm than
 * at its first. */
static const char grows[] =
    "float lgammaf(float); float tgammaf(float); float j0f(float);"
    "static float own[1 << 18]; static int calls;"
    "void axpy(const float *x, float *y, int n) {"
    "if (calls++ == 1) {"
    "  volatile char below[1 << 18];"
    "  for (int k = 0; k < 1 << 18; k += 1024) own[k] = below[k] = 1;"
    "  y[0] = own[n] + lgammaf(x[0]) + tgammaf(x[0]) + j0f(x[0]); }"
    LOOP "}";

START_TEST(what_a_kernel_may_touch_is_there_before_it_is_timed)
{
    kb_object *o = build_axpy(grows);
    kb_buffers *b = axpy_buffers(1000, 1);
    kb_program *p = load(o, b);
    launch(p, 1);
    pid_t pid = child(true);
    long before = pid > 0 ? faults(pid) : -1;
    launch(p, 1);
    if (before >= 0 && populates())
        ck_assert_int_lt(faults(pid) - before, 8);
    else
        fprintf(stderr, "check_device: skipped: /proc shows no child's faults, or"
                " the system makes no pages ready\n");
    kb_program_stop(p);
    kb_buffers_free(b);
    kb_object_free(o);
}
END_TEST

/* Finds the page shared with the parent through its caller's list of arguments
 * and says there that it is done, before it works. */
static const char early[] =
    "void axpy(const float *x, float *y, int n) {"
    "void **frame = __builtin_frame_address(0);"
    "for (int i = 0; i < 512; i++)"
    "  if (frame[i] == (void *)x && frame[i + 1] == (void *)y"
    "      && *(int *)frame[i + 2] == n) {"
    "    unsigned *page = (unsigned *)((unsigned long)frame[i + 2] & -4096l);"
    "    page[3] = page[2]; break; }"
    "for (volatile int i = 0; i < 400000; i++) ;" LOOP "}";

/* A process that spins on the kernels' processor until it is killed or its parent
 * ends. */
static pid_t spinner(void)
{
    int cpu;
    cpu_set_t its;
    ck_assert_int_eq(sscanf(device->info.name, "cpu:%d", &cpu), 1);
    CPU_ZERO(&its);
    CPU_SET((size_t)cpu, &its);
    pid_t pid = fork();
    if (pid)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sched_setaffinity(0, sizeof its, &its);
    for (;;)
        ;
}

START_TEST(work_after_the_word_done_is_counted)
{
    pid_t busy = spinner();
    kb_object *o = build_axpy(early);
    kb_buffers *b = axpy_buffers(1000, 1);
    kb_program *p = load(o, b);
    (void)p->ops->launch(p, 1, second, NULL);
    pid_t pid = child(true);
    for (int i = 0; i < 1000 && pid > 0; i++) {
        int64_t ns = 0, before = processor_ns(pid);
        ck_assert_int_eq(p->ops->launch(p, 1, second, &ns), KB_OK);
        while (i == 0 && processor_ns(pid) - before < ms / 10)
            usleep(1000);               /* the first one's word is taken */
        if (i > 0)
            ck_assert_int_gt(ns, ms / 10);
    }
    kill(busy, SIGKILL);
    waitpid(busy, NULL, 0);
    kb_program_stop(p);
    kb_buffers_free(b);
    kb_object_free(o);
}
END_TEST

START_TEST(stopping_leaves_no_process)
{
    kb_object *o = build_axpy(AXPY(LOOP));
    kb_buffers *b = axpy_buffers(10, 1);
    kb_program *p = load(o, b);
    kb_program_stop(p);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    ck_assert_int_eq(errno, ECHILD);
    kb_buffers_free(b);
    kb_object_free(o);
    kb_buffers_free(NULL);
    kb_object_free(NULL);
}
END_TEST

static Suite *tests(void)
{
    if (!find_exe()) {
        fprintf(stderr, "check_device: no %s: build it first\n", exe);
        exit(EXIT_FAILURE);
    }
    if (kb_jail_landlock_abi() < 1) {
        fprintf(stderr, "check_device: skipped: no Landlock here\n");
        return NULL;
    }
    Suite *s = suite_create("device");
    /* Tests are forks of one process that opened the device: to open it costs
     * more than most of them. */
    TCase *t = tcase_create("results");
    tcase_add_unchecked_fixture(t, open_device, close_device);
    tcase_add_test(t, a_kernel_computes_and_slots_rotate);
    tcase_add_test(t, each_slot_has_inputs_of_its_own);
    tcase_add_test(t, an_element_becomes_what_another_is_in_its_slot_alone);
    tcase_add_test(t, slots_that_are_not_in_use_keep_what_they_hold);
    tcase_add_loop_test(t, a_renewed_program_dies_of_slots_that_are_not_in_use, 0, 4);
    tcase_add_loop_test(t, a_renewed_program_dies_of_the_slot_before_its_own, 0, 2);
    tcase_add_test(t, a_renewed_program_remembers_nothing);
    tcase_add_loop_test(t, a_renewed_program_finds_nothing_in_a_neighbour, 0, 2);
    tcase_add_test(t, a_renewed_program_finds_nothing_in_long_neighbours);
    tcase_add_test(t, stirring_changes_the_inputs_of_a_slot_as_its_seed_says);
    tcase_add_test(t, stirring_a_small_array_for_long_leaves_it_as_varied_as_the_pool);
    tcase_add_test(t, no_sample_gives_its_time_to_the_next);
    tcase_add_test(t, a_run_that_is_not_timed_computes_the_same);
    tcase_add_test(t, call_i_runs_on_slot_i_mod_slots);
    tcase_add_test(t, scalars_of_every_type_arrive);
    tcase_add_test(t, in_out_arrays_start_every_launch_as_their_slot_was_filled);
    tcase_add_test(t, what_turns_or_stirs_an_in_out_array_is_there_at_the_next_launch);
    tcase_add_test(t, arrays_are_aligned_in_the_kernel_too);
    tcase_add_test(t, arrays_lie_far_from_each_other);
    tcase_add_test(t,
        arrays_lie_on_pages_of_their_own_however_large_those_are);
    tcase_add_test(t, several_programs_share_buffers);
    tcase_add_test(t, a_red_zone_lies_between_slots);
    suite_add_tcase(s, t);

    t = tcase_create("ends");
    tcase_add_unchecked_fixture(t, open_misdeeds, close_misdeeds);
    tcase_add_loop_test(t, red_zones_tell_of_every_side, 0, ZONES);
    tcase_add_loop_test(t, every_death_has_its_status_and_reason, 0, DEATHS);
    tcase_add_test(t, after_a_death_a_launch_is_eworker);
    tcase_add_test(t, an_idle_program_that_dies_is_found_at_the_next_launch);
    tcase_add_loop_test(t, a_constructor_is_jailed_as_well, 0, 4);
    tcase_add_test(t, work_after_the_word_done_is_counted);
    tcase_add_test(t, stopping_leaves_no_process);
    tcase_add_test(t, each_process_loads_a_copy_of_the_object);
    tcase_add_test(t, an_idle_program_uses_no_processor);
    tcase_add_test(t, a_copy_is_waited_for_asleep_after_a_timed_launch);
    tcase_add_test(t, what_a_kernel_may_touch_is_there_before_it_is_timed);
    suite_add_tcase(s, t);

    t = tcase_create("building");
    tcase_add_unchecked_fixture(t, open_device, close_device);
    tcase_add_loop_test(t,
        a_source_that_does_not_compile_is_ebuild_with_a_log, 0, 8);
    tcase_add_test(t, a_log_is_cut_to_its_room);
    tcase_add_test(t, a_slow_compiler_is_etime);
    tcase_add_test(t, bad_requests_are_einval);
    tcase_add_test(t, an_object_shows_its_text);
    tcase_add_test(t, the_device_says_what_it_builds_with);
    suite_add_tcase(s, t);

    t = tcase_create("device");
    tcase_add_loop_test(t, bad_names_are_enodev_with_a_reason, 0, 11);
    tcase_add_test(t, kernels_run_on_the_processor_asked_for);
    tcase_add_test(t, a_closed_device_gives_its_processor_back);
    tcase_add_test(t, two_processes_do_not_time_on_one_processor);
    tcase_add_test(t, a_machine_is_as_wide_as_its_compiler_makes_vectors);
    tcase_add_test(t, a_fresh_folder_is_not_lost_to_one_that_clears_stale_ones);
    tcase_add_test(t, folders_of_dead_workers_are_removed);
    suite_add_tcase(s, t);
    return s;
}

TEST_MAIN(tests)
