/* files.h - folders and whole files, with writes that are all or nothing.
 *
 * Every ESYS leaves errno set; *out is untouched on failure.
 */
#pragma once

#include <stdio.h>

#include "kb.h"

/* What path names, links followed: "file", "dir" or "other"; NULL: nothing, or
 * it cannot be reached. */
const char *kb_files_kind(const char *path);

/* Makes the folder and those above it, as mkdir -p. ESYS. */
KB_STATUS kb_files_mkdir_p(const char *path);

/* The whole of a file or pipe, malloc'd. ESYS (errno EFBIG beyond max_bytes),
 * ENOMEM. */
KB_STATUS kb_files_read(const char *path, size_t max_bytes, char **data,
                        size_t *n);

/* Replaces path by n bytes: a reader, and a crash at any instant, sees the old
 * file or the new one. Written beside path, synced, renamed, and the folder
 * synced. On ESYS (ENOSPC, EACCES, ...) the old file stands and nothing is
 * left behind. A path that exists and is no regular file is EINVAL; a link to a
 * file stays, and what it leads to is replaced. */
KB_STATUS kb_files_write(const char *path, const void *data, size_t n);

/* A fresh folder only this user can enter, below $TMPDIR or /tmp; the caller
 * removes it. ESYS. */
KB_STATUS kb_files_temp_dir(char *path, size_t max_bytes);

/* Takes path, made when absent, for this process until *lock is closed with
 * fclose or the process ends, however it ends. ESYS; EAGAIN: another has it. */
KB_STATUS kb_files_lock(const char *path, FILE **lock);

/* "ENOSPC" for that value of errno; "ESYS" for none. */
const char *kb_files_errno_name(int error);
