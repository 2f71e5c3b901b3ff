#include "store.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <sqlite3.h>

enum { BUSY_MS = 5000 };

static const char settings[] =
    "PRAGMA journal_mode = WAL;"
    "PRAGMA synchronous = FULL;"
    "PRAGMA foreign_keys = ON;";

/* SQLite's sentence, or a plainer one where there is a better word. */
const char *kb_store_error(struct sqlite3 *store)
{
    int code = sqlite3_extended_errcode(store);
    if ((code & 0xff) == SQLITE_FULL)
        return "disk is full";
    /* A write cut short by a quota or a file size limit ends here. */
    if (code == SQLITE_IOERR_WRITE || code == SQLITE_IOERR_FSYNC)
        return "the disk refused a write (is it full?)";
    if ((code & 0xff) == SQLITE_NOTADB)
        return "the file is not a SQLite database";
    return sqlite3_errmsg(store);
}

/* One attempt to open; what it takes to talk to the file is setup. */
static kb_status attempt(const char *path, int flags, const char *setup,
                         char *why, size_t size, struct sqlite3 **out)
{
    struct sqlite3 *store = NULL;
    int code = sqlite3_open_v2(path, &store, flags | SQLITE_OPEN_EXRESCODE,
                               NULL);
    if (!code) {
        sqlite3_busy_timeout(store, BUSY_MS);
        code = sqlite3_exec(store, setup, NULL, NULL, NULL);
    }
    if (!code) {
        *out = store;
        return KB_OK;
    }
    snprintf(why, size, "%s", kb_store_error(store));
    sqlite3_close_v2(store);
    return (code & 0xff) == SQLITE_NOMEM ? KB_ENOMEM : KB_ESTORE;
}

kb_status kb_store_open(const char *path, bool read, char *why, size_t size,
                        struct sqlite3 **out)
{
    static const char touch[] = "SELECT count(*) FROM sqlite_master;";
    if (!read)
        return attempt(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                       settings, why, size, out);
    kb_status st = attempt(path, SQLITE_OPEN_READONLY, touch, why, size, out);
    int fd = st == KB_ESTORE ? open(path, O_PATH | O_CLOEXEC) : -1;
    if (fd < 0)
        return st;
    /* SQLite wants to make its -shm file even to read, unless a URI says that
     * nobody writes. A descriptor is a path that needs no escapes there; an
     * ordinary one, when closed, would free this process's locks on it. */
    char uri[64], again[1];
    snprintf(uri, sizeof uri, "file:/proc/self/fd/%d?immutable=1", fd);
    if (!attempt(uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, touch, again,
                 sizeof again, out))
        st = KB_OK;
    close(fd);
    return st;
}
