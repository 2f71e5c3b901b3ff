#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "nvrtc_parts.h"
#include "ptx.h"
#include "system/child.h"
#include "system/frame.h"
#include "system/jail.h"
#include "system/toolkit.h"

static const uint64_t memory_bytes = (uint64_t)8 << 30;

/* The part of nvrtc.h that is used; the same in CUDA 12 and 13. */
typedef void *program;
#define CALLS(X)                                                             \
    X(create, nvrtcCreateProgram, int,                                       \
      (program *, const char *source, const char *name, int headers,         \
       const char *const *header, const char *const *include_name))          \
    X(compile, nvrtcCompileProgram, int,                                     \
      (program, int options, const char *const *option))                     \
    X(log_size, nvrtcGetProgramLogSize, int, (program, size_t *))            \
    X(log, nvrtcGetProgramLog, int, (program, char *))                       \
    X(cubin_size, nvrtcGetCUBINSize, int, (program, size_t *))               \
    X(cubin, nvrtcGetCUBIN, int, (program, char *))                          \
    X(ptx_size, nvrtcGetPTXSize, int, (program, size_t *))                   \
    X(ptx, nvrtcGetPTX, int, (program, char *))                              \
    X(destroy, nvrtcDestroyProgram, int, (program *))                        \
    X(error, nvrtcGetErrorString, const char *, (int))

struct nvrtc {
#define X(field, name, result, arguments) result (*field) arguments;
    CALLS(X)
#undef X
    char missing[256];          /* why the builtins did not load; "" */
};
enum { ERROR_INVALID_OPTION = 5 };

static const char *const calls[] = { CALLS(KB_NAME_OF) NULL };

/* NVRTC opens its builtins by their bare name, which only finds them where
 * the linker is told of the folder; or when they are loaded already. */
static void load_builtins(const char *path, struct nvrtc *v)
{
    char pattern[KB_NVRTC_PATH_BYTES + 32];
    glob_t found;
    int dir = (int)(strrchr(path, '/') - path);
    snprintf(pattern, sizeof pattern, "%.*s/libnvrtc-builtins.so.*", dir,
             path);
    if (glob(pattern, GLOB_NOSORT, NULL, &found))
        return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        if (!dlopen(found.gl_pathv[i], RTLD_LAZY | RTLD_LOCAL))
            snprintf(v->missing, sizeof v->missing, "%s", dlerror());
    globfree(&found);
}

static bool load(const char *path, struct nvrtc *v)
{
    load_builtins(path, v);
    void *lib = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    return lib && !kb_toolkit_symbols(lib, calls, &v->create);
}

/* What goes back: a status and a sentence. */
__attribute__((format(printf, 3, 4)))
static bool say(struct kb_bytes *t, kb_status st, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text + 1, sizeof text - 1, format, args);
    va_end(args);
    text[0] = (char)-st;
    t->used = 0;
    return n >= 0 && kb_bytes_add(t, text, strlen(text + 1) + 2) == KB_OK;
}

/* What its PTX says that it may not, or NULL. No PTX is no proof. */
static const char *forbidden(const struct nvrtc *v, program p)
{
    const char *why = "the compiler does not show the kernel's PTX";
    size_t n = 0;
    char *text = v->ptx_size(p, &n) || n == 0 ? NULL : malloc(n + 1);
    if (text && v->ptx(p, text) == 0) {
        text[n] = '\0';
        why = kb_ptx_forbidden(text);
    }
    free(text);
    return why;
}

/* The status, the log and, when all went well, the cubin. */
static bool collect(const struct nvrtc *v, program p, int rc, struct kb_bytes *t)
{
    size_t log = 0, cubin = 0;
    const char *why = rc ? NULL : forbidden(v, p);
    if (why)
        return say(t, KB_EDENIED, "%s", why);
    if (v->log_size(p, &log) || (!rc && v->cubin_size(p, &cubin)))
        return say(t, KB_EBUILD, "%s", v->error(rc));
    t->used = 0;
    if (kb_bytes_reserve(t, 1 + log + 1 + cubin) || v->log(p, t->at + 1))
        return false;
    t->at[0] = rc == ERROR_INVALID_OPTION ? -KB_ENODEV : rc ? -KB_EBUILD : KB_OK;
    t->at[1 + log] = '\0';
    size_t at = 1 + strlen(t->at + 1) + 1;      /* of the cubin */
    if (!rc && v->cubin(p, t->at + at))
        return false;
    t->used = at + cubin;
    return true;
}

static bool translate(const struct nvrtc *v, const char *source,
                      const char *arch, const char *include, struct kb_bytes *t)
{
    char which[64], dir[KB_NVRTC_PATH_BYTES + 24], cccl[sizeof dir + 8];
    const char *option[5] = { KB_NVRTC_STANDARD, KB_NVRTC_RESOURCES };
    int n = 2;
    if (arch) {
        snprintf(which, sizeof which, "-arch=%s", arch);
        option[n++] = which;
    }
    if (include) {      /* cccl: where CUDA 13 put <cuda/std/..> */
        snprintf(dir, sizeof dir, "--include-path=%s", include);
        snprintf(cccl, sizeof cccl, "%s/cccl", dir);
        option[n++] = dir;
        option[n++] = cccl;
    }
    program p = NULL;
    int rc = v->create(&p, source, "kernel.cu", 0, NULL, NULL);
    if (rc)
        return say(t, KB_ENODEV, "%s", v->error(rc));
    bool good = collect(v, p, v->compile(p, n, option), t);
    v->destroy(&p);
    return good;
}

/* *rooted: dir is now the root of the file system, so that not even the names
 * of other files are within reach. Needs root or a user namespace. What is
 * mapped already is no memory of a compile's. */
static kb_status enter_jail(const char *dir, bool *rooted)
{
    struct kb_jail_limits limits = {
        .memory_bytes = KB_SANITIZED ? 0
                      : kb_jail_mapped_bytes() + memory_bytes,
        .cpu_s = 60, .open_files = 64
    };
    kb_status st = kb_jail_limit(&limits);
    if (st)
        return st;
    if (geteuid() != 0 && unshare(CLONE_NEWUSER))
        errno = 0;                              /* then without */
    *rooted = chroot(dir) == 0 && chdir("/") == 0;
    const char *const read[] = { *rooted ? "/" : dir, NULL };
    st = kb_jail_user();
    KB_THEN(st, kb_jail_files(read, NULL));
    if (st == KB_ENODEV && *rooted)
        st = KB_OK;
    return st ? st : kb_jail_calls(KB_JAIL_BUILD);
}

static const char empty_kernel[] = "extern \"C\" __global__ void k() {}";

/* One request: nanoseconds, arch, source; the last two NUL-terminated. */
static bool parse(const char *request, size_t n, int64_t *timeout_ns,
                  const char **arch, const char **source)
{
    if (n <= sizeof *timeout_ns || request[n - 1] != '\0')
        return false;
    memcpy(timeout_ns, request, sizeof *timeout_ns);
    *arch = request + sizeof *timeout_ns;
    *source = *arch + strlen(*arch) + 1;
    return *source < request + n;
}

/* The process that compiles, from its fork to its end. --------------------------- */

struct server {
    struct nvrtc v;
    const char *lib, *include;
    const char *why;            /* it cannot compile anything; NULL: it can */
};

/* It enters its jail and compiles nothing much, so that the pages a compile
 * touches are its own by the time a request comes (copying them is a good part
 * of a small compile), and only then reads one. */
static int compile(void *arg)
{
    const struct server *s = arg;
    char dir[KB_NVRTC_PATH_BYTES];
    struct kb_bytes in = { 0 }, t = { 0 };
    const char *arch, *source;
    int64_t timeout_ns;
    bool rooted = false, good;
    snprintf(dir, sizeof dir, "%s", *s->include ? s->include : s->lib);
    if (!*s->include)
        *strrchr(dir, '/') = '\0';
    kb_status st = enter_jail(dir, &rooted);
    int why = errno;
    if (!st)
        (void)translate(&s->v, empty_kernel, NULL, NULL, &t);
    size_t n = 0;
    if (kb_frame_read(STDIN_FILENO, &in))
        return 1;
    const char *request = (const char *)kb_frame_first(&in, &n);
    if (!parse(request, n, &timeout_ns, &arch, &source))
        return 1;
    if (st)
        good = say(&t, KB_ENODEV, "the compiler's jail: %s (%s)",
                   kb_status_text(st), strerror(why));
    else
        good = translate(&s->v, source, arch, !*s->include ? NULL
                         : rooted ? "/" : s->include, &t);
    return !good || kb_frame_write(STDOUT_FILENO, t.at, t.used, INT64_MAX);
}

/* NULL when no process is to be had. */
static kb_child *start_child(struct server *s)
{
    kb_child *c = NULL;
    const struct kb_child_request r = { .worker = true, .run = compile,
                                        .arg = s };
    return kb_child_start(&r, &c) ? NULL : c;
}

/* Hands the request to the child that waits, or to a new one where there is
 * none or it has died. */
static bool send_request(struct server *s, kb_child **hand,
                         const char *request, size_t n)
{
    for (int tries = 0; tries < 2; tries++) {
        if (!*hand)
            *hand = start_child(s);
        if (!*hand)
            return false;
        if (kb_child_send(*hand, request, n) == KB_OK)
            return true;
        kb_child_free(*hand);
        *hand = NULL;
    }
    return false;
}

/* Sends t, if it could be made, and frees it. */
static kb_status reply(struct kb_bytes *t, bool good)
{
    kb_status st = good ? kb_frame_write(STDOUT_FILENO, t->at, t->used,
                                         INT64_MAX) : KB_ENOMEM;
    kb_bytes_free(t);
    return st;
}

/* *hand gets the request; the next one gets ready meanwhile, and is *hand
 * afterwards. */
static kb_status answer(struct server *s, kb_child **hand,
                        const char *request, size_t n)
{
    int64_t timeout_ns;
    const char *arch, *source;
    struct kb_bytes t = { 0 };
    if (!parse(request, n, &timeout_ns, &arch, &source)
        || !send_request(s, hand, request, n))
        return KB_EWORKER;
    int64_t deadline_ns = kb_clock_now_ns() + timeout_ns;
    kb_child *busy = *hand;
    *hand = start_child(s);
    kb_status st = kb_child_await(busy, deadline_ns);
    if (!st) {
        const void *answer = kb_child_reply(busy, &n);
        st = kb_frame_write(STDOUT_FILENO, answer, n, INT64_MAX);
        kb_child_free(busy);
        return st;
    }
    int wstatus = kb_child_free(busy);
    return reply(&t, st == KB_ETIME
        ? say(&t, KB_ETIME, "the compiler did not finish in %lld ms",
              (long long)(timeout_ns / 1000000))
        : say(&t, KB_EBUILD, "the compiler was stopped (status %d): it may use "
              "8 GiB and 60 s of processor time", wstatus));
}

static kb_status serve(struct server *s)
{
    struct kb_bytes in = { 0 }, t = { 0 };
    kb_child *hand = NULL;
    kb_status st = KB_OK;
    signal(SIGPIPE, SIG_IGN);
    while (!st) {
        size_t n;
        if (!hand && !s->why)   /* the first, or no process was to be had */
            hand = start_child(s);
        st = kb_frame_read(STDIN_FILENO, &in);
        if (!st) {
            const char *request = (const char *)kb_frame_first(&in, &n);
            st = !s->why ? answer(s, &hand, request, n)
               : reply(&t, say(&t, KB_ENODEV, "%s", s->why));
            kb_frame_drop(&in);
        }
    }
    kb_child_free(hand);
    kb_bytes_free(&in);
    return st == KB_EEMPTY ? KB_OK : st;
}

/* NVRTC 13 opens the CUDA driver when it first compiles, which on a GPU's host
 * reserves 17 GB of addresses and leaves its descriptors to every child. A
 * compiler needs no GPU, so the driver is shown none. */
int kb_nvrtc_main(int argc, char **argv)
{
    static const char devices[] = "CUDA_VISIBLE_DEVICES";
    struct server s = { 0 };
    struct kb_bytes t = { 0 };
    if (argc != 4 || argv[2][0] != '/') {
        fputs("kernelband _nvrtc LIB INCLUDE: what compiles CUDA sources; "
              "started by kernelband itself\n", stderr);
        return 2;
    }
    s.lib = argv[2];
    s.include = argv[3];
    setenv(devices, "", 1);
    if (!load(s.lib, &s.v)) {
        const char *said = dlerror();
        s.why = said ? said : "it lacks functions of NVRTC";
    } else if (!translate(&s.v, empty_kernel, NULL, NULL, &t)
               || t.at[0] != KB_OK) {
        s.why = *s.v.missing ? s.v.missing
              : t.used > 1 ? t.at + 1 : "it cannot compile an empty kernel";
    }
    unsetenv(devices);          /* sources see no environment at all */
    kb_status st = serve(&s);
    _exit(st ? 1 : 0);      /* NVRTC's own leaks are nobody's business */
}
