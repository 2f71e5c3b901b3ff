#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host.h"

enum { TEMP_TAIL_BYTES = 24, FIRST_READ_BYTES = 1 << 14 };

static void close_keeping_errno(int fd)
{
    int saved = errno;
    close(fd);
    errno = saved;
}

enum kb_files_kind kb_files_kind(const char *path)
{
    struct stat st;
    if (stat(path, &st))
        return KB_FILES_NONE;
    return S_ISREG(st.st_mode) ? KB_FILES_FILE
         : S_ISDIR(st.st_mode) ? KB_FILES_DIR : KB_FILES_OTHER;
}

static kb_status make_one(const char *path)
{
    if (mkdir(path, 0777) == 0)
        return KB_OK;
    int saved = errno;
    if (kb_files_kind(path) == KB_FILES_DIR)
        return KB_OK;
    errno = saved;
    return KB_ESYS;
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
    if (!st)
        st = make_one(copy);
    int saved = errno;
    free(copy);
    errno = saved;
    return st;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

struct names {
    char **at;
    size_t count, room, bytes;
};

static void free_names(struct names *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->at[i]);
    free(list->at);
}

static kb_status add_name(struct names *list, const char *name)
{
    if (list->count == list->room) {
        size_t room = list->room ? 2 * list->room : 32;
        char **at = realloc(list->at, room * sizeof *at);
        if (!at)
            return KB_ENOMEM;
        list->at = at;
        list->room = room;
    }
    char *copy = strdup(name);
    if (!copy)
        return KB_ENOMEM;
    list->at[list->count++] = copy;
    list->bytes += strlen(name) + 1;
    return KB_OK;
}

static kb_status read_names(const char *path, struct names *list)
{
    kb_status st = KB_OK;
    DIR *dir = opendir(path);
    if (!dir)
        return KB_ESYS;
    while (!st) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (!entry) {
            st = errno ? KB_ESYS : KB_OK;
            break;
        }
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
            st = add_name(list, entry->d_name);
    }
    int saved = errno;
    closedir(dir);
    errno = saved;
    return st;
}

kb_status kb_files_list(const char *path, char **names, size_t *count)
{
    struct names list = { NULL, 0, 0, 0 };
    kb_status st = read_names(path, &list);
    if (st)
        goto done;
    st = KB_ENOMEM;
    char *block = malloc(list.bytes + 1);
    if (!block)
        goto done;
    if (list.count)
        qsort(list.at, list.count, sizeof *list.at, by_name);
    char *at = block;
    for (size_t i = 0; i < list.count; i++)
        at = stpcpy(at, list.at[i]) + 1;
    *at = '\0';
    *names = block;
    *count = list.count;
    st = KB_OK;

done:;
    int saved = errno;
    free_names(&list);
    errno = saved;
    return st;
}

/* Reads to the end; *data grows by doubling and is the caller's even on
 * failure. */
static kb_status read_all(int fd, size_t max_bytes, char **data, size_t *n)
{
    size_t room = 0;
    for (;;) {
        if (*n == room) {
            room = room ? 2 * room : FIRST_READ_BYTES;
            char *more = realloc(*data, room);
            if (!more)
                return KB_ENOMEM;
            *data = more;
        }
        ssize_t got = read(fd, *data + *n, room - *n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return KB_ESYS;
        if (got == 0)
            return KB_OK;
        *n += (size_t)got;
        if (*n > max_bytes) {
            errno = EFBIG;
            return KB_ESYS;
        }
    }
}

kb_status kb_files_read(const char *path, size_t max_bytes, char **data,
                        size_t *n)
{
    char *block = NULL;
    size_t length = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return KB_ESYS;
    kb_status st = read_all(fd, max_bytes, &block, &length);
    close_keeping_errno(fd);
    if (st) {
        int saved = errno;
        free(block);
        errno = saved;
        return st;
    }
    *data = block;
    *n = length;
    return KB_OK;
}

static kb_status write_all(int fd, const char *data, size_t n)
{
    while (n > 0) {
        ssize_t put = write(fd, data, n);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return KB_ESYS;
        data += put;
        n -= (size_t)put;
    }
    return fsync(fd) ? KB_ESYS : KB_OK;
}

/* Some file systems cannot sync a folder and say EINVAL; the rename stands. */
static kb_status sync_folder(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return KB_ESYS;
    kb_status st = fsync(fd) && errno != EINVAL ? KB_ESYS : KB_OK;
    close_keeping_errno(fd);
    return st;
}

static kb_status sync_folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return sync_folder(".");
    char *dir = strndup(path, slash == path ? 1 : (size_t)(slash - path));
    if (!dir)
        return KB_ENOMEM;
    kb_status st = sync_folder(dir);
    int saved = errno;
    free(dir);
    errno = saved;
    return st;
}

static kb_status write_temp(const char *temp, const void *data, size_t n)
{
    int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return KB_ESYS;
    kb_status st = write_all(fd, data, n);
    if (st)
        close_keeping_errno(fd);
    else if (close(fd))
        st = KB_ESYS;
    if (st) {
        int saved = errno;
        unlink(temp);
        errno = saved;
    }
    return st;
}

kb_status kb_files_write(const char *path, const void *data, size_t n)
{
    uint64_t tag = 0;
    enum kb_files_kind kind = kb_files_kind(path);
    if (kind == KB_FILES_DIR || kind == KB_FILES_OTHER)
        return KB_EINVAL;
    kb_status st = kb_host_random(&tag, sizeof tag);
    if (st)
        return st;
    size_t room = strlen(path) + TEMP_TAIL_BYTES;
    char *temp = malloc(room);
    if (!temp)
        return KB_ENOMEM;
    snprintf(temp, room, "%s.%016llx", path, (unsigned long long)tag);
    st = write_temp(temp, data, n);
    if (!st && rename(temp, path)) {
        int saved = errno;
        unlink(temp);
        errno = saved;
        st = KB_ESYS;
    }
    if (!st)
        st = sync_folder_of(path);
    int saved = errno;
    free(temp);
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
    static const struct {
        int error;
        const char *name;
    } known[] = {
        { ENOENT,  "ENOENT"  }, { EACCES,       "EACCES"       },
        { EEXIST,  "EEXIST"  }, { ENOTDIR,      "ENOTDIR"      },
        { EISDIR,  "EISDIR"  }, { ENOSPC,       "ENOSPC"       },
        { EDQUOT,  "EDQUOT"  }, { EFBIG,        "EFBIG"        },
        { EROFS,   "EROFS"   }, { EPERM,        "EPERM"        },
        { EMFILE,  "EMFILE"  }, { ENAMETOOLONG, "ENAMETOOLONG" },
        { ELOOP,   "ELOOP"   }, { EIO,          "EIO"          },
        { EAGAIN,  "EAGAIN"  },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].error == error)
            return known[i].name;
    return "ESYS";
}
