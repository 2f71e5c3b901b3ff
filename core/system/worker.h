/* worker.h - one worker process and the frames to and from it.
 *
 * A worker reads requests from its stdin and writes replies to its stdout;
 * what it says on stderr is kept, the last KB_WORKER_LOG bytes of it. It leads
 * a session of its own, so a terminal's Ctrl-C does not reach it, and stopping
 * it takes its children too.
 */
#ifndef KB_WORKER_H
#define KB_WORKER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "kb.h"
#include "wait.h"

enum { KB_WORKER_LOG = 4096 };

typedef struct kb_worker kb_worker;

/* argv[0] is a path. The environment is the caller's. */
KB_MUST_USE kb_status kb_worker_start(const char *const *argv,
                                      kb_worker **out);

/* Kills the worker with all its children, reaps it, frees w. */
void kb_worker_stop(kb_worker *w);

/* The same, but an idle worker may end by itself first: its stdin ends, and it
 * has until deadline_ns to put away what it made in TMPDIR. */
void kb_worker_quit(kb_worker *w, int64_t deadline_ns);

/* Sends one request. ESYS (EPIPE): the worker is gone. ETIME after 10 s. */
KB_MUST_USE kb_status kb_worker_send(kb_worker *w, const void *bytes,
                                     size_t n);

/* Reads what has come, without waiting. OK: there is a reply, read it with
 * _reply; EEMPTY: none yet; EWORKER: it died or broke the protocol. */
KB_MUST_USE kb_status kb_worker_listen(kb_worker *w);

/* For kb_wait; ready when _listen would not say EEMPTY. */
extern const struct kb_source_kind kb_worker_source;

/* The waiting reply, or NULL; owned by w until _next, which drops it. */
const void *kb_worker_reply(const kb_worker *w, size_t *n);
void kb_worker_next(kb_worker *w);

/* The end of its stderr, NUL-terminated. */
const char *kb_worker_log(const kb_worker *w);

pid_t kb_worker_pid(const kb_worker *w);

#endif
