/* serve.h - a page on this machine, for this machine: HTTP, read only.
 *
 * It listens on 127.0.0.1 alone and answers GET and HEAD for what was
 * published, below /TOKEN/ and nowhere else:
 *   Host is not 127.0.0.1:PORT or localhost:PORT   403, so that a name of
 *                              somebody else's that is made to point here
 *                              (DNS rebinding) gets nothing
 *   the path does not begin with /TOKEN/           403, whatever else it is;
 *                              tokens are compared in constant time
 *   another method                                 405
 *   nothing published under that path              404
 * A request never reaches anything but the table of published texts. At most
 * 32 connections, 16 KiB of headers each, 10 s of silence. There is no thread:
 * kb_serve_turn does the work. */
#pragma once

#include "kb.h"

enum {
    KB_SERVE_MOST = 64,         /* texts published at a time */
    KB_SERVE_PATH_BYTES = 64,
    KB_SERVE_TOKEN_BYTES = 128,
};

typedef struct kb_serve kb_serve;

/* port 0: any free one. token: 16 .. 128 letters, digits and '-', '_', else
 * EINVAL. ESYS: the port is taken or may not be used (errno says why). ENODEV,
 * with a static text in *why: there is no libmicrohttpd. */
KB_STATUS kb_serve_open(uint16_t port, const char *token, kb_serve **out,
                        const char **why);
void kb_serve_close(kb_serve *serve);

/* The port it listens on. */
uint16_t kb_serve_port(const kb_serve *serve);

/* Puts n bytes under /TOKEN/path ("" is the page itself), in place of what was
 * there; an answer under way keeps what it began with. type: "text/html;
 * charset=utf-8" and the like; policy: the Content-Security-Policy, NULL for
 * default-src 'none'. EINVAL: the path is too long or has other characters
 * than letters, digits, '_', '-', '/', or KB_SERVE_MOST are published. */
KB_STATUS kb_serve_publish(kb_serve *serve, const char *path, const char *type,
                           const char *policy, const void *bytes, size_t n);

/* Answers requests for timeout_ns. EINTR: the user asked to stop
 * (interrupt.h); ESYS otherwise. */
KB_STATUS kb_serve_turn(kb_serve *serve, int64_t timeout_ns);
