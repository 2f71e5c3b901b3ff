/* core.markdown(text) -> { { info =, text =, line =, closed = }, .. }
 *
 * The fenced code blocks of a text by the rules of CommonMark (libcmark): fences
 * in lists and quotes, fences longer than those they hold, a fence that is never
 * closed. line is that of the opening fence, from 1; closed is false when the
 * text ends before the fence does. More than MOST_BYTES are refused: nil, text,
 * "EINVAL".
 *
 * The text may be anybody's. Only the block structure is wanted, and libcmark
 * reads inlines in time that some texts make quadratic, so it is given a shadow:
 * as many lines of as many bytes, in which whatever cannot begin a container or a
 * fence is an 'x'. What a block holds is then taken from the text by line.
 */
#include "bind.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmark.h>


enum { MOST_BYTES = 1 << 20, MOST_LEAD = 64, MOST_BLOCKS = 256 };

struct line {
    const char *at;                     /* in the text */
    size_t n;                           /* without its ending */
    size_t lead;                        /* bytes that open containers */
    const char *shadow;                 /* the same, as libcmark sees it */
    bool fence;                         /* a fence follows them */
};

static bool blank(char c) { return c == ' ' || c == '\t'; }

static bool digit(char c) { return c >= '0' && c <= '9'; }

/* Bytes of the marker of a quote or a list item at s, 0: there is none. */
static size_t marker(const char *s, size_t n)
{
    size_t i = 0;
    if (n && s[0] == '>')
        return 1;
    if (n && (s[0] == '-' || s[0] == '+' || s[0] == '*'))
        i = 1;
    else {
        while (i < n && i < 9 && digit(s[i]))
            i++;
        if (!i || i == n || (s[i] != '.' && s[i] != ')'))
            return 0;
        i++;
    }
    return i == n || blank(s[i]) ? i : 0;
}

static void look(struct line *l)
{
    size_t i = 0, m = 0;
    do {
        i += m;
        while (i < l->n && blank(l->at[i]))
            i++;
        m = marker(l->at + i, l->n - i);
    } while (m && i + m < MOST_LEAD);
    l->lead = i;
    l->fence = l->n - i >= 3 && (!memcmp(l->at + i, "```", 3) || !memcmp(l->at + i, "~~~", 3));
}

/* Reads the line at s and writes its shadow, ended by \n; returns what follows. */
static const char *shade(const char *s, const char *end, struct line *l, char *out)
{
    l->at = s;
    l->shadow = out;
    while (s < end && *s != '\n' && *s != '\r')
        s++;
    l->n = (size_t)(s - l->at);
    look(l);
    for (size_t i = 0; i < l->n; i++) {
        char c = l->at[i];
        bool keep = i < l->lead || blank(c) || (l->fence && (c == '`' || c == '~'));
        out[i] = keep ? c : 'x';
    }
    out[l->n] = '\n';
    if (s < end && *s == '\r')
        s++, s += s < end && *s == '\n';
    else if (s < end)
        s++;
    return s;
}

static void tree_free(cmark_node *tree)
{
    if (tree)
        cmark_node_free(tree);
}

KB_CLASS(markdown, tree_free);

/* The info string of the fence that line opens. */
static void push_info(lua_State *L, const struct line *l)
{
    const char *s = l->at + l->lead, *end = l->at + l->n;
    char c = s < end ? *s : ' ';
    while (s < end && *s == c)
        s++;
    while (s < end && blank(*s))
        s++;
    while (s < end && blank(end[-1]))
        end--;
    lua_pushlstring(L, s, (size_t)(end - s));
}

/* Adds one line of a block: shadow is libcmark's, of n bytes. It ends as the
 * line's own shadow does, but for spaces that stand for a part of a tab. */
static void add_line(luaL_Buffer *b, const char *shadow, size_t n, const struct line *l)
{
    size_t same = n < l->n ? n : l->n, pad = n - same;
    while (pad < n && l->at[l->n - (n - pad)] == '\t' && shadow[pad] == ' ')
        pad++;
    for (size_t i = 0; i < pad; i++)
        luaL_addchar(b, ' ');
    luaL_addlstring(b, l->at + l->n - (n - pad), n - pad);
    luaL_addchar(b, '\n');
}

/* Is the first line of literal, but for its indent, what follows the lead of l? */
static bool begins_with(const char *literal, const struct line *l)
{
    size_t n = l->n - l->lead;
    while (blank(*literal))
        literal++;
    return !strncmp(literal, l->shadow + l->lead, n) && (literal[n] == '\n' || !literal[n]);
}

/* A code block that fences make. One made by its indent holds its first line. */
static bool is_fenced(cmark_node *node, const struct line *lines, size_t count)
{
    size_t first = (size_t)cmark_node_get_start_line(node);
    const char *literal = cmark_node_get_literal(node);
    if (!lines[first - 1].fence)
        return false;
    return !begins_with(literal, &lines[first - 1])
           || (first < count && lines[first].fence && begins_with(literal, &lines[first]));
}

/* [] -> [block]; the block that node is. */
static void push_block(lua_State *L, cmark_node *node, const struct line *lines, size_t count)
{
    const char *shadow = cmark_node_get_literal(node);
    size_t first = (size_t)cmark_node_get_start_line(node);
    size_t last = (size_t)cmark_node_get_end_line(node), at = first;
    luaL_Buffer b;
    lua_createtable(L, 0, 4);                           /* [block] */
    luaL_buffinit(L, &b);
    for (const char *s = shadow, *e; *s && at < count; s = e + (*e == '\n'), at++) {
        e = strchr(s, '\n');
        if (!e)
            e = s + strlen(s);
        add_line(&b, s, (size_t)(e - s), &lines[at]);
    }
    luaL_pushresult(&b);                                /* [block text] */
    lua_setfield(L, -2, "text");
    push_info(L, &lines[first - 1]);
    lua_setfield(L, -2, "info");
    kb_bind_set_integer(L, "line", (lua_Integer)first);
    kb_bind_set_flag(L, "closed", last > at);
}

static size_t count_lines(const char *s, size_t n)
{
    size_t lines = 1;
    for (size_t i = 0; i < n; i++)
        lines += s[i] == '\n' || s[i] == '\r';
    return lines;
}

static int markdown(lua_State *L)
{
    size_t n, count = 0, bytes = 0;
    const char *text = luaL_checklstring(L, 1, &n);
    if (n > MOST_BYTES)
        return kb_bind_fail_text(L, KB_EINVAL, "the text is larger than 1 MiB");
    if (n >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3))
        text += 3, n -= 3;              /* a byte order mark */
    size_t most = count_lines(text, n);
    struct line *lines = lua_newuserdatauv(L, most * sizeof *lines, 0);
    char *shadow = lua_newuserdatauv(L, n + most, 0);
    for (const char *s = text, *end = text + n; s < end; count++) {
        s = shade(s, end, &lines[count], shadow + bytes);
        bytes += lines[count].n + 1;
    }
    cmark_node **tree = kb_bind_new(L, &kb_class_markdown, 0);
    *tree = cmark_parse_document(shadow, bytes, CMARK_OPT_DEFAULT);
    cmark_iter *iter = *tree ? cmark_iter_new(*tree) : NULL;
    cmark_node *found[MOST_BLOCKS];
    int blocks = 0;
    while (iter && blocks < MOST_BLOCKS && cmark_iter_next(iter) != CMARK_EVENT_DONE) {
        cmark_node *node = cmark_iter_get_node(iter);
        if (cmark_node_get_type(node) == CMARK_NODE_CODE_BLOCK && is_fenced(node, lines, count))
            found[blocks++] = node;
    }
    if (iter)
        cmark_iter_free(iter);
    lua_createtable(L, blocks, 0);                      /* [.. list] */
    for (int i = 0; i < blocks; i++) {
        push_block(L, found[i], lines, count);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

void kb_bind_markdown(lua_State *L)
{
    kb_bind_class(L, &kb_class_markdown, NULL, markdown);
}
