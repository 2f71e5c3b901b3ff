/* scenario.h - what the test server answers, read from a text. server.c says
 * how one is written. */
#ifndef SCENARIO_H
#define SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum op_kind { OP_SEND, OP_WAIT, OP_RESET, OP_CLOSE, OP_STALL };

struct op {
    enum op_kind kind;
    char *bytes;
    size_t n;
    size_t piece;               /* bytes at a time; 0: all at once */
    int64_t ns;                 /* of a wait; before each further piece */
    struct op *next;
};

struct answer {
    char method[16], path[256];
    char *has;                  /* must occur in the request; NULL: anything */
    long times;                 /* requests still answered; -1: all */
    struct op *ops, **end;
    struct answer *next;
};

/* Ends the process with file and line when the text is wrong. */
struct answer *scenario_read(const char *file);

/* The answer for a request, its times counted down; NULL: none. */
struct answer *scenario_find(struct answer *all, const char *method,
                             const char *path, const char *request, size_t n);

void certificates_make(const char *dir);

#endif
