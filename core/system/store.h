/* store.h - one SQLite file, opened for good: the journal of a run.
 *
 * The settings, and what each is for:
 *   journal_mode = WAL      a reader (report, another terminal) never blocks
 *                           the search and is never blocked by it.
 *   synchronous  = FULL     a transaction survives the death of the process and
 *                           of the machine from the moment COMMIT returns: one
 *                           fsync of the log, 0.2 ms on an ordinary disk.
 *   foreign_keys = ON       a pull cannot name a kernel that is not there.
 *   busy timeout = 5 s      a reader holding a lock is waited for.
 *
 * A full disk is an error like any other: the transaction is rolled back,
 * kb_store_error says "disk is full", and what was committed stays readable.
 *
 * Values have the five types of SQLite; an int64_t stays an integer. A NaN is
 * stored as NULL, which a NOT NULL column then refuses.
 */
#ifndef KB_STORE_H
#define KB_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kb.h"

typedef struct sqlite3 kb_store;        /* an open file */
typedef struct sqlite3_stmt kb_query;   /* one prepared statement of a store */

/* A value of SQLite: type says which of the other fields counts. */
struct kb_value {
    enum {
        KB_STORE_NULL, KB_STORE_INTEGER, KB_STORE_REAL, KB_STORE_TEXT,
        KB_STORE_BLOB
    } type;
    int64_t integer;
    double real;
    const void *bytes;          /* of a text or blob; never NULL when read */
    size_t n;                   /* without the terminator */
};

/* Opens path: to write it, creating it when absent; or an existing one to read
 * it and nothing else, while a search may be writing to it. A file to read in a
 * folder that cannot be written, which no one can be writing to, is read as it
 * stands. ESTORE: not a database, no permission, no such folder, disk full; then
 * why, a buffer of size bytes, holds a sentence (always terminated; size 0 is
 * allowed). ENOMEM. */
KB_MUST_USE kb_status kb_store_open(const char *path, bool read, char *why,
                                    size_t size, kb_store **out);

/* Queries still alive keep the file open until they are freed too. */
void kb_store_close(kb_store *store);

/* The sentence of the last ESTORE; valid until the next call on the store. */
const char *kb_store_error(kb_store *store);

/* Rows the last INSERT, UPDATE or DELETE touched; the number of the row that
 * was inserted last. */
int64_t kb_store_changes(kb_store *store);
int64_t kb_store_last_id(kb_store *store);

/* Runs every statement of sql in turn and drops their rows. ESTORE at the
 * first that fails; those before it stand. */
KB_MUST_USE kb_status kb_store_exec(kb_store *store, const char *sql);

/* Prepares exactly one statement. EINVAL when sql holds none or more than one,
 * ESTORE when SQLite does not understand it. */
KB_MUST_USE kb_status kb_query_new(kb_store *store, const char *sql,
                                   kb_query **out);
void kb_query_free(kb_query *query);

/* Parameters of the statement ("?"), and the value of one, 0-based. Text and
 * blobs are copied. EINVAL when i is not below kb_query_parameters. */
size_t kb_query_parameters(kb_query *query);
KB_MUST_USE kb_status kb_query_bind(kb_query *query, size_t i,
                                    const struct kb_value *v);

/* Advances. *row: a row is there to be read; false: the statement is done.
 * ESTORE when it failed, and then it is done as well. */
KB_MUST_USE kb_status kb_query_step(kb_query *query, bool *row);

/* Column col of the row at hand, 0-based, and its name; NULL: there are no more.
 * Both are valid until the next step. */
const char *kb_query_column(kb_query *query, size_t col, struct kb_value *out);

#endif
