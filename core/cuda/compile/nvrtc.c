#include "nvrtc.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <libgen.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "nvrtc_parts.h"
#include "system/child.h"
#include "system/io.h"
#include "system/toolkit.h"

/* What the worker may take over the compile itself, for its start above all. */
static const int64_t slack_ns = 60000000000;

struct kb_nvrtc {
    char exe[KB_NVRTC_PATH_BYTES], lib[KB_TOOLKIT_PATH],
         include[KB_TOOLKIT_PATH];
    char toolkit[2 * KB_NVRTC_PATH_BYTES + 256];  /* see struct kb_nvrtc_key */
    kb_child *worker;           /* NULL: it died */
};

/* Where it lies ---------------------------------------------------------------- */

static bool has_headers(const char *root, const char *folder, char *include)
{
    char dir[KB_TOOLKIT_PATH], probe[KB_TOOLKIT_PATH + 16];
    int n = snprintf(dir, sizeof dir, "%s/%s", root, folder);
    snprintf(probe, sizeof probe, "%s/cuda_fp16.h", dir);
    return n > 0 && (size_t)n < sizeof dir && access(probe, R_OK) == 0
        && realpath(dir, include);
}

static bool take(const char *path, const char *root, void *arg)
{
    kb_nvrtc *c = arg;
    if (!realpath(path, c->lib))
        return false;
    if (!has_headers(root, "include", c->include)
        && !has_headers(root, "targets/x86_64-linux/include", c->include)
        && !has_headers(root, "targets/sbsa-linux/include", c->include))
        c->include[0] = '\0';
    return true;
}

/* Headers of one that the dynamic linker finds lie beside its folder, or in
 * /usr/include. */
static bool ask_linker(kb_nvrtc *c)
{
    char path[KB_TOOLKIT_PATH], root[KB_TOOLKIT_PATH];
    struct link_map *map = NULL;
    void *lib = kb_toolkit_open("nvrtc", RTLD_LAZY | RTLD_LOCAL);
    bool good = lib && dlinfo(lib, RTLD_DI_LINKMAP, &map) == 0
             && realpath(map->l_name, path);
    if (lib)
        dlclose(lib);
    if (!good)
        return false;
    strcpy(root, path);
    good = take(path, dirname(dirname(root)), c);
    if (good && !c->include[0])
        (void)has_headers("/usr", "include", c->include);
    return good;
}

static kb_status find(kb_nvrtc *c, const char **why)
{
    const char *only = getenv("KERNELBAND_CUDA");
    if (kb_toolkit_search(KB_TOOLKIT_NAMED, "nvrtc", take, c))
        return KB_OK;
    if (only && *only)
        return kb_because(why, KB_ENODEV, "there is no libnvrtc.so.13 or .12 "
                          "in lib or lib64 of the folder that KERNELBAND_CUDA "
                          "names: set it to the folder of a CUDA toolkit 12 or "
                          "later, by its whole path");
    if (kb_toolkit_search(KB_TOOLKIT_INSTALLED, "nvrtc", take, c)
        || ask_linker(c))
        return KB_OK;
    return kb_because(why, KB_ENODEV, "NVRTC (libnvrtc.so.13 or .12) is not "
                      "found: install the CUDA toolkit, or set KERNELBAND_CUDA "
                      "to the folder that holds its lib and include");
}

/* Its worker ------------------------------------------------------------------- */

static void stop(kb_nvrtc *c)
{
    kb_child_free(c->worker);
    c->worker = NULL;
}

static kb_status start(kb_nvrtc *c)
{
    static const char *const no_env[] = { NULL };
    const char *const argv[] = { c->exe, "_nvrtc", c->lib, c->include, NULL };
    const struct kb_child_request r = { .argv = argv, .env = no_env,
                                        .dir = "/", .worker = true };
    return kb_child_start(&r, &c->worker);
}

/* "12345 1700000000.000000000": another file in its place has others. */
static void describe(const char *path, char *text, size_t cap)
{
    struct stat s = { 0 };
    if (stat(path, &s))
        s.st_size = -1;
    snprintf(text, cap, "%lld %lld.%09ld", (long long)s.st_size,
             (long long)s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
}

/* Both files of which another may give another cubin, or another judgement. */
static void describe_toolkit(kb_nvrtc *c)
{
    char self[64], lib[64];
    describe(c->exe, self, sizeof self);
    describe(c->lib, lib, sizeof lib);
    snprintf(c->toolkit, sizeof c->toolkit, "%s\n%s\n%s\n%s\n%s",
             KB_NVRTC_FLAGS, self, lib, c->lib, c->include);
}

kb_status kb_nvrtc_open(const char *exe, kb_nvrtc **out, const char **why)
{
    kb_nvrtc *c = calloc(1, sizeof *c);
    if (!c)
        return KB_ENOMEM;
    int n = snprintf(c->exe, sizeof c->exe, "%s", exe);
    kb_status st = n < (int)sizeof c->exe ? find(c, why)
                 : kb_because(why, KB_EINVAL,
                              "the path of kernelband is too long");
    if (!st) {
        describe_toolkit(c);
        st = start(c);
        if (st)
            *why = "the compiler's process did not start";
    }
    return KB_HAND_OVER(st, c, kb_nvrtc_close, out);
}

void kb_nvrtc_close(kb_nvrtc *c)
{
    if (c)
        stop(c);
    free(c);
}

/* One compile ------------------------------------------------------------------ */

/* sm_80, sm_90a, sm_120f: it becomes an option of the compiler. */
static bool good_arch(const char *arch)
{
    size_t n = strlen(arch);
    if (n < 5 || n > 7 || strncmp(arch, "sm_", 3) != 0)
        return false;
    size_t digits = strspn(arch + 3, "0123456789");
    const char *tail = arch + 3 + digits;
    return digits >= 2 && (!*tail || ((*tail == 'a' || *tail == 'f')
                                      && !tail[1]));
}

static kb_status send_request(kb_nvrtc *c, const struct kb_nvrtc_build *b)
{
    struct kb_bytes request = { 0 };
    kb_status st = kb_bytes_add(&request, &b->timeout_ns,
                                sizeof b->timeout_ns);
    KB_THEN(st, kb_bytes_add(&request, b->arch, strlen(b->arch) + 1));
    KB_THEN(st, kb_bytes_add(&request, b->source, b->bytes));
    KB_THEN(st, kb_child_send(c->worker, request.at, request.used + 1));
    int saved = errno;
    kb_bytes_free(&request);
    errno = saved;
    return st;
}

/* Sends the request. A worker found dead is replaced, once. */
static kb_status ask(kb_nvrtc *c, const struct kb_nvrtc_build *b)
{
    kb_status st = KB_ESYS;
    errno = EPIPE;
    for (int tries = 0; tries < 2 && st == KB_ESYS && errno == EPIPE; tries++) {
        if (tries)
            stop(c);
        st = c->worker ? KB_OK : start(c);
        KB_THEN(st, send_request(c, b));
    }
    if (!st)
        return KB_OK;
    bool gone = st == KB_ETIME || (st == KB_ESYS && errno == EPIPE);
    stop(c);
    return gone ? KB_EWORKER : st;
}

/* Printable text of at most cap, whatever the source made the compiler say. */
static void set_log(char *log, size_t cap, const char *text, size_t n)
{
    static const char cut[] = "\n[cut]\n";
    size_t most = (cap < KB_NVRTC_LOG_BYTES ? cap : KB_NVRTC_LOG_BYTES) - 1;
    bool long_one = n > most && most > sizeof cut;
    size_t keep = long_one ? most - sizeof cut + 1 : n < most ? n : most;
    for (size_t i = 0; i < keep; i++)
        log[i] = text[i] == '\n' || text[i] == '\t'
              || (text[i] >= ' ' && text[i] <= '~') ? text[i] : '?';
    log[keep] = '\0';
    if (long_one)
        strcpy(log + keep, cut);
}

/* Takes a reply apart; the log is set, and the cubin copied. */
static kb_status read_reply(const char *reply, size_t n, char *log, size_t cap,
                            char **cubin, size_t *cubin_bytes)
{
    const char *end = n > 1 ? memchr(reply + 1, '\0', n - 1) : NULL;
    if (!end)
        return KB_EWORKER;
    const size_t bytes = n - (size_t)(end + 1 - reply);
    const kb_status st = -reply[0];
    set_log(log, cap, reply + 1, (size_t)(end - reply - 1));
    if (st == KB_ENODEV || st == KB_EDENIED || st == KB_ETIME)
        return st;
    if (st || bytes == 0)
        return KB_EBUILD;
    char *copy = malloc(bytes);
    if (!copy)
        return KB_ENOMEM;
    *cubin = memcpy(copy, end + 1, bytes);
    *cubin_bytes = bytes;
    return KB_OK;
}

static kb_status receive(kb_nvrtc *c, const struct kb_nvrtc_build *b,
                         const struct kb_nvrtc_key *key, char *log, size_t cap,
                         char **cubin, size_t *n)
{
    size_t bytes = 0;
    kb_status st = kb_child_await(c->worker, kb_clock_now_ns() + b->timeout_ns
                                  + slack_ns);
    if (st) {
        stop(c);                /* what may still come is nobody's answer */
        return st == KB_ETIME ? KB_EWORKER : st;
    }
    const char *reply = kb_child_reply(c->worker, &bytes);
    st = read_reply(reply, bytes, log, cap, cubin, n);
    if (!st)
        kb_nvrtc_keep(key, reply, bytes);
    kb_child_next(c->worker);
    return st;
}

kb_status kb_nvrtc_make(kb_nvrtc *c, const struct kb_nvrtc_build *b,
                        char *log, size_t cap, char **cubin, size_t *n)
{
    const struct kb_nvrtc_key key = { b->arch, c->toolkit, b->source,
                                      b->bytes };
    char *kept = NULL;
    size_t bytes = 0;
    assert(cap > 0);
    log[0] = '\0';
    if (!good_arch(b->arch) || b->bytes == 0
        || b->bytes > KB_NVRTC_SOURCE_BYTES || b->timeout_ns <= 0
        || memchr(b->source, '\0', b->bytes))
        return KB_EINVAL;
    kb_status st = kb_nvrtc_recall(&key, &kept, &bytes);
    if (!st) {
        st = read_reply(kept, bytes, log, cap, cubin, n);
        free(kept);
        return st;
    }
    st = ask(c, b);
    return st ? st : receive(c, b, &key, log, cap, cubin, n);
}
