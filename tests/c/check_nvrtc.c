/* This file tests core/cuda/compile/nvrtc.c and the files nvrtc_child.c and
 * nvrtc_cache.c beside it. It checks jailed compilation, deadlines, the cubin
 * cache and the recovery from a dead process. Most tests need NVRTC. */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "clock.h"
#include "../lib/check_main.h"
#include "../lib/toolkit.h"

#define COUNT(a) ((int)(sizeof (a) / sizeof *(a)))

static const int64_t second = 1000000000, ms = 1000000;
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

/* A number that changes when a file of the cache is made or made anew. */
static uint64_t cache_state(size_t *files)
{
    char dir[128];
    uint64_t state = 0;
    *files = 0;
    snprintf(dir, sizeof dir, "%s/kernelband", cache);
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d)); )
        if (e->d_name[0] != '.') {
            state += e->d_ino * 0x9e3779b97f4a7c15u;
            ++*files;
        }
    if (d)
        closedir(d);
    return state;
}

static bool cached;             /* the last make left the cache as it was */

static kb_status make(const char *source, const char *arch, int64_t timeout_ns,
                      char *log)
{
    size_t files;
    uint64_t before = cache_state(&files);
    struct kb_nvrtc_build b = { source, strlen(source), arch, timeout_ns };
    char *cubin = NULL;
    size_t n = 0;
    kb_status st = kb_nvrtc_make(server, &b, log, KB_NVRTC_LOG_BYTES, &cubin,
                                 &n);
    cached = cache_state(&files) == before && files > 0;
    if (st == KB_OK) {
        ck_assert_uint_gt(n, 64);
        ck_assert_mem_eq(cubin, "\177ELF", 4);
    } else {
        ck_assert_ptr_null(cubin);
    }
    free(cubin);
    return st;
}

#define KERNEL(body) \
    "extern \"C\" __global__ void k(float *y, int n) {" body "}"

/* By tests/lib/nvrtc/stand_in.c; times in a row by one server. */
static void make_by_stand_in(int times, char *log)
{
    char dir[] = "/tmp/kb-nvrtc-XXXXXX", command[256];
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(command, sizeof command, "mkdir '%s/lib' && cc -shared -fPIC -o "
             "'%s/lib/libnvrtc.so.13' tests/lib/nvrtc/stand_in.c", dir, dir);
    ck_assert_int_eq(system(command), 0);
    setenv("KERNELBAND_CUDA", dir, 1);
    open_server();
    for (int i = 0; i < times; i++) {
        char source[128];
        snprintf(source, sizeof source, KERNEL("y[0] = n;") "// %d", i);
        kb_status st = make(source, "sm_90", 20 * second, log);
        ck_assert_msg(st == KB_OK, "%s: %s", kb_status_name(st), log);
    }
    close_server();
    unsetenv("KERNELBAND_CUDA");
    toolkit_remove(dir);
}

START_TEST(address_space_that_is_only_reserved_is_no_memory)
{
    char log[KB_NVRTC_LOG_BYTES];
    make_by_stand_in(1, log);
}
END_TEST

START_TEST(the_driver_behind_the_compiler_is_shown_no_gpu)
{
    char log[KB_NVRTC_LOG_BYTES];
    make_by_stand_in(3, log);
    ck_assert_str_eq(log, "devices at first empty, then unset");
}
END_TEST

static const char *const archs[] = {
    "sm_80", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_120"
};

START_TEST(a_good_kernel_compiles_for_every_architecture)
{
    char log[KB_NVRTC_LOG_BYTES];
    for (int i = 0; i < COUNT(archs); i++) {
        kb_status st = make(KERNEL("y[threadIdx.x] = n;"), archs[i],
                            20 * second, log);
        ck_assert_msg(st == KB_OK, "%s: %s: %s", archs[i], kb_status_name(st),
                      log);
        ck_assert_msg(strstr(log, "Function properties for k") != NULL,
                      "%s: %s", archs[i], log);
    }
}
END_TEST

START_TEST(the_toolkits_headers_are_there)
{
    char log[KB_NVRTC_LOG_BYTES];
    kb_status st = make("#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
                        "#include <mma.h>\n#include <cuda_pipeline.h>\n"
                        KERNEL("y[0] = __half2float(__int2half_rn(n));"),
                        "sm_90a", 30 * second, log);
    ck_assert_msg(st == KB_OK, "%s: %s", kb_status_name(st), log);
}
END_TEST

static const struct {
    const char *source, *says;
} refused[] = {
    { KERNEL("y[0] = nothing;"), "\"nothing\" is undefined" },
    { "\"", "kernel.cu(1)" },
    { "#include \"/etc/passwd\"\n", "cannot open source file" },
    { "#include \"/proc/self/environ\"\n", "cannot open source file" },
    { "#include \"../../../../../../etc/passwd\"\n", "cannot open source" },
    { "#include </usr/include/stdio.h>\n", "cannot open source file" },
    { "#include \"/\"\n", "cannot open source file" },
    { "#include \"/dev/stdin\"\n", "cannot open source file" },
    { KERNEL("asm volatile(\"nonsense;\");"), "ptxas" },
    { "extern __device__ float far(int);" KERNEL("y[0] = far(n);"), "far" },
    { "extern \"C\" __device__ int cudaDeviceSynchronize();"
      KERNEL("y[0] = cudaDeviceSynchronize();"), "cudaDevice" },
    { "extern \"C\" __global__ void c() {}" KERNEL("c<<<1, 1>>>();"),
      "device-side kernel launch" },
};

START_TEST(a_refused_source_is_ebuild_with_the_compilers_words)
{
    char log[KB_NVRTC_LOG_BYTES];
    for (int i = 0; i < COUNT(refused); i++) {
        const char *source = refused[i].source;
        kb_status st = make(source, "sm_80", 20 * second, log);
        ck_assert_msg(st == KB_EBUILD, "%s: %s", source, kb_status_name(st));
        ck_assert_msg(strstr(log, refused[i].says) != NULL, "%s: %s", source,
                      log);
        ck_assert_ptr_null(strstr(log, "root:"));
        ck_assert_ptr_null(strstr(log, "XDG_CACHE"));
    }
}
END_TEST

START_TEST(no_file_outside_can_be_told_from_one_that_is_not)
{
    static const char *const there[] = {
        "/etc/passwd", "/proc/self/environ", "/usr", "/bin/sh", "/tmp",
        "/root", "/home", "/dev/null", "../etc/passwd", "/proc/1/cmdline"
    };
    char log[KB_NVRTC_LOG_BYTES], source[512];
    for (size_t i = 0; i < sizeof there / sizeof *there; i++) {
        snprintf(source, sizeof source, "#if __has_include(\"%s\")\n#error "
                 "oracle\n#endif\n" KERNEL(), there[i]);
        kb_status st = make(source, "sm_80", 20 * second, log);
        ck_assert_msg(st == KB_OK, "%s: %s", there[i], log);
    }
}
END_TEST

START_TEST(a_log_is_cut_and_printable)
{
    char log[KB_NVRTC_LOG_BYTES], source[20000] = "";
    for (int i = 0; i < 300; i++)
        sprintf(source + strlen(source),
                "int f%d() { return no_%d; /* \x01\xc3\xa9 */ }\n", i, i);
    ck_assert_int_eq(make(source, "sm_80", 20 * second, log), KB_EBUILD);
    ck_assert_uint_lt(strlen(log), KB_NVRTC_LOG_BYTES);
    ck_assert_uint_gt(strlen(log), KB_NVRTC_LOG_BYTES - 64);
    ck_assert_ptr_nonnull(strstr(log, "[cut]"));
    for (const char *p = log; *p; p++)
        ck_assert((*p >= ' ' && *p <= '~') || *p == '\n' || *p == '\t');
}
END_TEST

static const char bomb[] =
    "template<int D, class T, class U> struct H {"
    " typedef typename H<D-1, H<D,T,U>, U>::t a;"
    " typedef typename H<D-1, T, H<D,U,T>>::t t; };"
    "template<class T, class U> struct H<0,T,U> { typedef T t; };"
    KERNEL("H<30,int,char>::t x; y[0] = sizeof x;");

START_TEST(a_bomb_ends_at_the_deadline_and_the_server_goes_on)
{
    char log[KB_NVRTC_LOG_BYTES];
    ck_assert_int_eq(make(KERNEL(), "sm_80", 20 * second, log), KB_OK);
    ck_assert_int_eq(make(bomb, "sm_80", 300 * ms, log), KB_ETIME);
    ck_assert_str_eq(log, "the compiler did not finish in 300 ms");
    ck_assert_int_eq(make(KERNEL("y[1] = 1;"), "sm_80", 20 * second, log),
                     KB_OK);
}
END_TEST

static const struct {
    const char *source, *arch;
    int64_t timeout_ns;
} bad[] = {
    { KERNEL(), "", 1 }, { KERNEL(), "sm_9", 1 }, { KERNEL(), "sm_90x", 1 },
    { KERNEL(), "compute_90", 1 }, { KERNEL(), "sm_90 -I/", 1 },
    { KERNEL(), "sm_80", 0 }, { "", "sm_80", 1 },
};

START_TEST(a_bad_request_is_einval)
{
    char log[KB_NVRTC_LOG_BYTES];
    for (int i = 0; i < COUNT(bad); i++) {
        kb_status st = make(bad[i].source, bad[i].arch, bad[i].timeout_ns,
                            log);
        ck_assert_msg(st == KB_EINVAL, "%d: %s", i, kb_status_name(st));
    }
}
END_TEST

START_TEST(an_architecture_that_nvrtc_does_not_know_is_enodev)
{
    char log[KB_NVRTC_LOG_BYTES];
    ck_assert_int_eq(make(KERNEL(), "sm_30", 20 * second, log), KB_ENODEV);
    ck_assert_ptr_nonnull(strstr(log, "arch"));
}
END_TEST

/* The only file of the cache. */
static void cache_file(char *path, size_t cap)
{
    char dir[128];
    size_t found = 0;
    snprintf(dir, sizeof dir, "%s/kernelband", cache);
    DIR *d = opendir(dir);
    ck_assert_ptr_nonnull(d);
    for (struct dirent *e; (e = readdir(d)); )
        if (e->d_name[0] != '.') {
            snprintf(path, cap, "%s/%s", dir, e->d_name);
            found++;
        }
    closedir(d);
    ck_assert_uint_eq(found, 1);
}

START_TEST(the_cache_answers_what_was_compiled_and_nothing_else)
{
    char log[KB_NVRTC_LOG_BYTES], again[KB_NVRTC_LOG_BYTES], path[512];
    const char *source = KERNEL("y[2] = n;");
    ck_assert_int_eq(make(source, "sm_80", 20 * second, log), KB_OK);
    ck_assert(!cached);
    ck_assert_int_eq(make(source, "sm_80", 20 * second, again), KB_OK);
    ck_assert(cached);
    ck_assert_str_eq(log, again);
    cache_file(path, sizeof path);

    ck_assert_int_eq(make(source, "sm_90", 20 * second, log), KB_OK);
    ck_assert(!cached);
    for (int i = 0; i < 2; i++) {       /* a failure is not kept */
        ck_assert_int_eq(make(KERNEL("!"), "sm_80", 20 * second, log),
                         KB_EBUILD);
        ck_assert(cached);
    }
}
END_TEST

/* What is done to the file: cut to that many bytes (negative: to so many less),
 * or one byte changed there. */
static const struct {
    long cut, change;
} damage[] = {
    { 0, -1 }, { 40, -1 }, { 100, -1 }, { -1, -1 }, { 1 << 20, 0 },
    { 1 << 20, 8 }, { 1 << 20, 15 }, { 1 << 20, 40 }, { 1 << 20, 60 },
    { 1 << 20, 1000 }
};

static void damage_file(const char *path, long cut, long change)
{
    struct stat s;
    ck_assert_int_eq(stat(path, &s), 0);
    if (cut < 0)
        cut += s.st_size;
    if (cut < s.st_size)
        ck_assert_int_eq(truncate(path, cut), 0);
    if (change >= 0) {
        int fd = open(path, O_RDWR);
        char byte;
        ck_assert_int_eq(pread(fd, &byte, 1, change), 1);
        byte ^= 0x20;
        ck_assert_int_eq(pwrite(fd, &byte, 1, change), 1);
        close(fd);
    }
}

START_TEST(a_damaged_file_of_the_cache_is_not_used)
{
    char log[KB_NVRTC_LOG_BYTES], path[512];
    ck_assert_int_eq(make(KERNEL(), "sm_80", 20 * second, log), KB_OK);
    for (int i = 0; i < COUNT(damage); i++) {
        cache_file(path, sizeof path);
        damage_file(path, damage[i].cut, damage[i].change);
        ck_assert_int_eq(make(KERNEL(), "sm_80", 20 * second, log), KB_OK);
        ck_assert_msg(!cached, "damage %d", i);
        ck_assert_int_eq(make(KERNEL(), "sm_80", 20 * second, log), KB_OK);
        ck_assert_msg(cached, "damage %d", i);
    }
}
END_TEST

START_TEST(a_cache_that_others_write_or_that_cannot_be_written_is_not_used)
{
    char log[KB_NVRTC_LOG_BYTES], dir[128];
    snprintf(dir, sizeof dir, "%s/kernelband", cache);
    ck_assert_int_eq(mkdir(dir, 0700), 0);
    ck_assert_int_eq(chmod(dir, 0777), 0);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(make(KERNEL(), "sm_80", 20 * second, log), KB_OK);
        ck_assert(!cached);
    }
    setenv("XDG_CACHE_HOME", "/proc/none", 1);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(make(KERNEL(), "sm_80", 20 * second, log), KB_OK);
        ck_assert(!cached);
    }
}
END_TEST

/* By tests/lib/stub/nvrtc.c, which compiles in no time. */
static void open_stub(void)
{
    char root[4200];
    ck_assert(toolkit_exe(exe, sizeof exe));
    toolkit_stub(exe, root, sizeof root);
    setenv("KERNELBAND_CUDA", root, 1);
    open_server();
}

/* A file of the cache as large and as old as told, all of it a hole. */
static void add_file(const char *name, off_t bytes, time_t age_s, char *path,
                     size_t cap)
{
    snprintf(path, cap, "%s/kernelband/%s", cache, name);
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, bytes), 0);
    struct timespec t[2] = { { .tv_sec = time(NULL) - age_s }, { 0 } };
    t[1] = t[0];
    ck_assert_int_eq(futimens(fd, t), 0);
    close(fd);
}

START_TEST(the_cache_forgets_what_was_used_longest_ago)
{
    char log[KB_NVRTC_LOG_BYTES], first[512], path[8][512], name[64];
    open_stub();
    ck_assert_int_eq(make(KERNEL(), "sm_90", 20 * second, log), KB_OK);
    cache_file(first, sizeof first);
    for (int i = 0; i < 6; i++) {       /* 64 MiB each, older and older */
        snprintf(name, sizeof name, "%016x.cubin%s", i, i == 5 ? ".abcdef" : "");
        add_file(name, 64 << 20, 1000 * (i + 1), path[i], sizeof path[i]);
    }
    add_file("notes.txt", 1 << 30, 99999, path[6], sizeof path[6]);
    add_file("0123456789abcdef.txt", 1 << 30, 99999, path[7], sizeof path[7]);
    struct timespec old[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
    ck_assert_int_eq(utimensat(AT_FDCWD, first, old, 0), 0);
    ck_assert_int_eq(make(KERNEL(), "sm_90", 20 * second, log), KB_OK);
    ck_assert(cached);         /* used, so the newest now */
    ck_assert_int_eq(make(KERNEL(), "sm_80", 20 * second, log), KB_OK);
    ck_assert_int_eq(access(first, F_OK), 0);
    for (int i = 0; i < 8; i++)
        ck_assert_msg((access(path[i], F_OK) == 0) == (i < 3 || i > 5), "%d",
                      i);
    close_server();
}
END_TEST

START_TEST(another_build_of_the_engine_is_not_answered_from_the_cache)
{
    char log[KB_NVRTC_LOG_BYTES], command[5000], dir[] = "/tmp/kb-exe-XXXXXX";
    const char *why = "";
    kb_nvrtc *other = NULL;
    open_stub();
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(command, sizeof command, "cp '%s' %s/kernelband", exe, dir);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(make(KERNEL(), "sm_90", 20 * second, log), KB_OK);
    snprintf(command, sizeof command, "%s/kernelband", dir);
    ck_assert_int_eq(kb_nvrtc_open(command, &other, &why), KB_OK);
    kb_nvrtc_close(server);
    server = other;
    ck_assert_int_eq(make(KERNEL(), "sm_90", 20 * second, log), KB_OK);
    ck_assert(!cached);
    ck_assert_int_eq(make(KERNEL(), "sm_90", 20 * second, log), KB_OK);
    ck_assert(cached);
    close_server();
    toolkit_remove(dir);
}
END_TEST

START_TEST(two_servers_compile_in_turns)
{
    char log[KB_NVRTC_LOG_BYTES];
    const char *why = "?";
    kb_nvrtc *other = NULL, *first = server;
    ck_assert_int_eq(kb_nvrtc_open(exe, &other, &why), KB_OK);
    for (int i = 0; i < 4; i++) {
        server = i % 2 ? other : first;
        ck_assert_int_eq(make(KERNEL("y[3] = n;"), archs[i], 20 * second, log),
                         KB_OK);
    }
    server = first;
    kb_nvrtc_close(other);
}
END_TEST

/* The only child of a process of one thread, once it has no other. */
static pid_t child_of(pid_t parent)
{
    char path[64];
    int pid = -1, other, found = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", parent, parent);
    for (int i = 0; i < 2000 && found != 1; i++) {
        FILE *f = fopen(path, "r");
        ck_assert_ptr_nonnull(f);
        found = fscanf(f, "%d %d", &pid, &other);
        fclose(f);
        usleep(1000);
    }
    ck_assert_int_eq(found, 1);
    return pid;
}

START_TEST(a_server_that_died_is_replaced)
{
    char log[KB_NVRTC_LOG_BYTES];
    ck_assert_int_eq(make(KERNEL(), "sm_80", 20 * second, log), KB_OK);
    pid_t pid = child_of(getpid());
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    siginfo_t info;
    ck_assert_int_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    ck_assert_int_eq(make(KERNEL("y[4] = n;"), "sm_80", 20 * second, log),
                     KB_OK);
    ck_assert_int_ne(child_of(getpid()), pid);
}
END_TEST

/* Kills a process that is no child of ours: it has closed its files when it is
 * a zombie. */
static void end_of_another(pid_t pid)
{
    char path[64], state = '?';
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    for (int i = 0; i < 5000 && state != 'Z'; i++) {
        FILE *f = fopen(path, "r");
        ck_assert_ptr_nonnull(f);
        ck_assert_int_eq(fscanf(f, "%*d (%*[^)]) %c", &state), 1);
        fclose(f);
        usleep(1000);
    }
    ck_assert_int_eq(state, 'Z');
}

START_TEST(a_compiler_that_died_while_it_waited_costs_no_request)
{
    char log[KB_NVRTC_LOG_BYTES];
    ck_assert_int_eq(make(KERNEL("y[6] = n;"), "sm_80", 20 * second, log),
                     KB_OK);
    pid_t held = child_of(getpid());
    end_of_another(child_of(held));
    kb_status st = make(KERNEL("y[5] = n;"), "sm_80", 20 * second, log);
    ck_assert_msg(st == KB_OK, "%s: %s", kb_status_name(st), log);
    ck_assert_int_eq(child_of(getpid()), held);
}
END_TEST

START_TEST(without_a_toolkit_it_is_enodev_with_a_sentence)
{
    const char *why = NULL;
    kb_nvrtc *none = NULL;
    setenv("KERNELBAND_CUDA", "/nonexistent", 1);
    ck_assert_int_eq(kb_nvrtc_open("/bin/true", &none, &why), KB_ENODEV);
    ck_assert_ptr_nonnull(strstr(why, "KERNELBAND_CUDA"));
    ck_assert_ptr_null(none);
}
END_TEST

/* A server for one source. */
static kb_status compile_by(const char *program, char *log)
{
    const char *why = "";
    kb_status st = kb_nvrtc_open(program, &server, &why);
    ck_assert_int_eq(st, KB_OK);
    st = make("x", "sm_80", second, log);
    kb_nvrtc_close(server);
    return st;
}

START_TEST(a_library_that_is_none_is_enodev_and_a_program_that_is_none_esys)
{
    const char *why = NULL;
    char path[128], log[KB_NVRTC_LOG_BYTES];
    ck_assert(toolkit_exe(exe, sizeof exe));
    ck_assert(toolkit_cache(cache, sizeof cache));
    snprintf(path, sizeof path, "%s/lib", cache);
    ck_assert_int_eq(mkdir(path, 0755), 0);
    snprintf(path, sizeof path, "%s/lib/libnvrtc.so.13", cache);
    int fd = open(path, O_CREAT | O_WRONLY, 0644);
    ck_assert_int_eq(write(fd, "x", 1), 1);
    close(fd);
    setenv("KERNELBAND_CUDA", cache, 1);
    ck_assert_int_eq(compile_by(exe, log), KB_ENODEV);
    ck_assert_ptr_nonnull(strstr(log, "libnvrtc.so.13"));
    ck_assert_int_eq(kb_nvrtc_open("/nonexistent/x", &server, &why), KB_ESYS);
    ck_assert_int_eq(compile_by("/bin/true", log), KB_EWORKER);
    toolkit_remove(cache);
}
END_TEST

static Suite *tests(void)
{
    signal(SIGPIPE, SIG_IGN);           /* as in the engine */
    Suite *s = suite_create("nvrtc");
    TCase *t = tcase_create("anywhere");
    tcase_add_test(t, without_a_toolkit_it_is_enodev_with_a_sentence);
    tcase_add_test(t,
        a_library_that_is_none_is_enodev_and_a_program_that_is_none_esys);
    tcase_add_test(t, address_space_that_is_only_reserved_is_no_memory);
    tcase_add_test(t, the_driver_behind_the_compiler_is_shown_no_gpu);
    tcase_add_test(t, the_cache_forgets_what_was_used_longest_ago);
    tcase_add_test(t,
        another_build_of_the_engine_is_not_answered_from_the_cache);
    suite_add_tcase(s, t);

    if (toolkit_present("check_nvrtc")) {
        t = tcase_create("toolkit");
        tcase_add_checked_fixture(t, open_server, close_server);
        tcase_add_test(t, a_good_kernel_compiles_for_every_architecture);
        tcase_add_test(t, the_toolkits_headers_are_there);
        tcase_add_test(t,
            a_refused_source_is_ebuild_with_the_compilers_words);
        tcase_add_test(t, no_file_outside_can_be_told_from_one_that_is_not);
        tcase_add_test(t, a_log_is_cut_and_printable);
        tcase_add_test(t,
            a_bomb_ends_at_the_deadline_and_the_server_goes_on);
        tcase_add_test(t, a_bad_request_is_einval);
        tcase_add_test(t,
            an_architecture_that_nvrtc_does_not_know_is_enodev);
        tcase_add_test(t,
            the_cache_answers_what_was_compiled_and_nothing_else);
        tcase_add_test(t, a_damaged_file_of_the_cache_is_not_used);
        tcase_add_test(t,
            a_cache_that_others_write_or_that_cannot_be_written_is_not_used);
        tcase_add_test(t, a_server_that_died_is_replaced);
        tcase_add_test(t,
                       a_compiler_that_died_while_it_waited_costs_no_request);
        tcase_add_test(t, two_servers_compile_in_turns);
        suite_add_tcase(s, t);
    }
    return s;
}

TEST_MAIN(tests)
