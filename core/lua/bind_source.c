/* core.normal(source) -> text
 *
 * A C or CUDA source without what makes no other program of it: comments, and
 * white space unless it parts two words or two signs that would be another sign
 * together. Directives and lines to the engine (// kb: ..) stay lines, in which
 * only runs of blanks shrink. Two sources with the same text are one program;
 * the text itself is for comparing, not for compiling. One pass, any bytes.
 */
#include "bind.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

struct squeeze {
    const char *s, *end;
    char *out;                          /* as long as the source, and a bit */
    size_t n;
    bool gap, line;                     /* space is due; within a line that stays */
};

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_' || (c & 0x80); }

/* Would p and c be another sign without the space between them? */
static bool joins(char p, char c)
{
    if (is_word(p) && is_word(c))
        return true;
    if (c == '=')
        return p && strchr("+-*/%&|^<>=!", p);
    if (p == c)
        return p && strchr("+-&|<>:#/", p);
    return (p == '-' && c == '>') || (p == '/' && c == '*') || (p == '*' && c == '/');
}

static char last(const struct squeeze *q) { return q->n ? q->out[q->n - 1] : '\n'; }

static void put(struct squeeze *q, char c)
{
    if (q->gap && last(q) != '\n' && (q->line || joins(last(q), c)))
        q->out[q->n++] = ' ';
    q->gap = false;
    q->out[q->n++] = c;
}

static void break_line(struct squeeze *q)
{
    if (last(q) != '\n')
        q->out[q->n++] = '\n';
    q->gap = false;
}

/* Bytes of a line's continuation at s, 0: there is none. */
static size_t continued(const struct squeeze *q)
{
    if (q->end - q->s >= 2 && q->s[0] == '\\' && q->s[1] == '\n')
        return 2;
    return q->end - q->s >= 3 && !memcmp(q->s, "\\\r\n", 3) ? 3 : 0;
}

static void skip_block(struct squeeze *q)
{
    for (q->s += 2; q->s < q->end; q->s++)
        if (*q->s == '*' && q->end - q->s > 1 && q->s[1] == '/') {
            q->s += 2;
            break;
        }
    q->gap = true;
}

/* A comment to the end of the line; one for the engine stays. */
static void take_remark(struct squeeze *q)
{
    const char *s = q->s + 2;
    while (s < q->end && (*s == ' ' || *s == '\t'))
        s++;
    bool ours = !q->line && q->end - s >= 3 && !memcmp(s, "kb:", 3);
    if (ours) {
        break_line(q);
        q->line = true;
    }
    while (q->s < q->end && *q->s != '\n') {
        size_t more = continued(q);
        if (ours && isspace((unsigned char)*q->s))
            q->gap = true;
        else if (ours)
            put(q, *q->s);
        q->s += more ? more : 1;
    }
    q->gap = true;
}

/* A text or a character, to its quote or the end of the line. */
static void take_quoted(struct squeeze *q)
{
    char quote = *q->s;
    put(q, *q->s++);
    while (q->s < q->end && *q->s != '\n') {
        char c = *q->s++;
        q->out[q->n++] = c;
        if (c == quote)
            break;
        if (c == '\\' && q->s < q->end)
            q->out[q->n++] = *q->s++;
    }
}

static void squeeze(struct squeeze *q)
{
    bool fresh = true;                  /* nothing yet on this line */
    while (q->s < q->end) {
        char c = *q->s, next = q->end - q->s > 1 ? q->s[1] : '\0';
        size_t more = continued(q);
        if (more) {
            q->s += more;
            q->gap = true;
        } else if (c == '\n') {
            if (q->line)
                break_line(q);
            q->line = false;
            q->gap = fresh = true;
            q->s++;
        } else if (isspace((unsigned char)c)) {
            q->gap = true;
            q->s++;
        } else if (c == '/' && next == '*') {
            skip_block(q);
        } else if (c == '/' && next == '/') {
            take_remark(q);
        } else {
            if (c == '#' && fresh) {
                break_line(q);
                q->line = true;
            }
            fresh = false;
            if (c == '"' || c == '\'') {
                take_quoted(q);
            } else {
                put(q, c);
                q->s++;
            }
        }
    }
    if (q->line)
        break_line(q);
}

static int normal(lua_State *L)
{
    size_t n;
    const char *s = luaL_checklstring(L, 1, &n);
    /* A space or a line's end goes before a byte at most, and there is one last. */
    struct squeeze q = { .s = s, .end = s + n, .out = lua_newuserdatauv(L, 3 * n + 2, 0) };
    squeeze(&q);
    lua_pushlstring(L, q.out, q.n);
    return 1;
}

void kb_bind_source(lua_State *L)
{
    lua_pushcfunction(L, normal);
    lua_setfield(L, -2, "normal");
}
