#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

enum { BUSY_MS = 5000 };

static const char settings[] =
    "PRAGMA journal_mode = WAL;"
    "PRAGMA synchronous = FULL;"
    "PRAGMA foreign_keys = ON;";

static kb_status status_of(int code)
{
    return code == SQLITE_OK ? KB_OK
         : (code & 0xff) == SQLITE_NOMEM ? KB_ENOMEM : KB_ESTORE;
}

/* SQLite's sentence, or a plainer one where there is a better word. */
const char *kb_store_error(kb_store *store)
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
                         char *why, size_t size, kb_store **out)
{
    kb_store *store = NULL;
    kb_status st = status_of(sqlite3_open_v2(path, &store,
                                             flags | SQLITE_OPEN_EXRESCODE,
                                             NULL));
    if (!st) {
        sqlite3_busy_timeout(store, BUSY_MS);
        st = kb_store_exec(store, setup);
    }
    if (!st) {
        *out = store;
        return KB_OK;
    }
    if (size)
        snprintf(why, size, "%s", st == KB_ESTORE ? kb_store_error(store)
                                                  : kb_status_text(st));
    kb_store_close(store);
    return st;
}

/* path as a URI: what has a meaning there is written as %XX. */
static char *uri_of(const char *path, const char *query)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                "0123456789/._-~";
    size_t room = strlen("file:") + 3 * strlen(path) + strlen(query) + 1, n;
    char *uri = malloc(room);
    if (!uri)
        return NULL;
    n = (size_t)snprintf(uri, room, "file:");
    for (; *path; path++) {
        const char *form = strchr(plain, *path) ? "%c" : "%%%02X";
        n += (size_t)snprintf(uri + n, room - n, form, (unsigned char)*path);
    }
    snprintf(uri + n, room - n, "%s", query);
    return uri;
}

static kb_status open_read(const char *path, char *why, size_t size,
                           kb_store **out)
{
    static const char touch[] = "SELECT count(*) FROM sqlite_master;";
    kb_status st = attempt(path, SQLITE_OPEN_READONLY, touch, why, size, out);
    if (st != KB_ESTORE || access(path, R_OK))
        return st;
    /* SQLite wants to make its -shm file even to read. */
    char again[1], *uri = uri_of(path, "?immutable=1");
    if (uri && !attempt(uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, touch, again,
                        sizeof again, out))
        st = KB_OK;
    free(uri);
    return st;
}

kb_status kb_store_open(const char *path, bool read, char *why, size_t size,
                        kb_store **out)
{
    if (read)
        return open_read(path, why, size, out);
    return attempt(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, settings,
                   why, size, out);
}

void kb_store_close(kb_store *store)
{
    sqlite3_close_v2(store);
}

int64_t kb_store_changes(kb_store *store)
{
    return sqlite3_changes64(store);
}

int64_t kb_store_last_id(kb_store *store)
{
    return sqlite3_last_insert_rowid(store);
}

kb_status kb_store_exec(kb_store *store, const char *sql)
{
    return status_of(sqlite3_exec(store, sql, NULL, NULL, NULL));
}

static bool blank(const char *text)
{
    return text[strspn(text, " \t\r\n;")] == '\0';
}

kb_status kb_query_new(kb_store *store, const char *sql, kb_query **out)
{
    const char *tail = sql;
    kb_query *query = NULL;
    kb_status st = status_of(sqlite3_prepare_v2(store, sql, -1, &query, &tail));
    if (st)
        return st;
    if (!query || !blank(tail)) {
        kb_query_free(query);
        return KB_EINVAL;
    }
    *out = query;
    return KB_OK;
}

void kb_query_free(kb_query *query)
{
    sqlite3_finalize(query);
}

size_t kb_query_parameters(kb_query *query)
{
    return (size_t)sqlite3_bind_parameter_count(query);
}

kb_status kb_query_bind(kb_query *query, size_t i, const struct kb_value *v)
{
    if (i >= kb_query_parameters(query))
        return KB_EINVAL;
    int at = (int)i + 1;                /* SQLite counts from 1 */
    switch (v->type) {
    case KB_STORE_INTEGER:
        return status_of(sqlite3_bind_int64(query, at, v->integer));
    case KB_STORE_REAL:
        return status_of(sqlite3_bind_double(query, at, v->real));
    case KB_STORE_TEXT:
        return status_of(sqlite3_bind_text64(query, at, v->bytes, v->n,
                                             SQLITE_TRANSIENT, SQLITE_UTF8));
    case KB_STORE_BLOB:
        return status_of(sqlite3_bind_blob64(query, at, v->bytes, v->n,
                                             SQLITE_TRANSIENT));
    default:
        return status_of(sqlite3_bind_null(query, at));
    }
}

kb_status kb_query_step(kb_query *query, bool *row)
{
    int code = sqlite3_step(query);
    *row = code == SQLITE_ROW;
    if (*row || code == SQLITE_DONE)
        return KB_OK;
    return status_of(code);
}

const char *kb_query_column(kb_query *query, size_t col, struct kb_value *out)
{
    int i = (int)col;
    if (col >= (size_t)sqlite3_column_count(query))
        return NULL;
    *out = (struct kb_value){ .type = KB_STORE_NULL };
    switch (sqlite3_column_type(query, i)) {
    case SQLITE_INTEGER:
        out->type = KB_STORE_INTEGER;
        out->integer = sqlite3_column_int64(query, i);
        break;
    case SQLITE_FLOAT:
        out->type = KB_STORE_REAL;
        out->real = sqlite3_column_double(query, i);
        break;
    case SQLITE_TEXT: case SQLITE_BLOB:
        out->type = sqlite3_column_type(query, i) == SQLITE_TEXT
                  ? KB_STORE_TEXT : KB_STORE_BLOB;
        out->bytes = sqlite3_column_blob(query, i);
        out->n = (size_t)sqlite3_column_bytes(query, i);
        if (!out->bytes)
            out->bytes = "";
        break;
    default:
        break;
    }
    const char *name = sqlite3_column_name(query, i);
    return name ? name : "";
}
