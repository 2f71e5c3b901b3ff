#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nvrtc_parts.h"
#include "system/files.h"

/* A file is the head, then arch, toolkit, source, log, each with its NUL, and
 * the cubin; check covers all that follows the head. */
struct head {
    char magic[8];
    uint64_t arch_bytes, toolkit_bytes, source_bytes, log_bytes, cubin_bytes;
    uint64_t check;
};

static const char magic[8] = "KBCUBIN1";
enum { FILE_BYTES = 80 << 20, NAME_BYTES = 32 };

/* FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv */
static uint64_t hash(uint64_t h, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * 0x100000001b3u;
    return h;
}

static const uint64_t hash_start = 0xcbf29ce484222325u;

/* Ours alone, or it is not used: who writes here chooses what runs. */
static bool open_folder(char *dir, size_t cap)
{
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = base && base[0] == '/'
          ? snprintf(dir, cap, "%s/kernelband", base)
          : home && home[0] == '/'
          ? snprintf(dir, cap, "%s/.cache/kernelband", home) : -1;
    struct stat s;
    if (n < 0 || (size_t)n >= cap)
        return false;
    if (stat(dir, &s) && (kb_files_mkdir_p(dir) || stat(dir, &s)))
        return false;
    return S_ISDIR(s.st_mode) && s.st_uid == geteuid()
        && !(s.st_mode & (S_IWGRP | S_IWOTH));
}

static bool name_file(const struct kb_nvrtc_key *k, char *path, size_t cap)
{
    char dir[KB_NVRTC_PATH_BYTES];
    if (!open_folder(dir, sizeof dir))
        return false;
    uint64_t h = hash(hash_start, k->arch, strlen(k->arch) + 1);
    h = hash(h, k->toolkit, strlen(k->toolkit) + 1);
    h = hash(h, k->source, k->bytes);
    int n = snprintf(path, cap, "%s/%016" PRIx64 ".cubin", dir, h);
    return n > 0 && (size_t)n < cap;
}

static bool same_key(const struct head *h, const char *body,
                     const struct kb_nvrtc_key *k)
{
    const char *toolkit = body + h->arch_bytes;
    const char *source = toolkit + h->toolkit_bytes;
    return h->arch_bytes == strlen(k->arch) + 1
        && h->toolkit_bytes == strlen(k->toolkit) + 1
        && h->source_bytes == k->bytes
        && memcmp(body, k->arch, h->arch_bytes) == 0
        && memcmp(toolkit, k->toolkit, h->toolkit_bytes) == 0
        && memcmp(source, k->source, k->bytes) == 0;
}

/* Whether the n bytes of body are what head tells, with no overflow. */
static bool whole(const struct head *h, const char *body, size_t n)
{
    const uint64_t part[] = { h->arch_bytes, h->toolkit_bytes,
                              h->source_bytes, h->log_bytes, h->cubin_bytes };
    uint64_t left = n;
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        if (part[i] > left)
            return false;
        left -= part[i];
    }
    return left == 0 && memcmp(h->magic, magic, sizeof magic) == 0
        && h->log_bytes && hash(hash_start, body, n) == h->check
        && body[n - h->cubin_bytes - 1] == '\0';
}

kb_status kb_nvrtc_recall(const struct kb_nvrtc_key *k, char **log,
                          unsigned char **cubin, size_t *n)
{
    char path[KB_NVRTC_PATH_BYTES], *data = NULL;
    struct head h;
    size_t used = 0;
    if (!name_file(k, path, sizeof path)
        || kb_files_read(path, FILE_BYTES, &data, &used))
        return KB_EEMPTY;
    if (used < sizeof h)
        goto fail;
    memcpy(&h, data, sizeof h);
    if (!whole(&h, data + sizeof h, used - sizeof h)
        || !same_key(&h, data + sizeof h, k))
        goto fail;
    *cubin = malloc(h.cubin_bytes ? h.cubin_bytes : 1);
    if (!*cubin)
        goto fail;
    *n = h.cubin_bytes;
    memcpy(*cubin, data + used - *n, *n);
    memmove(data, data + used - *n - h.log_bytes, h.log_bytes);
    *log = data;
    utimensat(AT_FDCWD, path, NULL, 0);         /* used now: see evict */
    return KB_OK;

fail:
    free(data);
    return KB_EEMPTY;
}

struct file {
    char name[NAME_BYTES];
    struct timespec used;
    uint64_t bytes;
};

static int by_last_use(const void *a, const void *b)
{
    const struct file *p = a, *q = b;
    if (p->used.tv_sec != q->used.tv_sec)
        return p->used.tv_sec < q->used.tv_sec ? 1 : -1;
    if (p->used.tv_nsec != q->used.tv_nsec)
        return p->used.tv_nsec < q->used.tv_nsec ? 1 : -1;
    return strcmp(p->name, q->name);
}

static bool is_ours(const char *name)
{
    return strspn(name, "0123456789abcdef") == 16 && strlen(name) < NAME_BYTES
        && strncmp(name + 16, ".cubin", 6) == 0;
}

/* The files of ours in the folder, in no order; malloc'd. Those of a writer
 * that died count too. */
static struct file *list_files(DIR *d, size_t *n)
{
    struct file *file = NULL;
    size_t room = 0;
    *n = 0;
    for (struct dirent *e; (e = readdir(d)); ) {
        struct stat s;
        if (!is_ours(e->d_name)
            || fstatat(dirfd(d), e->d_name, &s, AT_SYMLINK_NOFOLLOW))
            continue;
        if (*n == room) {
            room = room ? 2 * room : 256;
            struct file *more = realloc(file, room * sizeof *more);
            if (!more)
                break;
            file = more;
        }
        file[*n].used = s.st_mtim;
        file[*n].bytes = (uint64_t)s.st_size;
        strcpy(file[(*n)++].name, e->d_name);
    }
    return file;
}

/* Removes what was used longest ago until the rest is within the bounds. */
static void evict(char *path)
{
    size_t n = 0;
    uint64_t bytes = 0;
    *strrchr(path, '/') = '\0';
    DIR *d = opendir(path);
    if (!d)
        return;
    struct file *file = list_files(d, &n);
    if (n)
        qsort(file, n, sizeof *file, by_last_use);
    for (size_t i = 0; i < n; i++) {
        bytes += file[i].bytes;
        if (i >= KB_NVRTC_CACHE_FILES || bytes > KB_NVRTC_CACHE_BYTES)
            unlinkat(dirfd(d), file[i].name, 0);
    }
    free(file);
    closedir(d);
}

static bool write_whole(int fd, const void *bytes, size_t n)
{
    const char *p = bytes;
    while (n) {
        ssize_t w = write(fd, p, n);
        if (w < 0 && errno == EINTR)
            continue;
        if (w <= 0)
            return false;
        p += w;
        n -= (size_t)w;
    }
    return true;
}

/* Not synced: a file that a crash left short fails its check. */
void kb_nvrtc_keep(const struct kb_nvrtc_key *k, const char *log,
                   const unsigned char *cubin, size_t n)
{
    char path[KB_NVRTC_PATH_BYTES], temp[KB_NVRTC_PATH_BYTES + 16];
    struct { const void *bytes; size_t n; } part[] = {
        { k->arch, strlen(k->arch) + 1 },
        { k->toolkit, strlen(k->toolkit) + 1 }, { k->source, k->bytes },
        { log, strlen(log) + 1 }, { cubin, n }
    };
    struct head h = { .arch_bytes = part[0].n, .toolkit_bytes = part[1].n,
                      .source_bytes = part[2].n, .log_bytes = part[3].n,
                      .cubin_bytes = n, .check = hash_start };
    if (!name_file(k, path, sizeof path))
        return;
    memcpy(h.magic, magic, sizeof magic);
    for (size_t i = 0; i < 5; i++)
        h.check = hash(h.check, part[i].bytes, part[i].n);
    snprintf(temp, sizeof temp, "%s.XXXXXX", path);
    int fd = mkostemp(temp, O_CLOEXEC);
    if (fd < 0)
        return;
    bool good = write_whole(fd, &h, sizeof h);
    for (size_t i = 0; good && i < 5; i++)
        good = write_whole(fd, part[i].bytes, part[i].n);
    good = close(fd) == 0 && good;
    if (!good || rename(temp, path))
        unlink(temp);
    evict(path);
}
