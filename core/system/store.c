#include "store.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

enum { BUSY_MS = 5000, TEXT_BYTES = 512, KEPT = 32, KEPT_BYTES = 1024 };

struct kb_store {
    sqlite3 *db;                /* NULL: closed, and queries are left */
    size_t queries, oldest;
    sqlite3_stmt *kept[KEPT];   /* reset, for who asks the same again */
    char why[TEXT_BYTES];
};

struct kb_query {
    kb_store *store;            /* for its error text while stepping */
    sqlite3_stmt *stmt;
};

static const char settings[] =
    "PRAGMA journal_mode = WAL;"
    "PRAGMA synchronous = FULL;"
    "PRAGMA foreign_keys = ON;";

/* Keeps SQLite's sentence, or a plainer one where there is a better word. */
static kb_status refuse(kb_store *store, int code)
{
    const char *text = sqlite3_errmsg(store->db);
    switch (code & 0xff) {
    case SQLITE_NOMEM:
        return KB_ENOMEM;
    case SQLITE_FULL:
        text = "disk is full";
        break;
    case SQLITE_IOERR:
        /* A write cut short by a quota or a file size limit ends here. */
        if (code == SQLITE_IOERR_WRITE || code == SQLITE_IOERR_FSYNC)
            text = "the disk refused a write (is it full?)";
        break;
    case SQLITE_NOTADB:
        text = "the file is not a SQLite database";
        break;
    default:
        break;
    }
    snprintf(store->why, sizeof store->why, "%s", text);
    return KB_ESTORE;
}

/* One attempt to open; what it takes to talk to the file is setup. */
static kb_status attempt(const char *path, int flags, const char *setup,
                         char *why, size_t size, kb_store **out)
{
    kb_status st = KB_ENOMEM;
    kb_store *store = calloc(1, sizeof *store);
    if (!store)
        goto fail;

    int code = sqlite3_open_v2(path, &store->db, flags | SQLITE_OPEN_EXRESCODE,
                               NULL);
    if (!store->db)
        goto fail;
    if (code) {
        st = refuse(store, code);
        goto fail;
    }
    sqlite3_busy_timeout(store->db, BUSY_MS);
    st = kb_store_exec(store, setup);
    if (st)
        goto fail;
    *out = store;
    return KB_OK;
fail:
    if (size)
        snprintf(why, size, "%s", st == KB_ESTORE ? store->why
                                                  : kb_status_text(st));
    kb_store_close(store);
    return st;
}

kb_status kb_store_open(const char *path, char *why, size_t size,
                        kb_store **out)
{
    return attempt(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, settings,
                   why, size, out);
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

kb_status kb_store_open_read(const char *path, char *why, size_t size,
                             kb_store **out)
{
    static const char touch[] = "SELECT count(*) FROM sqlite_master;";
    kb_status st = attempt(path, SQLITE_OPEN_READONLY, touch, why, size, out);
    if (st != KB_ESTORE || access(path, R_OK))
        return st;
    /* SQLite wants to make its -shm file even to read. */
    char *uri = uri_of(path, "?immutable=1");
    if (!uri)
        return KB_ENOMEM;
    char again[TEXT_BYTES];
    if (!attempt(uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, touch, again,
                 sizeof again, out))
        st = KB_OK;
    free(uri);
    return st;
}

static void let_go(kb_store *store)
{
    if (!store->db && store->queries == 0)
        free(store);
}

void kb_store_close(kb_store *store)
{
    if (!store)
        return;
    for (size_t i = 0; i < KEPT; i++)
        sqlite3_finalize(store->kept[i]);
    sqlite3_close_v2(store->db);
    store->db = NULL;
    let_go(store);
}

const char *kb_store_error(const kb_store *store)
{
    return store->why;
}

int64_t kb_store_changes(const kb_store *store)
{
    return sqlite3_changes64(store->db);
}

int64_t kb_store_last_id(const kb_store *store)
{
    return sqlite3_last_insert_rowid(store->db);
}

/* Taken out of those kept, or NULL. */
static sqlite3_stmt *find(kb_store *store, const char *sql)
{
    for (size_t i = 0; i < KEPT; i++) {
        sqlite3_stmt *stmt = store->kept[i];
        if (stmt && !strcmp(sqlite3_sql(stmt), sql)) {
            store->kept[i] = NULL;
            return stmt;
        }
    }
    return NULL;
}

/* Most PRAGMAs do or read what they are for when they are prepared: they are made
 * anew. */
static bool is_worth_keeping(sqlite3_stmt *stmt)
{
    const char *sql = sqlite3_sql(stmt);
    return !strcmp(sql, "PRAGMA data_version")
        || (strlen(sql) < KEPT_BYTES && sqlite3_strnicmp(sql, "PRAGMA", 6));
}

/* What it holds of its parameters, and its lock, are free again. */
static void keep(kb_store *store, sqlite3_stmt *stmt)
{
    size_t i = 0;
    sqlite3_reset(stmt);
    sqlite3_clear_bindings(stmt);
    if (!store->db || !is_worth_keeping(stmt)) {
        sqlite3_finalize(stmt);
        return;
    }
    while (i < KEPT && store->kept[i])
        i++;
    if (i == KEPT) {
        i = store->oldest++ % KEPT;
        sqlite3_finalize(store->kept[i]);
    }
    store->kept[i] = stmt;
}

/* Steps to the end, dropping rows. */
static int drain(sqlite3_stmt *stmt)
{
    int code;
    do
        code = sqlite3_step(stmt);
    while (code == SQLITE_ROW);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

kb_status kb_store_exec(kb_store *store, const char *sql)
{
    bool one = !strchr(sql, ';');       /* BEGIN and COMMIT come again */
    while (*sql) {
        int code = SQLITE_OK;
        sqlite3_stmt *stmt = one ? find(store, sql) : NULL;
        if (stmt)
            sql = "";
        else
            code = sqlite3_prepare_v2(store->db, sql, -1, &stmt, &sql);
        if (!code && stmt)
            code = drain(stmt);
        kb_status st = code ? refuse(store, code) : KB_OK;
        if (one && stmt)
            keep(store, stmt);
        else
            sqlite3_finalize(stmt);
        if (st)
            return st;
    }
    return KB_OK;
}

static bool blank(const char *text)
{
    return text[strspn(text, " \t\r\n;")] == '\0';
}

kb_status kb_query_new(kb_store *store, const char *sql, kb_query **out)
{
    const char *tail = sql;
    kb_status st = KB_ENOMEM;
    kb_query *query = calloc(1, sizeof *query);
    if (!query)
        goto fail;
    query->store = store;
    store->queries++;
    query->stmt = find(store, sql);
    if (query->stmt) {
        *out = query;
        return KB_OK;
    }
    int code = sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT,
                                  &query->stmt, &tail);
    if (code) {
        st = refuse(store, code);
        goto fail;
    }
    if (!query->stmt || !blank(tail)) {
        st = KB_EINVAL;
        goto fail;
    }
    *out = query;
    return KB_OK;
fail:
    kb_query_free(query);
    return st;
}

void kb_query_free(kb_query *query)
{
    if (!query)
        return;
    if (query->stmt)
        keep(query->store, query->stmt);
    query->store->queries--;
    let_go(query->store);
    free(query);
}

size_t kb_query_parameters(const kb_query *query)
{
    return (size_t)sqlite3_bind_parameter_count(query->stmt);
}

/* SQLite counts parameters from 1 and answers RANGE for what is not one; the
 * caller's index is checked first so that the cast cannot wrap. */
static kb_status bound(kb_query *query, int code)
{
    return code ? refuse(query->store, code) : KB_OK;
}

kb_status kb_query_null(kb_query *query, size_t i)
{
    if (i >= kb_query_parameters(query))
        return KB_EINVAL;
    return bound(query, sqlite3_bind_null(query->stmt, (int)i + 1));
}

kb_status kb_query_integer(kb_query *query, size_t i, int64_t v)
{
    if (i >= kb_query_parameters(query))
        return KB_EINVAL;
    return bound(query, sqlite3_bind_int64(query->stmt, (int)i + 1, v));
}

kb_status kb_query_real(kb_query *query, size_t i, double v)
{
    if (i >= kb_query_parameters(query))
        return KB_EINVAL;
    return bound(query, sqlite3_bind_double(query->stmt, (int)i + 1, v));
}

kb_status kb_query_text(kb_query *query, size_t i, const char *v,
                        size_t bytes)
{
    if (i >= kb_query_parameters(query))
        return KB_EINVAL;
    return bound(query, sqlite3_bind_text64(query->stmt, (int)i + 1, v, bytes,
                                            SQLITE_TRANSIENT, SQLITE_UTF8));
}

kb_status kb_query_blob(kb_query *query, size_t i, const void *v,
                        size_t bytes)
{
    if (i >= kb_query_parameters(query))
        return KB_EINVAL;
    return bound(query, sqlite3_bind_blob64(query->stmt, (int)i + 1, v, bytes,
                                            SQLITE_TRANSIENT));
}

kb_status kb_query_step(kb_query *query, bool *row)
{
    int code = sqlite3_step(query->stmt);
    if (code != SQLITE_ROW && code != SQLITE_DONE) {
        kb_status st = refuse(query->store, code);
        sqlite3_reset(query->stmt);
        return st;
    }
    *row = code == SQLITE_ROW;
    return KB_OK;
}

size_t kb_query_columns(const kb_query *query)
{
    return (size_t)sqlite3_column_count(query->stmt);
}

const char *kb_query_name(const kb_query *query, size_t col)
{
    const char *name = sqlite3_column_name(query->stmt, (int)col);
    return name ? name : "";
}

enum kb_store_type kb_query_type(const kb_query *query, size_t col)
{
    switch (sqlite3_column_type(query->stmt, (int)col)) {
    case SQLITE_INTEGER:
        return KB_STORE_INTEGER;
    case SQLITE_FLOAT:
        return KB_STORE_REAL;
    case SQLITE_TEXT:
        return KB_STORE_TEXT;
    case SQLITE_BLOB:
        return KB_STORE_BLOB;
    default:
        return KB_STORE_NULL;
    }
}

int64_t kb_query_get_integer(const kb_query *query, size_t col)
{
    return sqlite3_column_int64(query->stmt, (int)col);
}

double kb_query_get_real(const kb_query *query, size_t col)
{
    return sqlite3_column_double(query->stmt, (int)col);
}

const void *kb_query_get_bytes(const kb_query *query, size_t col,
                               size_t *bytes)
{
    const void *v = sqlite3_column_blob(query->stmt, (int)col);
    *bytes = (size_t)sqlite3_column_bytes(query->stmt, (int)col);
    return v ? v : "";
}
