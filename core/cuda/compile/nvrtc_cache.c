#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nvrtc_parts.h"
#include "rng.h"
#include "system/files.h"
#include "system/io.h"

/* A file is the key, then this, the log with its NUL, and the cubin; check is
 * of all that follows it. */
struct head {
    uint64_t check, log_bytes;
};

enum { FILE_BYTES = 80 << 20, NAME_BYTES = 32 };

/* The bytes a file begins with: no key is the beginning of another. */
static kb_status add_key(struct kb_bytes *b, const struct kb_nvrtc_key *k)
{
    const uint64_t source_bytes = k->bytes;
    const struct { const void *bytes; size_t n; } part[] = {
        { "KBCUBIN2", 8 }, { &source_bytes, sizeof source_bytes },
        { k->arch, strlen(k->arch) + 1 },
        { k->toolkit, strlen(k->toolkit) + 1 }, { k->source, k->bytes }
    };
    kb_status st = KB_OK;
    for (size_t i = 0; !st && i < sizeof part / sizeof *part; i++)
        st = kb_bytes_add(b, part[i].bytes, part[i].n);
    return st;
}

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

static bool name_file(const struct kb_bytes *key, char *path, size_t cap)
{
    char dir[KB_NVRTC_PATH_BYTES];
    if (!open_folder(dir, sizeof dir))
        return false;
    int n = snprintf(path, cap, "%s/%016" PRIx64 ".cubin", dir,
                     kb_hash(0, key->at, key->used));
    return n > 0 && (size_t)n < cap;
}

/* Whether the n bytes of a file are that key and what its head tells. */
static bool whole(const char *data, size_t n, const struct kb_bytes *key,
                  struct head *h)
{
    size_t from = key->used + sizeof *h;
    if (n < from || memcmp(data, key->at, key->used) != 0)
        return false;
    memcpy(h, data + key->used, sizeof *h);
    return h->log_bytes && h->log_bytes <= n - from
        && data[from + h->log_bytes - 1] == '\0'
        && kb_hash(h->log_bytes, data + from, n - from) == h->check;
}

kb_status kb_nvrtc_recall(const struct kb_nvrtc_key *k, char **log,
                          unsigned char **cubin, size_t *n)
{
    char path[KB_NVRTC_PATH_BYTES], *data = NULL;
    struct kb_bytes key = { 0 };
    struct head h;
    size_t used = 0;
    unsigned char *copy = NULL;
    if (!add_key(&key, k) && name_file(&key, path, sizeof path)
        && !kb_files_read(path, FILE_BYTES, &data, &used)
        && whole(data, used, &key, &h)) {
        size_t from = key.used + sizeof h, bytes = used - from - h.log_bytes;
        copy = malloc(bytes ? bytes : 1);
        if (copy) {
            memcpy(copy, data + from + h.log_bytes, bytes);
            memmove(data, data + from, h.log_bytes);
            utimensat(AT_FDCWD, path, NULL, 0);         /* see evict */
            *n = bytes;
        }
    }
    kb_bytes_free(&key);
    if (!copy) {
        free(data);
        return KB_EEMPTY;
    }
    *cubin = copy;
    *log = data;
    return KB_OK;
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

/* Removes what was used longest ago until the rest is within the bounds. Files
 * of a writer that died count too. */
static void evict(char *path)
{
    struct kb_bytes list = { 0 };
    struct dirent *e;
    struct stat s;
    uint64_t bytes = 0;
    *strrchr(path, '/') = '\0';
    DIR *d = opendir(path);
    while (d && (e = readdir(d))) {
        struct file one = { .bytes = 0 };
        if (!is_ours(e->d_name)
            || fstatat(dirfd(d), e->d_name, &s, AT_SYMLINK_NOFOLLOW))
            continue;
        one.used = s.st_mtim;
        one.bytes = (uint64_t)s.st_size;
        strcpy(one.name, e->d_name);
        if (kb_bytes_add(&list, &one, sizeof one))
            break;
    }
    struct file *file = (void *)list.at;
    size_t n = list.used / sizeof *file;
    if (n)
        qsort(file, n, sizeof *file, by_last_use);
    for (size_t i = 0; i < n; i++) {
        bytes += file[i].bytes;
        if (i >= KB_NVRTC_CACHE_FILES || bytes > KB_NVRTC_CACHE_BYTES)
            unlinkat(dirfd(d), file[i].name, 0);
    }
    kb_bytes_free(&list);
    if (d)
        closedir(d);
}

/* Not synced: a file that a crash left short fails its check. */
void kb_nvrtc_keep(const struct kb_nvrtc_key *k, const char *log,
                   const unsigned char *cubin, size_t n)
{
    char path[KB_NVRTC_PATH_BYTES], temp[KB_NVRTC_PATH_BYTES + 16];
    struct kb_bytes b = { 0 };
    struct head h = { .log_bytes = strlen(log) + 1 };
    int fd = -1;
    if (add_key(&b, k) || !name_file(&b, path, sizeof path))
        goto done;
    size_t at = b.used, from = at + sizeof h;
    if (kb_bytes_add(&b, &h, sizeof h) || kb_bytes_add(&b, log, h.log_bytes)
        || kb_bytes_add(&b, cubin, n))
        goto done;
    h.check = kb_hash(h.log_bytes, b.at + from, b.used - from);
    memcpy(b.at + at, &h, sizeof h);
    snprintf(temp, sizeof temp, "%s.XXXXXX", path);
    fd = mkostemp(temp, O_CLOEXEC);
    if (fd < 0)
        goto done;
    bool good = kb_io_write(fd, b.at, b.used, INT64_MAX) == KB_OK;
    good = close(fd) == 0 && good;
    if (!good || rename(temp, path))
        unlink(temp);
    evict(path);
done:
    kb_bytes_free(&b);
}
