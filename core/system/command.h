/* command.h - one child command: a text in, two texts out, an end by a
 * deadline.
 *
 * The command runs in a session and process group of its own under a guard, a
 * fork of this process that waits: for the command, whose end it repeats, or
 * for this process to be gone, however it went. Then it kills the group. So
 * what the command started is killed with it, unless it left for a session of
 * its own. The exit of the command ends it all: what still runs is killed.
 */
#ifndef KB_COMMAND_H
#define KB_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kb.h"
#include "wait.h"

enum { KB_COMMAND_ERRORS = 65536, KB_COMMAND_WORDS = 256 };

typedef struct kb_command kb_command;

struct kb_command_request {
    const char *const *argv;    /* argv[0] with a / is a path from here, without
                                 * one is looked for in PATH */
    const char *const *env;     /* "K=V" .., NULL; NULL: this process's */
    const char *dir;            /* NULL: this process's */
    const void *input;          /* its stdin, then the end of it */
    size_t input_bytes;
    size_t max_bytes;           /* of output; of stderr the last
                                 * KB_COMMAND_ERRORS bytes are kept */
    int64_t timeout_ns;
};

struct kb_command_result {
    kb_status result;           /* ETIME; EFULL: more output than max_bytes */
    int status, signal;         /* exit status, or the signal that ended it */
    const char *output, *errors;
    size_t output_bytes, errors_bytes;
};

/* ESYS with errno when it cannot be started (ENOENT, EACCES; the folder);
 * EINVAL; ENOMEM. */
KB_MUST_USE kb_status kb_command_start(const struct kb_command_request *request,
                                       kb_command **out);

bool kb_command_done(const kb_command *c);

/* What it has said so far, also while it runs; owned by c. */
struct kb_command_result kb_command_look(const kb_command *c);

/* Kills what runs, frees c. */
void kb_command_free(kb_command *c);

/* For kb_wait; ready when _done. */
extern const struct kb_source_kind kb_command_source;

#endif
