/* child.h - one child process with pipes to its stdin, stdout and stderr.
 *
 * A command is given a text, closes with two others, and has a deadline. It
 * runs under a guard, a fork of this process that waits: for the command, whose
 * end it repeats, or for this process to be gone, however it went. Then it
 * kills the group. The exit of the command ends it all: what still runs is
 * killed.
 *
 * A worker reads requests from its stdin and writes replies to its stdout, both
 * in frames (frame.h), until it is stopped. It dies with this process.
 *
 * Either leads a session of its own, so a terminal's Ctrl-C does not reach it,
 * and its end takes its children too, unless they left for another session.
 */
#pragma once

#include <sys/types.h>

#include "io.h"
#include "wait.h"

enum { KB_CHILD_COMMAND_ERRORS = 65536, KB_CHILD_WORKER_ERRORS = 4096,
       KB_CHILD_WORDS = 256 };

typedef struct kb_child kb_child;

struct kb_child_request {
    const char *const *argv;    /* argv[0] with a / is a path from here, one
                                 * without is looked for in PATH */
    const char *const *env;     /* "K=V" .., NULL; NULL: this process's */
    const char *dir;            /* NULL: this process's */
    bool worker;                /* the rest is for a command alone */
    const void *input;          /* its stdin, then the end of it */
    size_t input_bytes;
    size_t max_bytes;           /* of output */
    int64_t timeout_ns;
    int (*run)(void *arg);      /* of a worker: instead of a program, see */
    void *arg;                  /* process.h */
};

struct kb_child_result {
    pid_t pid;                  /* of a command its guard's; 0: reaped */
    bool done;                  /* a command has ended, or a worker's stream is
                                 * over or broken */
    kb_status result;           /* ETIME; EFULL: more output than max_bytes */
    int status, signal;         /* exit status, or the signal that ended it */
    struct kb_bytes output, errors;     /* errors: the last of them */
};

/* ESYS with errno when it cannot be started (ENOENT, EACCES; the folder);
 * EINVAL; ENOMEM. */
KB_STATUS kb_child_start(const struct kb_child_request *request,
                         kb_child **out);

/* What it has said so far, also while it runs; owned by c. Output is that of a
 * command. */
const struct kb_child_result *kb_child_look(const kb_child *c);

/* The rest is for workers. Sends one request. ESYS (EPIPE): the worker is gone.
 * ETIME after 10 s. SIGPIPE has to be ignored. */
KB_STATUS kb_child_send(kb_child *c, const void *bytes, size_t n);

/* Reads what has come, without waiting. OK: there is a reply, read it with
 * _reply; EEMPTY: none yet; EWORKER: it died or broke the protocol. */
KB_STATUS kb_child_listen(kb_child *c);

/* The same, but waits until there is a reply. ETIME. */
KB_STATUS kb_child_await(kb_child *c, int64_t deadline_ns);

/* The waiting reply, or NULL; owned by c until _next, which drops it. */
const void *kb_child_reply(const kb_child *c, size_t *n);
void kb_child_next(kb_child *c);

/* Kills what runs with all its children, reaps it, frees c; errno stays. Its
 * wait status; 0 when it had ended before. */
int kb_child_free(kb_child *c);

/* The same, but an idle worker may end by itself first: its stdin ends, and it
 * has until deadline_ns to put away what it made in TMPDIR. */
void kb_child_quit(kb_child *c, int64_t deadline_ns);

/* For kb_wait; ready when a command is done, when _listen would not say
 * EEMPTY. */
extern const struct kb_source_kind kb_child_source;
