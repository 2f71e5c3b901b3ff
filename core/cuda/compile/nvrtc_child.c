#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "nvrtc_parts.h"
#include "ptx.h"
#include "system/frame.h"
#include "system/jail.h"
#include "system/process.h"

static const uint64_t memory_bytes = (uint64_t)8 << 30;

/* The part of nvrtc.h that is used; the same in CUDA 12 and 13. */
typedef void *program;
struct nvrtc {
    int (*create)(program *, const char *source, const char *name, int headers,
                  const char *const *header, const char *const *include_name);
    int (*compile)(program, int options, const char *const *option);
    int (*log_size)(program, size_t *);
    int (*log)(program, char *);
    int (*cubin_size)(program, size_t *);
    int (*cubin)(program, char *);
    int (*ptx_size)(program, size_t *);
    int (*ptx)(program, char *);
    int (*destroy)(program *);
    const char *(*error)(int);
    char missing[256];          /* why the builtins did not load; "" */
};
enum { ERROR_INVALID_OPTION = 5 };

/* ISO C has no cast from void * to a function; POSIX promises this copy. */
static bool find(void *lib, const char *name, void *fn)
{
    void *symbol = dlsym(lib, name);
    memcpy(fn, &symbol, sizeof symbol);
    return symbol != NULL;
}

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
    return lib && find(lib, "nvrtcCreateProgram", &v->create)
        && find(lib, "nvrtcCompileProgram", &v->compile)
        && find(lib, "nvrtcGetProgramLogSize", &v->log_size)
        && find(lib, "nvrtcGetProgramLog", &v->log)
        && find(lib, "nvrtcGetCUBINSize", &v->cubin_size)
        && find(lib, "nvrtcGetCUBIN", &v->cubin)
        && find(lib, "nvrtcGetPTXSize", &v->ptx_size)
        && find(lib, "nvrtcGetPTX", &v->ptx)
        && find(lib, "nvrtcDestroyProgram", &v->destroy)
        && find(lib, "nvrtcGetErrorString", &v->error);
}

struct text {                   /* what goes back */
    char *bytes;
    size_t used;
};

static bool say(struct text *t, enum kb_nvrtc_code code, const char *sentence)
{
    size_t n = strlen(sentence) + 1;
    free(t->bytes);
    t->bytes = malloc(n + 1);
    if (!t->bytes)
        return false;
    t->bytes[0] = (char)code;
    memcpy(t->bytes + 1, sentence, n);
    t->used = n + 1;
    return true;
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

/* The code, the log and, when all went well, the cubin. */
static bool collect(const struct nvrtc *v, program p, int rc, struct text *t)
{
    size_t log = 0, cubin = 0;
    const char *why = rc ? NULL : forbidden(v, p);
    if (why)
        return say(t, KB_NVRTC_FORBIDDEN, why);
    if (v->log_size(p, &log) || (!rc && v->cubin_size(p, &cubin)))
        return say(t, KB_NVRTC_REFUSED, v->error(rc));
    t->bytes = calloc(1, 1 + log + 1 + cubin);
    if (!t->bytes || v->log(p, t->bytes + 1))
        return false;
    t->bytes[0] = rc == ERROR_INVALID_OPTION ? KB_NVRTC_UNABLE
                : rc ? KB_NVRTC_REFUSED : KB_NVRTC_DONE;
    size_t at = 1 + strlen(t->bytes + 1) + 1;   /* of the cubin */
    if (!rc && v->cubin(p, t->bytes + at))
        return false;
    t->used = at + cubin;
    return true;
}

static bool translate(const struct nvrtc *v, const char *source,
                      const char *arch, const char *include, struct text *t)
{
    char which[64], dir[KB_NVRTC_PATH_BYTES + 24], cccl[sizeof dir + 8];
    const char *option[16];
    char fixed[256], *word, *rest = NULL;
    int n = 0;
    snprintf(fixed, sizeof fixed, "%s", kb_nvrtc_flags());
    for (word = strtok_r(fixed, " ", &rest); word;
         word = strtok_r(NULL, " ", &rest))
        option[n++] = word;
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
        return say(t, KB_NVRTC_UNABLE, v->error(rc));
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
    if (!st)
        st = kb_jail_files(read, NULL);
    if (st == KB_ENODEV && *rooted)
        st = KB_OK;
    return st ? st : kb_jail_calls(KB_JAIL_BUILD);
}

static const char empty_kernel[] = "extern \"C\" __global__ void k() {}";

/* One request: nanoseconds, arch, source; the last two NUL-terminated. */
static bool parse(const unsigned char *request, size_t n, int64_t *timeout_ns,
                  const char **arch, const char **source)
{
    if (n <= sizeof *timeout_ns || request[n - 1] != '\0')
        return false;
    memcpy(timeout_ns, request, sizeof *timeout_ns);
    *arch = (const char *)request + sizeof *timeout_ns;
    *source = *arch + strlen(*arch) + 1;
    return *source < (const char *)request + n;
}

/* A forked child to its end. It enters its jail and compiles nothing much, so
 * that the pages a compile touches are its own by the time a request comes
 * (copying them is a good part of a small compile), and only then reads one. */
static _Noreturn void compile(const struct nvrtc *v, const char *lib,
                              const char *include, int ask, int fd)
{
    char dir[KB_NVRTC_PATH_BYTES], sentence[160];
    struct kb_frame_buffer in = { 0 };
    struct text t = { 0 };
    const char *arch, *source;
    int64_t timeout_ns;
    bool rooted = false, good;
    snprintf(dir, sizeof dir, "%s", *include ? include : lib);
    if (!*include)
        *strrchr(dir, '/') = '\0';
    kb_status st = enter_jail(dir, &rooted);
    int why = errno;
    if (!st) {
        (void)translate(v, empty_kernel, NULL, NULL, &t);
        free(t.bytes);
        t = (struct text){ 0 };
    }
    size_t n = 0;
    if (kb_frame_read(ask, &in))
        _exit(1);
    const unsigned char *request = kb_frame_first(&in, &n);
    if (!parse(request, n, &timeout_ns, &arch, &source))
        _exit(1);
    if (st) {
        snprintf(sentence, sizeof sentence, "the compiler's jail: %s (%s)",
                 kb_status_text(st), strerror(why));
        good = say(&t, KB_NVRTC_UNABLE, sentence);
    } else {
        good = translate(v, source, arch,
                         !*include ? NULL : rooted ? "/" : include, &t);
    }
    for (size_t at = 0; good && at < t.used; ) {
        ssize_t w = write(fd, t.bytes + at, t.used - at);
        if (w < 0 && errno != EINTR)
            break;
        at += w > 0 ? (size_t)w : 0;
    }
    _exit(good ? 0 : 1);
}

/* Reads what the child writes, until it closes, it is late or too much. */
static bool relay(int fd, int64_t deadline_ns, struct text *t, bool *late)
{
    for (;;) {
        int64_t left = deadline_ns - kb_clock_now_ns();
        struct pollfd ready = { .fd = fd, .events = POLLIN };
        int ms = left <= 0 ? 0
               : left > 1000000000 ? 1000 : (int)(left / 1000000) + 1;
        int rc = poll(&ready, 1, ms);
        if (rc < 0 && errno != EINTR)
            return false;
        if (rc <= 0 && left <= 0) {
            *late = true;
            return true;
        }
        if (rc <= 0)
            continue;
        char *more = realloc(t->bytes, t->used + 65536);
        if (!more)
            return false;
        t->bytes = more;
        ssize_t n = read(fd, more + t->used, 65536);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0;
        t->used += (size_t)n;
        if (t->used > KB_FRAME_MAX_BYTES - 65536)
            return false;
    }
}

struct hand {                   /* a child that waits for a request */
    pid_t pid;                  /* 0: there is none */
    int ask, reply;
};

static void drop(struct hand *h)
{
    if (h->pid) {
        close(h->ask);
        close(h->reply);
    }
    h->pid = 0;
}

/* busy: a child at work, whose pipes are none of the new one's business; or
 * NULL. */
static void start_child(const struct nvrtc *v, char **argv, struct hand *busy,
                        struct hand *h)
{
    int ask[2], reply[2];
    h->pid = 0;
    if (pipe2(ask, O_CLOEXEC))
        return;
    if (pipe2(reply, O_CLOEXEC)) {
        close(ask[0]);
        close(ask[1]);
        return;
    }
    pid_t self = getpid(), pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ask[1]);
        close(reply[0]);
        close(STDIN_FILENO);
        close(STDOUT_FILENO);
        if (busy)
            drop(busy);
        if (getppid() == self)
            compile(v, argv[2], argv[3], ask[0], reply[1]);
        _exit(1);
    }
    close(ask[0]);
    close(reply[1]);
    if (pid < 0) {
        close(ask[1]);
        close(reply[0]);
        return;
    }
    *h = (struct hand){ pid, ask[1], reply[0] };
}

/* Reads to its end a child that was sent its request. */
static bool finish_child(struct hand *h, int64_t deadline_ns, struct text *t,
                         struct kb_nvrtc_answer *a)
{
    bool late = false, good = relay(h->reply, deadline_ns, t, &late);
    if (late || !good
        || kb_process_wait(h->pid, kb_clock_now_ns() + 1000000000,
                           &a->wstatus))
        a->wstatus = kb_process_kill(h->pid, false);
    kill(-h->pid, SIGKILL);             /* what it left behind in its group */
    a->late = late;
    drop(h);
    return good;
}

/* Hands the request to the child that waits, or to a new one where there is
 * none or it has died. */
static bool send_request(const struct nvrtc *v, char **argv, struct hand *h,
                         const unsigned char *request, size_t n,
                         int64_t deadline_ns)
{
    for (int tries = 0; tries < 2; tries++) {
        if (!h->pid)
            start_child(v, argv, NULL, h);
        if (!h->pid)
            return false;
        kb_status st = kb_frame_write(h->ask, request, n, deadline_ns);
        if (!st)
            return true;
        kb_process_kill(h->pid, false);
        drop(h);
        if (st != KB_ESYS)
            return false;
    }
    return false;
}

/* hand[0] gets the request; hand[1], which gets ready meanwhile, is hand[0]
 * afterwards. */
static kb_status answer(const struct nvrtc *v, char **argv, struct hand hand[2],
                        const unsigned char *request, size_t n)
{
    int64_t timeout_ns;
    const char *arch, *source;
    struct kb_nvrtc_answer a = { 0 };
    struct text t = { 0 };
    kb_status st = KB_EWORKER;
    if (!parse(request, n, &timeout_ns, &arch, &source))
        return KB_EWORKER;
    int64_t deadline_ns = kb_clock_now_ns() + timeout_ns;
    if (!send_request(v, argv, &hand[0], request, n, deadline_ns))
        return KB_EWORKER;
    start_child(v, argv, &hand[0], &hand[1]);
    bool good = finish_child(&hand[0], deadline_ns, &t, &a);
    hand[0] = hand[1];
    hand[1].pid = 0;
    if (!good)
        goto done;
    unsigned char *frame = malloc(sizeof a + t.used);
    if (!frame) {
        st = KB_ENOMEM;
        goto done;
    }
    memcpy(frame, &a, sizeof a);
    if (t.used)
        memcpy(frame + sizeof a, t.bytes, t.used);
    st = kb_frame_write(STDOUT_FILENO, frame, sizeof a + t.used, INT64_MAX);
    free(frame);
done:
    free(t.bytes);
    return st;
}

static kb_status serve(const struct nvrtc *v, char **argv)
{
    struct kb_frame_buffer in = { 0 };
    struct hand hand[2] = { 0 };
    signal(SIGPIPE, SIG_IGN);
    kb_status st = kb_frame_write(STDOUT_FILENO, "", 0, INT64_MAX);
    while (!st) {
        size_t n;
        if (!hand[0].pid)       /* the first, or no process was to be had */
            start_child(v, argv, NULL, &hand[0]);
        st = kb_frame_read(STDIN_FILENO, &in);
        if (!st) {
            const unsigned char *request = kb_frame_first(&in, &n);
            st = answer(v, argv, hand, request, n);
            kb_frame_drop(&in);
        }
    }
    if (hand[0].pid)
        kb_process_kill(hand[0].pid, false);
    kb_frame_free(&in);
    return st == KB_EEMPTY ? KB_OK : st;
}

/* NVRTC 13 opens the CUDA driver when it first compiles, which on a GPU's host
 * reserves 17 GB of addresses and leaves its descriptors to every child. A
 * compiler needs no GPU, so the driver is shown none. */
int kb_nvrtc_main(int argc, char **argv)
{
    static const char devices[] = "CUDA_VISIBLE_DEVICES";
    struct nvrtc v = { 0 };
    struct text t = { 0 };
    const char *why = NULL;
    if (argc != 4 || argv[2][0] != '/') {
        fputs("kernelband _nvrtc LIB INCLUDE: what compiles CUDA sources; "
              "started by kernelband itself\n", stderr);
        return 2;
    }
    setenv(devices, "", 1);
    if (!load(argv[2], &v)) {
        const char *said = dlerror();
        why = said ? said : "it lacks functions of NVRTC";
    } else if (!translate(&v, empty_kernel, NULL, NULL, &t)
               || t.bytes[0] != KB_NVRTC_DONE) {
        why = *v.missing ? v.missing
            : t.used > 1 ? t.bytes + 1 : "it cannot compile an empty kernel";
    }
    if (why) {
        kb_status st = kb_frame_write(STDOUT_FILENO, why, strlen(why),
                                      INT64_MAX);
        _exit(st ? 3 : 1);
    }
    unsetenv(devices);          /* sources see no environment at all */
    kb_status st = serve(&v, argv);
    _exit(st ? 1 : 0);      /* NVRTC's own leaks are nobody's business */
}
