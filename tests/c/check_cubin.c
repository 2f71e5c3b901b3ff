/* This file tests core/cuda/compile/cubin.c. It checks the facts that are read
 * from a cubin, which cubins are refused, and that damaged files are read
 * within bounds. Most tests need NVRTC. */
#include "cuda/compile/cubin.h"
#include "../lib/check_main.h"
#include "../lib/toolkit.h"

#define COUNT(a) ((int)(sizeof (a) / sizeof *(a)))

static const int64_t second = 1000000000;
static char exe[4096], cache[64];
static kb_nvrtc *server;

static void open_server(void)
{
    const char *why = "?";
    ck_assert(toolkit_exe(exe, sizeof exe));
    ck_assert(toolkit_cache(cache, sizeof cache));
    kb_status st = kb_nvrtc_open(exe, &server, &why);
    ck_assert_msg(st == KB_OK, "%s: %s", kb_status_name(st), why);
}

static void close_server(void)
{
    kb_nvrtc_close(server);
    toolkit_remove(cache);
}

static char *compile(const char *source, const char *arch, size_t *n)
{
    struct kb_nvrtc_build b = { source, strlen(source), arch, 30 * second };
    char log[KB_NVRTC_LOG_BYTES];
    char *cubin = NULL;
    kb_status st = kb_nvrtc_make(server, &b, log, sizeof log, &cubin, n);
    ck_assert_msg(st == KB_OK, "%s: %s", kb_status_name(st), log);
    return cubin;
}

static kb_status open_bytes(const void *bytes, size_t n, uint32_t sm,
                            kb_cubin **c, char *why)
{
    kb_status st = kb_cubin_open(bytes, n, sm, c, why, KB_CUBIN_WHY);
    ck_assert_int_eq(st == KB_OK, why[0] == '\0');
    if (st == KB_OK)
        ck_assert_mem_eq((*c)->bytes, bytes, n);
    return st;
}

static const char two[] =
    "struct pair { float a[5]; int b; };"
    "extern \"C\" __global__ void __launch_bounds__(128)"
    " first(const float *x, float *y, char c, long long n, pair p) {"
    "  __shared__ float s[300]; s[threadIdx.x] = x[n]; __syncthreads();"
    "  y[n] = s[threadIdx.x ^ 1] + p.a[c & 3] + p.b; }"
    "extern __shared__ float dynamic[];"
    "extern \"C\" __global__ void second(float *y) {"
    "  float keep[40]; for (int i = 0; i < 80; i++) keep[(int)y[i] % 40] = i;"
    "  dynamic[threadIdx.x] = keep[(int)y[1]]; __syncthreads();"
    "  y[0] = dynamic[threadIdx.x ^ 1]; }"
    "extern \"C\" __global__ void none() {}";

static const struct {
    const char *arch;
    uint32_t sm;
} archs[] = {
    { "sm_80", 80 }, { "sm_86", 86 }, { "sm_89", 89 }, { "sm_90", 90 },
    { "sm_90a", 90 }, { "sm_100", 100 }, { "sm_100a", 100 },
    { "sm_120", 120 }
};

static void entries_of(const char *arch, uint32_t sm)
{
    static const uint32_t bytes[] = { 8, 8, 1, 8, 24 };
    size_t n = 0;
    char why[KB_CUBIN_WHY];
    kb_cubin *c = NULL;
    const struct kb_cubin_entry *e;
    char *cubin = compile(two, arch, &n);
    kb_status st = open_bytes(cubin, n, sm, &c, why);
    ck_assert_msg(st == KB_OK, "%s: %s", arch, why);
    ck_assert_uint_eq(c->entries, 3);

    ck_assert_ptr_nonnull(e = kb_cubin_find(c, "first"));
    ck_assert_uint_eq(e->params, 5);
    for (size_t i = 0; i < 5; i++) {
        ck_assert_uint_eq(e->param_bytes[i], bytes[i]);
    }
    ck_assert_uint_eq(e->shared_bytes, 1200);
    ck_assert_uint_eq(e->local_bytes, 0);
    ck_assert(e->registers >= 4 && e->registers <= 255);

    ck_assert_ptr_nonnull(e = kb_cubin_find(c, "second"));
    ck_assert_uint_eq(e->params, 1);
    ck_assert_uint_eq(e->shared_bytes, 0);
    ck_assert_uint_ge(e->local_bytes, 160);

    ck_assert_ptr_nonnull(e = kb_cubin_find(c, "none"));
    ck_assert_uint_eq(e->params, 0);
    ck_assert_ptr_null(kb_cubin_find(c, "third"));
    size_t first = 0;
    for (size_t i = 0; i < c->entries; i++)
        first += strcmp(c->entry[i].name, "first") == 0;
    ck_assert_uint_eq(first, 1);
    kb_cubin_close(c);
    free(cubin);
}

START_TEST(entries_tell_what_they_need)
{
    for (int i = 0; i < COUNT(archs); i++)
        entries_of(archs[i].arch, archs[i].sm);
}
END_TEST

#define KERNEL(body) \
    "extern \"C\" __global__ void k(float *y, int n) {" body "}"

static const struct {
    const char *source, *why;
} admission[] = {
    { KERNEL("printf(\"%d\", n);"), "printf" },
    { KERNEL("float *p = (float *)malloc(n); y[0] = *p; free(p);"), "device" },
    { KERNEL("float *p = new float[n]; y[0] = p[1];"), "malloc" },
    { KERNEL("assert(n > 2); y[0] = n;"), "assert" },
    { "__device__ int calls;" KERNEL("y[0] = calls++;"), "keeps calls" },
    { "__device__ int calls = 3;" KERNEL("y[0] = calls++;"), "keeps calls" },
    { "static __device__ float big[1000];"
      KERNEL("y[0] = big[n]++;"), "keeps big" },
    { "__managed__ int calls;" KERNEL("y[0] = calls++;"), "keeps calls" },
    { KERNEL("static int calls; y[0] = calls++;"), "calls" },
    { KERNEL("y[0] = \"abcdefg\"[n];"), "string" },
    { "namespace cuda { namespace std { namespace __4 { __device__ int"
      " calls[4]; } } }" KERNEL("y[0] = cuda::std::__4::calls[n]++;"),
      "calls" },
    { "__device__ void f() {}", "no kernel" },
    { "__constant__ float t[4] = { 1, 2, 3, 4 };" KERNEL("y[0] = t[n];"), "" },
    { KERNEL("const float t[4] = { 1, 2, 3, 4 }; y[0] = t[n];"), "" },
    { KERNEL("y[0] = sinf(y[1]) + cosf(y[2]) + (float)sin((double)y[3]);"),
      "" },
    { "#include <cooperative_groups.h>\n"
      KERNEL("cooperative_groups::this_thread_block().sync(); y[0] = n;"),
      "" },
    { "__device__ __noinline__ float f(float x, int n) {"
      " return n ? f(x * x, n - 1) + 1 : x; }"
      KERNEL("y[0] = f(y[1], n);"), "" },
};

static void admit(const char *source, const char *refusal)
{
    size_t n = 0;
    char why[KB_CUBIN_WHY];
    kb_cubin *c = NULL;
    char *cubin = compile(source, "sm_90a", &n);
    kb_status st = open_bytes(cubin, n, 90, &c, why);
    ck_assert_msg(st == (*refusal ? KB_EINVAL : KB_OK), "%s: %s: %s", source,
                  kb_status_name(st), why);
    ck_assert(!*refusal == (c != NULL));
    ck_assert_msg(strstr(why, refusal) != NULL, "%s: %s", source, why);
    kb_cubin_close(c);
    free(cubin);
}

START_TEST(admission_tells_what_it_refuses)
{
    for (int i = 0; i < COUNT(admission); i++)
        admit(admission[i].source, admission[i].why);
}
END_TEST

START_TEST(a_cubin_for_another_architecture_is_refused)
{
    size_t n = 0;
    char why[KB_CUBIN_WHY];
    kb_cubin *c = NULL;
    char *cubin = compile(KERNEL(), "sm_80", &n);
    ck_assert_int_eq(open_bytes(cubin, n, 90, &c, why), KB_EINVAL);
    ck_assert_str_eq(why, "a cubin for sm_80, and the device is sm_90");
    ck_assert_int_eq(open_bytes(cubin, n, 0, &c, why), KB_OK);
    kb_cubin_close(c);
    free(cubin);
}
END_TEST

START_TEST(a_cubin_cut_anywhere_is_refused_or_read_within_bounds)
{
    size_t n = 0;
    char why[KB_CUBIN_WHY];
    char *cubin = compile(two, "sm_90a", &n);
    for (size_t cut = 0; cut < n; cut += cut < 512 || n - cut < 600 ? 1 : 37) {
        kb_cubin *c = NULL;
        unsigned char *part = malloc(cut + 1);  /* its end is a red zone */
        memcpy(part, cubin, cut);
        kb_status st = open_bytes(part, cut, 0, &c, why);
        ck_assert(st == KB_OK || st == KB_EINVAL);
        kb_cubin_close(c);
        free(part);
    }
    free(cubin);
}
END_TEST

START_TEST(a_cubin_with_any_bytes_changed_is_read_within_bounds)
{
    size_t n = 0, opened = 0;
    char why[KB_CUBIN_WHY];
    uint64_t seed = 88172645463325252u;         /* Marsaglia's xorshift64 */
    char *cubin = compile(two, "sm_80", &n), *other = malloc(n);
    for (int round = 0; round < 4000; round++) {
        memcpy(other, cubin, n);
        for (int k = 0; k < 1 + round % 8; k++) {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            size_t at = round % 2 ? seed % n : seed % 3000 % n;
            other[at] = (char)(seed >> 40);
        }
        kb_cubin *c = NULL;
        if (open_bytes(other, n, 0, &c, why) == KB_OK)
            opened++;
        kb_cubin_close(c);
    }
    ck_assert_uint_gt(opened, 0);
    free(other);
    free(cubin);
}
END_TEST

static const struct {
    size_t n, at;
    unsigned char byte;
    const char *why;
} junk[] = {
    { 0, 0, 0, "not a cubin: 0 bytes" }, { 63, 0, 0, "not a cubin: 63 bytes" },
    { 64, 0, 0, "not a 64-bit ELF file" },
    { 5000, 0, 0, "not a 64-bit ELF file" },
};

START_TEST(what_is_no_elf_is_refused)
{
    unsigned char bytes[5000] = { 0 };
    char why[KB_CUBIN_WHY];
    kb_cubin *c = NULL;
    ck_assert_int_eq(open_bytes(bytes, junk[_i].n, 0, &c, why), KB_EINVAL);
    ck_assert_str_eq(why, junk[_i].why);
    ck_assert_ptr_null(c);
}
END_TEST

START_TEST(an_elf_of_the_host_is_refused)
{
    static unsigned char bytes[1 << 16];
    char why[KB_CUBIN_WHY];
    kb_cubin *c = NULL;
    FILE *f = fopen("/proc/self/exe", "r");
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    ck_assert_int_eq(open_bytes(bytes, n, 0, &c, why), KB_EINVAL);
    ck_assert_ptr_nonnull(strstr(why, "not for CUDA"));
}
END_TEST

static Suite *tests(void)
{
    Suite *s = suite_create("cubin");
    TCase *t = tcase_create("anywhere");
    tcase_add_loop_test(t, what_is_no_elf_is_refused, 0, COUNT(junk));
    tcase_add_test(t, an_elf_of_the_host_is_refused);
    suite_add_tcase(s, t);
    if (toolkit_present("check_cubin")) {
        t = tcase_create("toolkit");
        tcase_add_checked_fixture(t, open_server, close_server);
        tcase_add_test(t, entries_tell_what_they_need);
        tcase_add_test(t, admission_tells_what_it_refuses);
        tcase_add_test(t, a_cubin_for_another_architecture_is_refused);
        tcase_add_test(t,
            a_cubin_cut_anywhere_is_refused_or_read_within_bounds);
        tcase_add_test(t,
            a_cubin_with_any_bytes_changed_is_read_within_bounds);
        suite_add_tcase(s, t);
    }
    return s;
}

TEST_MAIN(tests)
