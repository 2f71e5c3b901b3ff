#include "events.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct bytes {
    char *at;
    size_t n, cap;
};

struct kb_events {
    size_t most;
    struct bytes in;                    /* as it came; read up to done */
    size_t done, looked;                /* no line ends in done .. looked */
    bool begun, after_cr, held, full;   /* held: the event has data */
    struct bytes data, text, before, after, tail;
    char name[KB_EVENTS_NAME];
    size_t name_n;
};

static bool append(struct bytes *b, const char *bytes, size_t n)
{
    if (n > b->cap - b->n) {
        size_t cap = b->cap ? b->cap : 1024;
        while (cap - b->n < n)
            cap *= 2;
        char *grown = realloc(b->at, cap);
        if (!grown)
            return false;
        b->at = grown;
        b->cap = cap;
    }
    if (n)
        memcpy(b->at + b->n, bytes, n);
    b->n += n;
    return true;
}

static bool set(struct bytes *b, const char *bytes, size_t n)
{
    b->n = 0;
    return append(b, bytes, n);
}

kb_status kb_events_new(size_t most, kb_events **out)
{
    kb_events *e = calloc(1, sizeof *e);
    if (!e)
        return KB_ENOMEM;
    e->most = most;
    *out = e;
    return KB_OK;
}

void kb_events_free(kb_events *e)
{
    if (!e)
        return;
    free(e->in.at);
    free(e->data.at);
    free(e->text.at);
    free(e->before.at);
    free(e->after.at);
    free(e->tail.at);
    free(e);
}

size_t kb_events_most(const kb_events *e)
{
    return e->most;
}

kb_status kb_events_feed(kb_events *e, const char *bytes, size_t n)
{
    if (e->full)
        return KB_EFULL;
    e->in.n -= e->done;
    if (e->in.n && e->done)
        memmove(e->in.at, e->in.at + e->done, e->in.n);
    e->looked = e->looked > e->done ? e->looked - e->done : 0;
    e->done = 0;
    return append(&e->in, bytes, n) ? KB_OK : KB_ENOMEM;
}

/* Lines -------------------------------------------------------------------------- */

/* The next whole line, without its end. */
static bool next_line(kb_events *e, const char **line, size_t *n)
{
    const char *in = e->in.at, *end = in + e->in.n;
    if (e->after_cr && e->done < e->in.n) {
        e->done += in[e->done] == '\n';
        e->after_cr = false;
    }
    if (e->looked < e->done)
        e->looked = e->done;
    if (e->looked == e->in.n)
        return false;
    const char *from = in + e->looked;
    const char *lf = memchr(from, '\n', (size_t)(end - from));
    const char *cr = memchr(from, '\r', (size_t)((lf ? lf : end) - from));
    const char *stop = cr ? cr : lf;
    if (!stop) {
        e->looked = e->in.n;
        return false;
    }
    *line = in + e->done;
    *n = (size_t)(stop - *line);
    e->after_cr = stop == cr;
    e->done += *n + 1;
    return true;
}

static bool is(const char *text, size_t n, const char *word)
{
    return n == strlen(word) && memcmp(text, word, n) == 0;
}

/* false: no memory. */
static bool take_field(kb_events *e, const char *line, size_t n)
{
    const char *colon = memchr(line, ':', n), *value = line + n;
    size_t field = colon ? (size_t)(colon - line) : n;
    if (colon) {
        value = colon + 1;
        value += value < line + n && *value == ' ';
    }
    size_t value_n = (size_t)(line + n - value);
    if (is(line, field, "data")) {
        bool joined = !e->held || append(&e->data, "\n", 1);
        e->held = true;
        return joined && append(&e->data, value, value_n);
    }
    if (is(line, field, "event")) {
        e->name_n = value_n < sizeof e->name ? value_n : sizeof e->name;
        memcpy(e->name, value, e->name_n);
    }
    return true;
}

/* Usual events -------------------------------------------------------------------- */

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Bytes of the escape at s; 0: none, or half of a pair, which may go on in the next
 * event. */
static size_t escape(const char *s, const char *end)
{
    if (end - s >= 2 && s[1] && strchr("\"\\/bfnrt", s[1]))
        return 2;
    if (end - s < 6 || s[1] != 'u')
        return 0;
    for (int i = 2; i < 6; i++)
        if (!is_hex(s[i]))
            return 0;
    bool half = (s[2] == 'd' || s[2] == 'D') && !(s[3] >= '0' && s[3] <= '7');
    return half ? 0 : 6;
}

/* The quote that ends the JSON string whose inside begins at s; NULL: it is none. */
static const char *string_end(const char *s, const char *end)
{
    while (s < end && *s != '"') {
        size_t n = *s == '\\' ? escape(s, end) : (unsigned char)*s >= ' ';
        if (!n)
            return NULL;
        s += n;
    }
    return s < end ? s : NULL;
}

static bool has(const char *at, const char *end, const struct bytes *b)
{
    return (size_t)(end - at) >= b->n && (b->n == 0 || memcmp(at, b->at, b->n) == 0);
}

/* The end of the inside of a usual event's string; NULL: it is no such event. */
static const char *usual(const kb_events *e)
{
    const char *data = e->data.at, *end = data + e->data.n;
    if (!e->before.n || !has(data, end, &e->before))
        return NULL;
    const char *quote = string_end(data + e->before.n, end);
    if (!quote || !has(quote, end, &e->after))
        return NULL;
    const char *rest = quote + e->after.n;
    if (!e->tail.n)
        return rest == end ? quote : NULL;
    for (; rest < end && *rest != '"'; rest++)
        if (*rest == '\\' || (unsigned char)*rest < ' ')
            return NULL;
    return (size_t)(end - rest) == e->tail.n && has(rest, end, &e->tail) ? quote : NULL;
}

kb_status kb_events_usual(kb_events *e, const char *before, size_t before_n,
                          const char *after, size_t after_n,
                          const char *tail, size_t tail_n)
{
    if (set(&e->after, after, after_n) && set(&e->tail, tail, tail_n)
        && set(&e->before, before, before_n))
        return KB_OK;
    e->before.n = 0;
    return KB_ENOMEM;
}

const char *kb_events_text(const kb_events *e, size_t *n)
{
    *n = e->text.n;
    return e->text.at;
}

void kb_events_taken(kb_events *e)
{
    e->text.n = 0;
}

/* Events --------------------------------------------------------------------------- */

/* An empty line has come. OK: *out is an event to be told; EEMPTY: it is not. */
static kb_status dispatch(kb_events *e, struct kb_event *out)
{
    bool held = e->held;
    size_t name_n = e->name_n;
    e->held = false;
    e->name_n = 0;
    if (!held)
        return KB_EEMPTY;
    const char *quote = usual(e), *inside = e->data.at + e->before.n;
    if (quote)
        return append(&e->text, inside, (size_t)(quote - inside)) ? KB_EEMPTY : KB_ENOMEM;
    *out = (struct kb_event){ e->name, e->data.at ? e->data.at : "", name_n, e->data.n };
    return KB_OK;
}

kb_status kb_events_next(kb_events *e, struct kb_event *out)
{
    const char *line;
    size_t n;
    if (e->full)
        return KB_EFULL;
    if (!e->held)
        e->data.n = 0;
    while (next_line(e, &line, &n)) {
        if (!e->begun && n >= 3 && memcmp(line, "\xEF\xBB\xBF", 3) == 0)
            line += 3, n -= 3;          /* a byte order mark */
        e->begun = true;
        kb_status st = KB_EEMPTY;
        if (n == 0)
            st = dispatch(e, out);
        else if (!take_field(e, line, n))
            st = KB_ENOMEM;
        if (st != KB_EEMPTY)
            return st;
        if (!e->held)
            e->data.n = 0;
        if (e->data.n > e->most)
            break;
    }
    e->full = e->data.n + (e->in.n - e->done) > e->most;
    return e->full ? KB_EFULL : KB_EEMPTY;
}
