#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io.h"

const char *kb_files_kind(const char *path)
{
    struct stat st;
    return stat(path, &st) ? NULL
         : S_ISREG(st.st_mode) ? "file" : S_ISDIR(st.st_mode) ? "dir" : "other";
}

static kb_status make_one(const char *path)
{
    if (mkdir(path, 0777) == 0)
        return KB_OK;
    int saved = errno;
    const char *kind = kb_files_kind(path);
    errno = saved;
    return kind && strcmp(kind, "dir") == 0 ? KB_OK : KB_ESYS;
}

kb_status kb_files_mkdir_p(const char *path)
{
    kb_status st = KB_OK;
    char *copy = strdup(path);
    if (!copy)
        return KB_ENOMEM;
    for (char *at = copy; !st && *at; at++) {
        if (*at != '/' || at == copy)
            continue;
        *at = '\0';
        st = make_one(copy);
        if (st && errno == EEXIST)
            errno = ENOTDIR;
        *at = '/';
    }
    KB_THEN(st, make_one(copy));
    free(copy);                         /* which leaves errno as it is */
    return st;
}

kb_status kb_files_read(const char *path, size_t max_bytes, char **data,
                        size_t *n)
{
    struct kb_bytes b = { 0 };
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    kb_status st = fd < 0 ? KB_ESYS : KB_OK;
    for (size_t got = 1; !st && got && b.used <= max_bytes; )
        st = kb_io_append(fd, &b, &got);
    kb_io_close(&fd);
    if (!st && b.used > max_bytes) {
        errno = EFBIG;
        st = KB_ESYS;
    }
    if (st) {
        kb_bytes_free(&b);
        return st;
    }
    *data = b.at;
    *n = b.used;
    return KB_OK;
}

/* Some file systems cannot sync a folder and say EINVAL; the rename stands. */
static kb_status sync_folder_of(const char *path)
{
    char *copy = strdup(path);
    if (!copy)
        return KB_ENOMEM;
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    kb_status st = fd < 0 || (fsync(fd) && errno != EINVAL) ? KB_ESYS : KB_OK;
    kb_io_close(&fd);
    free(copy);
    return st;
}

static kb_status write_temp(const char *temp, const void *data, size_t n)
{
    int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return KB_ESYS;
    kb_status st = kb_io_write(fd, data, n, INT64_MAX);
    if (!st && fsync(fd))
        st = KB_ESYS;
    kb_io_close(&fd);           /* what was synced has no more to say */
    return st;
}

static kb_status replace(const char *path, const void *data, size_t n)
{
    uint64_t tag = 0;
    char *temp;
    if (getentropy(&tag, sizeof tag))
        return KB_ESYS;
    if (asprintf(&temp, "%s.%016llx", path, (unsigned long long)tag) < 0)
        return KB_ENOMEM;
    kb_status st = write_temp(temp, data, n);
    if (!st && rename(temp, path))
        st = KB_ESYS;
    if (st) {
        int saved = errno;
        unlink(temp);
        errno = saved;
    }
    free(temp);
    return st ? st : sync_folder_of(path);
}

kb_status kb_files_write(const char *path, const void *data, size_t n)
{
    const char *kind = kb_files_kind(path);
    if (kind && strcmp(kind, "file") != 0)
        return KB_EINVAL;
    char *real = realpath(path, NULL);      /* NULL: there is none yet */
    kb_status st = replace(real ? real : path, data, n);
    int saved = errno;
    free(real);
    errno = saved;
    return st;
}

kb_status kb_files_temp_dir(char *path, size_t max_bytes)
{
    const char *root = getenv("TMPDIR");
    int n = snprintf(path, max_bytes, "%s/kernelband-XXXXXX",
                     root && *root ? root : "/tmp");
    if (n < 0 || (size_t)n >= max_bytes) {
        errno = ENAMETOOLONG;
        return KB_ESYS;
    }
    return mkdtemp(path) ? KB_OK : KB_ESYS;
}

kb_status kb_files_lock(const char *path, FILE **lock)
{
    FILE *f = fopen(path, "ae");
    if (!f)
        return KB_ESYS;
    if (flock(fileno(f), LOCK_EX | LOCK_NB)) {
        int saved = errno;
        fclose(f);
        errno = saved;
        return KB_ESYS;
    }
    *lock = f;
    return KB_OK;
}

const char *kb_files_errno_name(int error)
{
    const char *name = strerrorname_np(error);
    return name ? name : "ESYS";
}
