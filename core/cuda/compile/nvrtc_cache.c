#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nvrtc_parts.h"
#include "rng.h"
#include "system/files.h"
#include "system/io.h"

enum { FILE_BYTES = 80 << 20, NAME_BYTES = 48 };

/* What a file of the cache begins with: a check of what follows it, then the
 * key, of which none is the beginning of another. The reply comes behind. */
static kb_status add_key(struct kb_bytes *b, const struct kb_nvrtc_key *k)
{
    const uint64_t head[] = { 0, k->bytes };
    const struct { const void *bytes; size_t n; } part[] = {
        { head, sizeof head }, { k->arch, strlen(k->arch) + 1 },
        { k->toolkit, strlen(k->toolkit) + 1 }, { k->source, k->bytes }
    };
    kb_status st = KB_OK;
    for (size_t i = 0; !st && i < sizeof part / sizeof *part; i++)
        st = kb_bytes_add(b, part[i].bytes, part[i].n);
    return st;
}

static uint64_t check_of(const char *file, size_t n)
{
    return kb_hash(n, file + sizeof(uint64_t), n - sizeof(uint64_t));
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
    if (stat(dir, &s)
        && (kb_files_mkdir_p(dir) || chmod(dir, 0700) || stat(dir, &s)))
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
                     check_of(key->at, key->used));
    return n > 0 && (size_t)n < cap;
}

/* Whether the n bytes of a file are that key and what was written with it. */
static bool whole(const char *file, size_t n, const struct kb_bytes *key)
{
    uint64_t check;
    if (n < key->used
        || memcmp(file + sizeof check, key->at + sizeof check,
                  key->used - sizeof check) != 0)
        return false;
    memcpy(&check, file, sizeof check);
    return check == check_of(file, n);
}

kb_status kb_nvrtc_recall(const struct kb_nvrtc_key *k, char **reply, size_t *n)
{
    char path[KB_NVRTC_PATH_BYTES], *file = NULL;
    struct kb_bytes key = { 0 };
    kb_status st = KB_EEMPTY;
    size_t used = 0;
    if (!add_key(&key, k) && name_file(&key, path, sizeof path)
        && !kb_files_read(path, FILE_BYTES, &file, &used)
        && whole(file, used, &key)) {
        utimensat(AT_FDCWD, path, NULL, 0);             /* see evict */
        *n = used - key.used;
        memmove(file, file + key.used, *n);
        *reply = file;
        st = KB_OK;
    } else {
        free(file);
    }
    kb_bytes_free(&key);
    return st;
}

static bool is_ours(const char *name)
{
    return strspn(name, "0123456789abcdef") == 16 && strlen(name) < NAME_BYTES
        && strncmp(name + 16, ".cubin", 6) == 0;
}

/* Whether a folder is over the bounds; then names what was used longest ago.
 * Files of a writer that died count too. */
static bool is_full(DIR *d, char oldest[NAME_BYTES])
{
    struct timespec least = { 0 };
    struct stat s;
    uint64_t bytes = 0;
    size_t n = 0;
    rewinddir(d);
    for (struct dirent *e; (e = readdir(d)); ) {
        if (!is_ours(e->d_name)
            || fstatat(dirfd(d), e->d_name, &s, AT_SYMLINK_NOFOLLOW))
            continue;
        bytes += (uint64_t)s.st_size;
        if (n++ && (s.st_mtim.tv_sec > least.tv_sec
                    || (s.st_mtim.tv_sec == least.tv_sec
                        && s.st_mtim.tv_nsec >= least.tv_nsec)))
            continue;
        least = s.st_mtim;
        strcpy(oldest, e->d_name);
    }
    return n > KB_NVRTC_CACHE_FILES || bytes > KB_NVRTC_CACHE_BYTES;
}

static void evict(char *path)
{
    char oldest[NAME_BYTES];
    *strrchr(path, '/') = '\0';
    DIR *d = opendir(path);
    while (d && is_full(d, oldest) && !unlinkat(dirfd(d), oldest, 0))
        ;
    if (d)
        closedir(d);
}

void kb_nvrtc_keep(const struct kb_nvrtc_key *k, const char *reply, size_t n)
{
    char path[KB_NVRTC_PATH_BYTES];
    struct kb_bytes b = { 0 };
    if (!add_key(&b, k) && name_file(&b, path, sizeof path)
        && !kb_bytes_add(&b, reply, n)) {
        const uint64_t check = check_of(b.at, b.used);
        memcpy(b.at, &check, sizeof check);
        if (!kb_files_write(path, b.at, b.used))
            evict(path);
    }
    kb_bytes_free(&b);
}
