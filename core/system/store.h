/* store.h - opens the SQLite file that is the journal of a run.
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
 */
#pragma once

#include "kb.h"

struct sqlite3;

/* Opens path: to write it, creating it when absent; or an existing one to read
 * it and nothing else, while a search may be writing to it. A file to read in a
 * folder that cannot be written, which no one can be writing to, is read as it
 * stands. *out is the caller's to close with sqlite3_close_v2. ESTORE: not a
 * database, no permission, no such folder, disk full; ENOMEM. Then why, a
 * buffer of size bytes, holds a sentence (always terminated; size 0 is
 * allowed). */
KB_STATUS kb_store_open(const char *path, bool read, char *why, size_t size,
                        struct sqlite3 **out);

/* The sentence of the last error; valid until the next call on the store. */
const char *kb_store_error(struct sqlite3 *store);
