/* The CUDA device on the driver of tests/lib/stub: what a GPU is not needed for.
 * The library is loaded by its path here; its name then finds it again. */
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "device.h"
#include "../lib/check_main.h"
#include "../lib/stub/stub.h"
#include "../lib/toolkit.h"

static const int64_t second = 1000000000;
static char exe[4096], cache[64], uuid[16];
static struct stub *driver;
static kb_device *device;

static bool load_stub(void)
{
    char root[4200], path[4300];
    if (!toolkit_exe(exe, sizeof exe))
        return false;
    toolkit_stub(exe, root, sizeof root);
    snprintf(path, sizeof path, "%s/lib/libcuda.so.1", root);
    snprintf(uuid, sizeof uuid, "kb%d", (int)getpid());
    setenv("KERNELBAND_CUDA", root, 1);
    setenv("STUB_UUID", uuid, 1);
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    struct stub *(*find)(void) = NULL;
    if (library)
        *(void **)&find = dlsym(library, "stub");
    driver = find ? find() : NULL;
    if (!driver)
        fprintf(stderr, "check_cuda: %s\n", dlerror());
    return driver && toolkit_cache(cache, sizeof cache);
}

static void lock_path(int ordinal, char *path, size_t cap)
{
    char bytes[16] = { 0 };
    snprintf(bytes, sizeof bytes, "%s", uuid);
    bytes[15] = (char)ordinal;
    int n = snprintf(path, cap, "/tmp/kernelband-gpu-");
    for (int i = 0; i < 16; i++)
        n += snprintf(path + n, cap - (size_t)n, "%02x",
                      (unsigned)(unsigned char)bytes[i]);
}

static kb_device *open_named(const char *name)
{
    const char *why = "?";
    kb_device *d = NULL;
    kb_status st = kb_device_open(name, exe, &d, &why);
    ck_assert_msg(st == KB_OK, "%s: %s: %s", name, kb_status_name(st), why);
    return d;
}

static void open_device(void)
{
    device = open_named("cuda:0");
}

/* Everything was given back, in an order the driver takes. */
static void check_nothing_left(void)
{
    ck_assert_int_eq(driver->contexts, 0);
    ck_assert_int_eq(driver->blocks, 0);
    ck_assert_int_eq(driver->modules, 0);
    ck_assert_int_eq(driver->streams, 0);
    ck_assert_int_eq(driver->events, 0);
    ck_assert_int_eq(driver->late, 0);
    ck_assert_int_eq(driver->wrong, 0);
}

static void close_device(void)
{
    kb_device_close(device);
    check_nothing_left();
}

/* ---- opening ---------------------------------------------------------------- */

START_TEST(a_gpu_is_opened_by_its_number)
{
    static const struct { const char *name, *is; } all[] = {
        { "cuda", "Stub 0" }, { "cuda:0", "Stub 0" }, { "cuda:1", "Stub 1" }
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        kb_device *d = open_named(all[i].name);
        ck_assert_str_eq(d->info.name, all[i].is);
        ck_assert_str_eq(d->info.target, "sm_90a");
        kb_device_close(d);
        check_nothing_left();
    }
    ck_assert_int_eq(kb_cuda_count(), 2);
}
END_TEST

static const char *const no_gpus[] = {
    "cuda:x", "cuda:", "cuda:1x", "cuda:-1", "cuda: 1", "cuda:2",
    "cuda:4294967296", "cuda:99999999999999999999"
};

START_TEST(a_name_that_is_no_gpus_opens_none)
{
    const char *why = "";
    kb_device *d = NULL;
    ck_assert_int_eq(kb_device_open(no_gpus[_i], exe, &d, &why), KB_ENODEV);
    ck_assert_ptr_null(d);
    ck_assert_str_ne(why, "");
    check_nothing_left();
}
END_TEST

START_TEST(the_language_is_that_of_a_devices_name_alone)
{
    ck_assert_str_eq(kb_device_language("cuda:1"), "cuda");
    ck_assert_str_eq(kb_device_language("cpu:12"), "c");
    ck_assert_ptr_null(kb_device_language("cuda:x"));
    ck_assert_ptr_null(kb_device_language("cuda:"));
    ck_assert_ptr_null(kb_device_language("cpu:-1"));
}
END_TEST

static const struct { const char *call; int code; const char *says; } bad[] = {
    { "cuInit", 100, "shows no GPU" },
    { "cuInit", 803, "different versions" },
    { "cuInit", 999, "does not start" },
    { "cuDeviceGet", 101, "context" },
    { "cuDevicePrimaryCtxRetain", 2, "context" },
    { "cuCtxSetCurrent", 201, "context" },
    { "cuStreamCreate", 2, "context" },
    { "cuDeviceGetUuid", 1, "lock" },
    { "cuModuleLoadData", 209, "older than the toolkit" },
    { "cuModuleGetFunction", 500, "older than the toolkit" },
    { "cuEventCreate", 2, "no memory left" },
    { "cuMemAlloc_v2", 2, "no memory left" },
};

START_TEST(whatever_fails_while_it_opens_is_told_and_leaves_nothing)
{
    const char *why = "";
    kb_device *d = NULL;
    for (int after = 0; after < 2; after++) {
        driver->fail = bad[_i].call;
        driver->code = bad[_i].code;
        driver->after = after;
        kb_status st = kb_device_open("cuda:1", exe, &d, &why);
        if (driver->after >= 0) {       /* that call is made once only */
            ck_assert_int_eq(after, 1);
            ck_assert_int_eq(st, KB_OK);
            kb_device_close(d);
        } else {
            ck_assert_int_ne(st, KB_OK);
            ck_assert_msg(strstr(why, bad[_i].says) != NULL, "%s", why);
        }
        driver->fail = NULL;
        check_nothing_left();
    }
}
END_TEST

START_TEST(a_machine_without_gpus_says_so)
{
    const char *why = "";
    kb_device *d = NULL;
    setenv("STUB_GPUS", "0", 1);
    ck_assert_int_eq(kb_cuda_count(), 0);
    ck_assert_int_eq(kb_device_open("cuda:0", exe, &d, &why), KB_ENODEV);
    ck_assert_ptr_nonnull(strstr(why, "CUDA_VISIBLE_DEVICES"));
}
END_TEST

/* By a real NVRTC, where there is one: their text is two files. */
START_TEST(the_devices_own_kernels_compile)
{
    char *stub_root = strdup(getenv("KERNELBAND_CUDA"));
    unsetenv("KERNELBAND_CUDA");
    if (toolkit_present("check_cuda"))
        kb_device_close(open_named("cuda:0"));
    setenv("KERNELBAND_CUDA", stub_root, 1);
    free(stub_root);
    check_nothing_left();
}
END_TEST

/* ---- the lock --------------------------------------------------------------- */

START_TEST(the_lock_is_everyones_whatever_the_umask)
{
    struct stat s;
    char path[96];
    lock_path(1, path, sizeof path);
    unlink(path);
    mode_t old = umask(077);
    kb_device *d = open_named("cuda:1");
    ck_assert_uint_eq(umask(old), 077);
    ck_assert_int_eq(stat(path, &s), 0);
    ck_assert_uint_eq(s.st_mode & 0777, 0644);
    kb_device_close(d);
    d = open_named("cuda:1");
    kb_device_close(d);
    ck_assert_int_eq(access(path, F_OK), 0);
    unlink(path);
}
END_TEST

static bool is_free(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    bool taken = flock(fd, LOCK_EX | LOCK_NB) != 0;
    close(fd);
    return !taken;
}

START_TEST(a_claim_is_on_one_gpu_and_ends_with_the_device)
{
    char zero[96], one[96];
    lock_path(0, zero, sizeof zero);
    lock_path(1, one, sizeof one);
    kb_device *other = open_named("cuda:1");
    ck_assert_int_eq(device->ops->claim(device, true), KB_OK);
    ck_assert(!is_free(zero));
    ck_assert(is_free(one));
    ck_assert_int_eq(other->ops->claim(other, true), KB_OK);
    ck_assert_int_eq(device->ops->claim(device, false), KB_OK);
    ck_assert(is_free(zero));
    kb_device_close(other);
    ck_assert(is_free(one));
}
END_TEST

/* ---- what a launch passes ---------------------------------------------------- */

static kb_object *build(kb_device *d, const char *source)
{
    struct kb_arg arg = { .mode = KB_OUT, .dtype = KB_F32, .count = 1 };
    struct kb_build b = { .source = source, .entry = "scale", .arg = &arg,
                          .args = 1, .timeout_ns = 20 * second };
    char log[4096];
    kb_object *o = NULL;
    kb_status st = kb_device_build(d, &b, log, sizeof log, &o);
    ck_assert_msg(st == KB_OK, "%s: %s", kb_status_name(st), log);
    return o;
}

#define KERNEL(name) "extern \"C\" __global__ void " name \
                     "(const float *x, float *y, int n) {}\n"

static kb_object *build_named(kb_device *d, const char *name)
{
    char source[256];
    snprintf(source, sizeof source, KERNEL("%s"), name);
    return build(d, source);
}

enum { N = 1000 };

static kb_buffers *buffers(kb_device *d)
{
    struct kb_arg arg[] = {
        { .mode = KB_IN, .dtype = KB_F32, .count = N },
        { .mode = KB_OUT, .dtype = KB_F32, .count = N },
        { .mode = KB_SCALAR, .dtype = KB_I32, .integer = N }
    };
    kb_buffers *b = NULL;
    ck_assert_int_eq(kb_buffers_new(d, arg, 3, 1, &b), KB_OK);
    ck_assert_int_eq(b->ops->fill(b, 0, 0, KB_FILL_NORMAL, 0, 1), KB_OK);
    ck_assert_int_eq(kb_buffers_poison(b, 2), KB_OK);
    return b;
}

static struct kb_launch launch_of(const char *name)
{
    struct kb_launch l = { .grid = { 4, 2, 1 }, .block = { 64, 3, 2 },
                           .shared_bytes = 128, .args = 3 };
    snprintf(l.kernel, sizeof l.kernel, "%s", name);
    for (uint32_t i = 0; i < 3; i++)
        l.arg[i].index = i;
    return l;
}

static kb_status start(kb_device *d, const kb_object *o, kb_buffers *b,
                       const struct kb_launch *l, kb_program **p, char *why)
{
    struct kb_plan plan = { .launch = { *l }, .launches = 1 };
    return kb_program_start(d, o, b, &plan, p, why, KB_DEVICE_WHY);
}

static kb_program *start_named(kb_device *d, const kb_object *o, kb_buffers *b,
                               const char *name)
{
    char why[KB_DEVICE_WHY];
    kb_program *p = NULL;
    struct kb_launch l = launch_of(name);
    kb_status st = start(d, o, b, &l, &p, why);
    ck_assert_msg(st == KB_OK, "%s: %s", kb_status_name(st), why);
    return p;
}

START_TEST(a_kernel_gets_the_grid_the_block_and_the_arguments_of_its_plan)
{
    int64_t elapsed_ns = 0;
    double x, y;
    kb_object *o = build_named(device, "scale");
    kb_buffers *b = buffers(device);
    kb_program *p = start_named(device, o, b, "scale");
    driver->used = 0;
    ck_assert_int_eq(p->ops->launch(p, 1, second, &elapsed_ns), KB_OK);
    ck_assert_str_eq(driver->log, "launch scale grid 4,2,1 block 64,3,2 "
                     "shared 128 pointer pointer 1000\n");
    ck_assert_int_eq((elapsed_ns + 500) / 1000, 40);
    for (size_t i = 0; i < N; i += 333) {
        ck_assert_int_eq(b->ops->get(b, 0, 0, i, &x), KB_OK);
        ck_assert_int_eq(b->ops->get(b, 1, 0, i, &y), KB_OK);
        ck_assert_double_eq_tol(y, 3 * x, 1e-5);
    }
    ck_assert_int_eq(p->ops->launch(p, 200, second, &elapsed_ns), KB_OK);
    ck_assert_int_eq((elapsed_ns + 500) / 1000, 200 * 40);
    kb_program_stop(p);
    kb_object_free(o);
    kb_buffers_free(b);
}
END_TEST

START_TEST(numbers_arrive_in_their_own_types)
{
    struct kb_arg arg[] = {
        { .mode = KB_IN, .dtype = KB_F32, .count = 1 },
        { .mode = KB_SCALAR, .dtype = KB_I64, .integer = 1ll << 40 },
        { .mode = KB_SCALAR, .dtype = KB_F32, .real = -0.5 }
    };
    struct kb_arg scratch = { .dtype = KB_F32, .count = 10 };
    struct kb_launch l = { .kernel = "numbers", .grid = { 1, 1, 1 },
        .block = { 1, 1, 1 }, .args = 6, .shared_bytes = 100000, .arg = {
        { KB_PASS_ARG, 0, 0 }, { KB_PASS_SCRATCH, 0, 0 },
        { KB_PASS_SCRATCH, 0, 0 }, { KB_PASS_INTEGER, 0, -7 },
        { KB_PASS_ARG, 1, 0 }, { KB_PASS_ARG, 2, 0 } } };
    struct kb_plan plan = { .launches = 1, .launch = { l }, .scratches = 1,
                            .scratch = { scratch } };
    char why[KB_DEVICE_WHY];
    kb_buffers *b = NULL;
    kb_program *p = NULL;
    kb_object *o = build(device, "extern \"C\" __global__ void numbers(float"
                         " *x, float *s, float *t, int i, long long l, float"
                         " f) {}");
    ck_assert_int_eq(kb_buffers_new(device, arg, 3, 1, &b), KB_OK);
    driver->used = 0;
    kb_status st = kb_program_start(device, o, b, &plan, &p, why, sizeof why);
    ck_assert_msg(st == KB_OK, "%s", why);
    ck_assert_int_eq(p->ops->launch(p, 1, second, NULL), KB_OK);
    ck_assert_str_eq(driver->log, "set numbers 8 100000\n"
                     "launch numbers grid 1,1,1 block 1,1,1 shared 100000 "
                     "pointer pointer pointer -7 1099511627776 -0.5\n");
    kb_program_stop(p);
    kb_object_free(o);
    kb_buffers_free(b);
}
END_TEST

/* A plan that does not fit is refused with a sentence, and frees what it
 * has taken. */
START_TEST(a_plan_that_does_not_fit_is_refused)
{
    struct kb_launch l[5];
    static const char *const says[] = {
        "no extern", "takes 3 parameters", "4 bytes, the plan passes a pointer",
        "threads a block", "shared memory"
    };
    char why[KB_DEVICE_WHY];
    kb_object *o = build_named(device, "scale");
    kb_buffers *b = buffers(device);
    int modules = driver->modules;
    for (int i = 0; i < 5; i++) {
        kb_program *p = NULL;
        l[i] = launch_of(i ? "scale" : "other");
        if (i == 1)
            l[i].args = 2;
        if (i == 2)
            l[i].arg[2].index = 1;
        if (i == 3)
            l[i].block[0] = 1024;
        if (i == 4)
            l[i].shared_bytes = 300000;
        ck_assert_int_eq(start(device, o, b, &l[i], &p, why), KB_EINVAL);
        ck_assert_msg(strstr(why, says[i]) != NULL, "%s", why);
        ck_assert_int_eq(driver->modules, modules);
        ck_assert_str_eq(device->lost, "");
    }
    kb_object_free(o);
    kb_buffers_free(b);
}
END_TEST

START_TEST(a_source_that_does_not_compile_is_ebuild)
{
    struct kb_arg arg = { .mode = KB_OUT, .dtype = KB_F32, .count = 1 };
    struct kb_build b = { .source = "#error no", .entry = "k", .arg = &arg,
                          .args = 1, .timeout_ns = 20 * second };
    char log[4096];
    kb_object *o = NULL;
    ck_assert_int_eq(kb_device_build(device, &b, log, sizeof log, &o),
                     KB_EBUILD);
    ck_assert_ptr_nonnull(strstr(log, "#error"));
    ck_assert_ptr_null(o);
}
END_TEST

/* It outlives its device, as all that is made of one. */
START_TEST(an_adopted_cubin_is_an_object_of_the_device)
{
    char log[512] = "?";
    kb_object *own = build_named(device, "scale"), *adopted = NULL;
    struct kb_build b = { .cubin = own->cubin, .cubin_bytes = own->cubin_bytes };
    ck_assert_ptr_nonnull(b.cubin);
    ck_assert_int_eq(kb_device_build(device, &b, log, sizeof log, &adopted),
                     KB_OK);
    ck_assert_str_eq(log, "");
    kb_object_free(own);
    struct kb_facts facts;
    ck_assert_int_eq(adopted->ops->facts(adopted, "scale", &facts), KB_OK);
    kb_device *other = open_named("cuda:0");
    b = (struct kb_build){ .cubin = "no cubin", .cubin_bytes = 8 };
    ck_assert_int_eq(kb_device_build(other, &b, log, sizeof log, &own),
                     KB_EDENIED);
    ck_assert_str_ne(log, "");
    kb_device_close(other);
    kb_object_free(adopted);
}
END_TEST

START_TEST(no_memory_is_no_loss)
{
    struct kb_arg arg = { .mode = KB_IN, .dtype = KB_F32,
                          .count = (uint64_t)1 << 30 };
    struct kb_arg two[] = { arg, arg };
    kb_buffers *b = NULL;
    int blocks = driver->blocks;
    ck_assert_int_eq(kb_buffers_new(device, two, 2, 1, &b), KB_ENOMEM);
    ck_assert_ptr_null(b);
    ck_assert_int_eq(driver->blocks, blocks);
    ck_assert_str_eq(device->lost, "");
    kb_buffers_free(buffers(device));
}
END_TEST

static const struct { const char *name; int damaged; } misdeeds[] = {
    { "scale", -1 }, { "scale_beside", 1 }, { "scale_input", 0 }
};

START_TEST(what_is_written_beside_or_into_an_input_is_found)
{
    size_t slot;
    int arg = -1;
    kb_object *o = build_named(device, misdeeds[_i].name);
    kb_buffers *b = buffers(device);
    kb_program *p = start_named(device, o, b, misdeeds[_i].name);
    ck_assert_int_eq(p->ops->launch(p, 1, second, NULL), KB_OK);
    ck_assert_int_eq(b->ops->damaged(b, &arg, &slot), KB_OK);
    ck_assert_int_eq(arg, misdeeds[_i].damaged);
    kb_program_stop(p);
    kb_object_free(o);
    kb_buffers_free(b);
}
END_TEST

/* ---- the end ------------------------------------------------------------------ */

struct life {
    kb_device *device;
    kb_object *object;
    kb_buffers *buffers;
    kb_program *program;
};

static struct life live(const char *name)
{
    struct life l = { .device = open_named("cuda:0") };
    l.object = build_named(l.device, name);
    l.buffers = buffers(l.device);
    l.program = start_named(l.device, l.object, l.buffers, name);
    return l;
}

static void end_one(struct life *l, int which)
{
    switch (which) {
    case 0: kb_device_close(l->device); break;
    case 1: kb_object_free(l->object); break;
    case 2: kb_buffers_free(l->buffers); break;
    default: kb_program_stop(l->program); break;
    }
}

/* _i counts the 24 orders. */
static void end_all(struct life *l, int order)
{
    int left[] = { 0, 1, 2, 3 };
    for (int n = 4; n > 0; n--) {
        int i = order % n;
        order /= n;
        end_one(l, left[i]);
        left[i] = left[n - 1];
    }
}

START_TEST(things_are_freed_in_any_order)
{
    struct life l = live("scale");
    end_all(&l, _i);
    check_nothing_left();
}
END_TEST

START_TEST(a_program_runs_on_after_its_device_was_closed)
{
    struct life l = live("scale");
    kb_device_close(l.device);
    ck_assert_int_eq(l.program->ops->launch(l.program, 1, second, NULL), KB_OK);
    ck_assert_int_eq(driver->late, 0);
    kb_program_stop(l.program);
    kb_buffers_free(l.buffers);
    kb_object_free(l.object);
    check_nothing_left();
}
END_TEST

/* Nothing more is asked of a driver that a kernel has broken, in whatever
 * order things end. */
START_TEST(a_broken_driver_is_left_alone)
{
    double y;
    struct life l = live("scale_fault");
    int64_t elapsed_ns = 0;
    ck_assert_int_eq(l.program->ops->launch(l.program, 1, second, &elapsed_ns),
                     KB_ECRASH);
    ck_assert_ptr_nonnull(strstr(l.program->why,
                                 "CUDA_ERROR_ILLEGAL_ADDRESS"));
    ck_assert_ptr_nonnull(strstr(l.device->lost, "illegal"));
    unsigned long calls = driver->calls;
    ck_assert_int_ne(l.program->ops->launch(l.program, 1, second, NULL), KB_OK);
    ck_assert_int_eq(l.buffers->ops->get(l.buffers, 1, 0, 0, &y), KB_ECRASH);
    ck_assert_int_eq(kb_buffers_poison(l.buffers, 3), KB_ECRASH);
    end_all(&l, _i);
    ck_assert_uint_eq(driver->calls, calls);
}
END_TEST

START_TEST(a_claim_is_kept_until_a_faulted_kernel_is_cleared_away)
{
    char zero[96];
    lock_path(0, zero, sizeof zero);
    struct life l = live("scale_fault");
    ck_assert_int_eq(l.device->ops->claim(l.device, true), KB_OK);
    ck_assert_int_eq(l.program->ops->launch(l.program, 1, second, NULL),
                     KB_ECRASH);
    ck_assert_int_eq(l.device->ops->claim(l.device, false), KB_OK);
    ck_assert(!is_free(zero));
    end_all(&l, 0);
    ck_assert(is_free(zero));
}
END_TEST

START_TEST(a_kernel_that_does_not_end_costs_the_device)
{
    struct life l = live("scale_hang");
    ck_assert_int_eq(l.program->ops->launch(l.program, 1, second / 20, NULL),
                     KB_ETIME);
    ck_assert_str_eq(l.device->lost, "did not return in time");
    unsigned long calls = driver->calls;
    ck_assert_int_eq(l.program->ops->launch(l.program, 1, second, NULL),
                     KB_EWORKER);
    end_all(&l, 0);
    ck_assert_uint_eq(driver->calls, calls);
}
END_TEST

START_TEST(a_fault_that_is_reported_late_is_a_crash)
{
    struct life l = live("scale_hang");
    driver->fail = "cuStreamQuery";
    driver->after = 100;
    driver->code = 700;
    ck_assert_int_eq(l.program->ops->launch(l.program, 1, 1, NULL), KB_ECRASH);
    ck_assert_ptr_nonnull(strstr(l.device->lost, "ILLEGAL_ADDRESS"));
    driver->fail = NULL;
    end_all(&l, 0);
}
END_TEST

START_TEST(things_of_two_devices_do_not_go_together)
{
    char why[KB_DEVICE_WHY] = "";
    struct kb_compare r;
    struct kb_bound bound = kb_tensor_bound(KB_F32, 1);
    struct kb_arg arg[] = {
        { .mode = KB_IN, .dtype = KB_F32, .count = N },
        { .mode = KB_OUT, .dtype = KB_F64, .count = N },
        { .mode = KB_SCALAR, .dtype = KB_I32, .integer = N }
    };
    kb_device *other = open_named("cuda:1");
    kb_object *o = build_named(device, "scale"), *o2 = build_named(other,
                                                                   "scale");
    kb_buffers *b = buffers(device), *b2 = NULL, *b1 = NULL;
    kb_program *p = NULL;
    struct kb_launch l = launch_of("scale");
    ck_assert_int_eq(kb_buffers_new(other, arg, 3, 1, &b2), KB_OK);
    ck_assert_int_eq(kb_buffers_new(device, arg, 3, 1, &b1), KB_OK);
    ck_assert_int_eq(start(device, o2, b, &l, &p, why), KB_EINVAL);
    ck_assert_msg(strstr(why, "another device") != NULL, "%s", why);
    ck_assert_int_eq(start(device, o, b2, &l, &p, why), KB_EINVAL);
    ck_assert_int_eq(start(other, o, b, &l, &p, why), KB_EINVAL);
    ck_assert_int_eq(kb_buffers_take(b, b2, 0), KB_EINVAL);
    ck_assert_int_eq(kb_buffers_compare(b, 1, 0, b2, NULL, &bound, &r),
                     KB_EINVAL);
    ck_assert_int_eq(kb_buffers_compare(b, 1, 0, b1, b2, &bound, &r),
                     KB_EINVAL);
    ck_assert_int_eq(kb_buffers_compare(b, 1, 0, b1, b1, &bound, &r), KB_OK);
    kb_buffers_free(b);
    kb_buffers_free(b1);
    kb_buffers_free(b2);
    kb_object_free(o);
    kb_object_free(o2);
    kb_device_close(other);
}
END_TEST

static void add_opening(Suite *s)
{
    TCase *t = tcase_create("opening");
    tcase_add_test(t, a_gpu_is_opened_by_its_number);
    tcase_add_loop_test(t, a_name_that_is_no_gpus_opens_none, 0,
                        sizeof no_gpus / sizeof *no_gpus);
    tcase_add_test(t, the_language_is_that_of_a_devices_name_alone);
    tcase_add_loop_test(t,
                        whatever_fails_while_it_opens_is_told_and_leaves_nothing,
                        0, sizeof bad / sizeof *bad);
    tcase_add_test(t, a_machine_without_gpus_says_so);
    tcase_add_test(t, the_devices_own_kernels_compile);
    tcase_add_test(t, the_lock_is_everyones_whatever_the_umask);
    suite_add_tcase(s, t);
}

static void remove_remains(void)
{
    char path[96];
    for (int i = 0; i < 2; i++) {
        lock_path(i, path, sizeof path);
        unlink(path);
    }
    toolkit_remove(cache);
}

static Suite *tests(void)
{
    if (!load_stub())
        exit(EXIT_FAILURE);
    Suite *s = suite_create("cuda");
    add_opening(s);
    TCase *t = tcase_create("launches");
    tcase_add_checked_fixture(t, open_device, close_device);
    tcase_add_test(t, a_claim_is_on_one_gpu_and_ends_with_the_device);
    tcase_add_test(t,
        a_kernel_gets_the_grid_the_block_and_the_arguments_of_its_plan);
    tcase_add_test(t, numbers_arrive_in_their_own_types);
    tcase_add_test(t, a_plan_that_does_not_fit_is_refused);
    tcase_add_test(t, a_source_that_does_not_compile_is_ebuild);
    tcase_add_test(t, an_adopted_cubin_is_an_object_of_the_device);
    tcase_add_test(t, no_memory_is_no_loss);
    tcase_add_loop_test(t, what_is_written_beside_or_into_an_input_is_found,
                        0, 3);
    tcase_add_test(t, things_of_two_devices_do_not_go_together);
    suite_add_tcase(s, t);
    TCase *e = tcase_create("the end");
    tcase_add_loop_test(e, things_are_freed_in_any_order, 0, 24);
    tcase_add_test(e, a_program_runs_on_after_its_device_was_closed);
    tcase_add_loop_test(e, a_broken_driver_is_left_alone, 0, 24);
    tcase_add_test(e, a_kernel_that_does_not_end_costs_the_device);
    tcase_add_test(e, a_fault_that_is_reported_late_is_a_crash);
    tcase_add_test(e,
        a_claim_is_kept_until_a_faulted_kernel_is_cleared_away);
    tcase_add_unchecked_fixture(e, NULL, remove_remains);
    suite_add_tcase(s, e);
    return s;
}

TEST_MAIN(tests)
