#include "scenario.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct reader {
    const char *file;
    int line;
    char *at;                   /* the rest of the line */
    struct answer *current, **end;
};

__attribute__((format(printf, 2, 3), noreturn))
static void die(const struct reader *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s:%d: ", r->file, r->line);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(2);
}

static void *zeroed(size_t n)
{
    void *p = calloc(1, n);
    if (!p)
        abort();
    return p;
}

static char *word(struct reader *r)
{
    while (isspace((unsigned char)*r->at))
        r->at++;
    char *start = r->at;
    while (*r->at && !isspace((unsigned char)*r->at))
        r->at++;
    if (*r->at)
        *r->at++ = '\0';
    return start;
}

/* The rest of the line, without the space around it. */
static char *rest(struct reader *r)
{
    while (isspace((unsigned char)*r->at))
        r->at++;
    size_t n = strlen(r->at);
    while (n && isspace((unsigned char)r->at[n - 1]))
        r->at[--n] = '\0';
    return r->at;
}

static int64_t duration(struct reader *r)
{
    char *text = word(r), *unit;
    double x = strtod(text, &unit);
    double scale = !strcmp(unit, "ms") ? 1e6 : !strcmp(unit, "us") ? 1e3
                 : !strcmp(unit, "s") ? 1e9 : -1;
    if (unit == text || scale < 0 || x < 0)
        die(r, "expected a time as 10ms or 2s, got '%s'", text);
    return (int64_t)(x * scale);
}

static long number(struct reader *r)
{
    char *text = word(r), *end;
    long n = strtol(text, &end, 10);
    if (end == text || *end || n < 0)
        die(r, "expected a number, got '%s'", text);
    return n;
}

static int hex(char c)
{
    const char *digits = "0123456789abcdef", *at = strchr(digits, tolower((unsigned char)c));
    return c && at ? (int)(at - digits) : -1;
}

/* A quoted text with its escapes undone, malloc'd. */
static char *quoted(struct reader *r, size_t *n)
{
    char *from = rest(r), *out = zeroed(strlen(from) + 1), *to = out;
    if (*from++ != '"')
        die(r, "expected a text in quotes");
    while (*from && *from != '"') {
        char c = *from++;
        if (c == '\\') {
            c = *from++;
            if (c == 'x' && hex(from[0]) >= 0 && hex(from[1]) >= 0) {
                c = (char)(hex(from[0]) * 16 + hex(from[1]));
                from += 2;
            } else if (c == 'n' || c == 'r' || c == 't')
                c = c == 'n' ? '\n' : c == 'r' ? '\r' : '\t';
            else if (c != '"' && c != '\\')
                die(r, "unknown escape \\%c (known: \\n \\r \\t \\\" \\\\ \\xHH)", c);
        }
        *to++ = c;
    }
    if (*from != '"')
        die(r, "the text has no closing quote");
    r->at = from + 1;
    *n = (size_t)(to - out);
    return out;
}

static struct op *add(struct reader *r, enum op_kind kind)
{
    if (!r->current)
        die(r, "an answer begins with: on METHOD PATH");
    struct op *op = zeroed(sizeof *op);
    op->kind = kind;
    *r->current->end = op;
    r->current->end = &op->next;
    return op;
}

static void send_bytes(struct reader *r, char *bytes, size_t n)
{
    struct op *op = add(r, OP_SEND);
    op->bytes = bytes;
    op->n = n;
}

__attribute__((format(printf, 2, 3)))
static void send_text(struct reader *r, const char *format, ...)
{
    char *text = zeroed(4096);
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, 4096, format, args);
    va_end(args);
    if (n >= 4096)
        die(r, "more than 4095 bytes in one line of head");
    send_bytes(r, text, (size_t)n);
}

static char *read_file(struct reader *r, size_t *n)
{
    char *path = rest(r), *data = NULL;
    FILE *f = fopen(path, "rb");
    if (!f)
        die(r, "%s cannot be opened", path);
    size_t used = 0, cap = 0, got = 1;
    while (got) {
        if (cap - used < 65536 && !(data = realloc(data, cap = 2 * cap + 65536)))
            abort();
        used += got = fread(data + used, 1, cap - used, f);
    }
    fclose(f);
    *n = used;
    return data;
}

static void body(struct reader *r, char *bytes, size_t n)
{
    send_text(r, "Content-Length: %zu\r\n\r\n", n);
    send_bytes(r, bytes, n);
}

static void chunk(struct reader *r, const char *before, bool json)
{
    size_t n = 0;
    const char *text = json ? rest(r) : quoted(r, &n);
    if (json)
        n = strlen(text);
    size_t lead = strlen(before), tail = *before ? 2 : 0, all = lead + n + tail;
    char *bytes = zeroed(all + 32);
    int at = snprintf(bytes, 32, "%zx\r\n", all);
    char *to = bytes + at;
    memcpy(to, before, lead);
    memcpy(to + lead, text, n);
    memcpy(to + lead + n, "\n\n", tail);
    memcpy(to + all, "\r\n", 2);
    send_bytes(r, bytes, (size_t)at + all + 2);
}

static void many(struct reader *r)
{
    long times = number(r);
    size_t n;
    char *text = quoted(r, &n), *bytes = zeroed((size_t)times * n + 1);
    for (long i = 0; i < times; i++)
        memcpy(bytes + (size_t)i * n, text, n);
    free(text);
    send_bytes(r, bytes, (size_t)times * n);
}

static void drip(struct reader *r)
{
    struct op *op = add(r, OP_SEND);
    op->ns = duration(r);
    op->piece = (size_t)number(r);
    op->bytes = quoted(r, &op->n);
    if (!op->piece)
        die(r, "a drip of 0 bytes never ends");
}

static void begin(struct reader *r)
{
    struct answer *a = zeroed(sizeof *a);
    snprintf(a->method, sizeof a->method, "%s", word(r));
    snprintf(a->path, sizeof a->path, "%s", word(r));
    if (!*a->method || !*a->path)
        die(r, "expected: on METHOD PATH");
    a->times = -1;
    a->end = &a->ops;
    *r->end = a;
    r->end = &a->next;
    r->current = a;
}

static const char *reason_of(long status)
{
    return status == 200 ? "OK" : status == 429 ? "Too Many Requests"
         : status >= 500 ? "Server Error" : status >= 400 ? "Client Error" : "Answer";
}

static bool directive(struct reader *r, const char *verb)
{
    size_t n;
    char *text;
    if (!strcmp(verb, "send")) { text = quoted(r, &n); send_bytes(r, text, n); }
    else if (!strcmp(verb, "head")) { long s = number(r);
        send_text(r, "HTTP/1.1 %ld %s\r\n", s, *rest(r) ? rest(r) : reason_of(s)); }
    else if (!strcmp(verb, "header")) send_text(r, "%s\r\n", rest(r));
    else if (!strcmp(verb, "blank")) send_text(r, "\r\n");
    else if (!strcmp(verb, "body")) { text = quoted(r, &n); body(r, text, n); }
    else if (!strcmp(verb, "json")) { text = strdup(rest(r)); body(r, text, strlen(text)); }
    else if (!strcmp(verb, "file")) { text = read_file(r, &n); body(r, text, n); }
    else if (!strcmp(verb, "raw")) { text = read_file(r, &n); send_bytes(r, text, n); }
    else if (!strcmp(verb, "chunked")) send_text(r, "Transfer-Encoding: chunked\r\n\r\n");
    else if (!strcmp(verb, "chunk")) chunk(r, "", false);
    else if (!strcmp(verb, "data")) chunk(r, "data: ", true);
    else if (!strcmp(verb, "last")) send_text(r, "0\r\n\r\n");
    else if (!strcmp(verb, "many")) many(r);
    else if (!strcmp(verb, "drip")) drip(r);
    else if (!strcmp(verb, "wait")) { int64_t ns = duration(r); add(r, OP_WAIT)->ns = ns; }
    else if (!strcmp(verb, "reset")) add(r, OP_RESET);
    else if (!strcmp(verb, "close")) add(r, OP_CLOSE);
    else if (!strcmp(verb, "stall")) add(r, OP_STALL);
    else return false;
    return true;
}

struct answer *scenario_read(const char *file)
{
    struct answer *all = NULL;
    struct reader r = { .file = file, .end = &all };
    FILE *f = fopen(file, "r");
    if (!f) {
        perror(file);
        exit(2);
    }
    char *line = NULL;
    size_t cap = 0, n;
    while (getline(&line, &cap, f) >= 0) {
        r.line++;
        r.at = line;
        char *verb = word(&r);
        if (!*verb || *verb == '#')
            continue;
        if (!strcmp(verb, "on"))
            begin(&r);
        else if (r.current && !strcmp(verb, "times"))
            r.current->times = number(&r);
        else if (r.current && !strcmp(verb, "has"))
            r.current->has = quoted(&r, &n);
        else if (!directive(&r, verb))
            die(&r, "unknown directive '%s'", verb);
    }
    free(line);
    fclose(f);
    return all;
}

static bool matches(const struct answer *a, const char *method, const char *path)
{
    size_t n = strlen(a->path);
    bool prefix = a->path[n - 1] == '*';
    return (!strcmp(a->method, "ANY") || !strcasecmp(a->method, method))
        && (prefix ? !strncmp(a->path, path, n - 1) : !strcmp(a->path, path));
}

struct answer *scenario_find(struct answer *all, const char *method,
                             const char *path, const char *request, size_t n)
{
    for (struct answer *a = all; a; a = a->next) {
        if (a->times == 0 || !matches(a, method, path)
            || (a->has && !memmem(request, n, a->has, strlen(a->has))))
            continue;
        if (a->times > 0)
            a->times--;
        return a;
    }
    return NULL;
}
