/* Lua face of http.h.
 *
 *   h = core.http([limit])     -> http | nil, text, code
 *     h:start(request)         -> id | nil, text, "EINVAL" | "ENOMEM"
 *       request = { url =, method = "GET" | "POST", headers = { { name, value },
 *                   .. }, body =, connect_ns =, idle_ns =, total_ns =,
 *                   max_bytes =, ca_file =, stream =, gather_ns = }
 *     h:next()                 -> nil: nothing more for now
 *                               | id, bytes, status    -- of one that streams
 *                               | id, answer           -- it has ended, and id
 *                                                      -- is free
 *       answer = { status =, version = 11, headers = { name = value }, body =,
 *                  first_s =, total_s =, failure = "" or http.h's word, and
 *                  bound, host, detail, ca, ca_from, seen_bytes as there }
 *     h:cancel(id)             -> answer so far; id is free
 *     #h                       -- transfers begun and not ended
 */
#include <string.h>

#include "bind_arg.h"
#include "net/http.h"

enum { DEFAULT_LIMIT = 256, MAX_HEADERS = 64 };

static const int64_t second_ns = 1000000000;

KB_SELF(self, kb_http, http)

static int http_new(lua_State *L)
{
    lua_Integer limit = kb_bind_opt_integer(L, 1, "limit", 1, KB_HTTP_LIMIT,
                                            DEFAULT_LIMIT);
    kb_http **slot = kb_bind_new(L, &kb_class_http, 0);
    const char *why;
    kb_status st = kb_http_new((size_t)limit, slot, &why);
    return st ? kb_bind_fail_text(L, st, why) : 1;
}

static size_t read_headers(lua_State *L, const char **out)
{
    if (lua_getfield(L, 2, "headers") == LUA_TNIL)      /* [.. headers] */
        return 0;
    size_t n = kb_bind_length(L, lua_gettop(L), MAX_HEADERS);
    for (size_t i = 0; i < n; i++) {
        lua_geti(L, -1, (lua_Integer)i + 1);            /* [.. headers pair] */
        kb_bind_words(L, lua_gettop(L), "a header", out + 2 * i, 2, 2);
        lua_pop(L, 1);
    }
    return n;
}

static int http_start(lua_State *L)
{
    const char *headers[2 * MAX_HEADERS + 1], *body = NULL, *why;
    kb_http *h = self(L);
    struct kb_http_request r = {
        .method = "POST", .headers = headers, .max_bytes = 16 << 20,
        .connect_ns = 30 * second_ns, .idle_ns = 300 * second_ns,
        .total_ns = 1800 * second_ns,
    };
    const int64_t most_ns = 1000000 * second_ns;
    luaL_checktype(L, 2, LUA_TTABLE);
    kb_bind_options(L, 2, (const struct kb_option[]) {
        { .name = "url", .text = &r.url },
        { .name = "method", .text = &r.method }, { .name = "headers" },
        { .name = "stream", .flag = &r.stream },
        { .name = "body", .text = &body, .bytes = &r.body_bytes },
        { .name = "connect_ns", .integer = &r.connect_ns, .least = 1,
          .most = most_ns },
        { .name = "idle_ns", .integer = &r.idle_ns, .least = 1,
          .most = most_ns },
        { .name = "total_ns", .integer = &r.total_ns, .least = 1,
          .most = most_ns },
        { .name = "gather_ns", .integer = &r.gather_ns, .most = most_ns },
        { .name = "max_bytes", .size = &r.max_bytes, .most = 1 << 30 },
        { .name = "ca_file", .text = &r.ca_file }, { 0 }
    });
    luaL_argcheck(L, r.url, 2, "'url' must be a string");
    r.body = body;
    r.header_count = read_headers(L, headers);
    size_t id;
    kb_status st = kb_http_start(h, &r, &id, &why);
    return st ? kb_bind_fail_text(L, st, why)
              : kb_bind_push_integer(L, (lua_Integer)id);
}

/* [answer] -> [answer]; a name that comes twice is one, with a comma between. */
static void push_headers(lua_State *L, const struct kb_http_answer *a)
{
    lua_newtable(L);                                    /* [answer t] */
    for (const char *p = a->head.at; p && p < a->head.at + a->head.used; ) {
        const char *value = p + strlen(p) + 1;
        if (lua_getfield(L, -1, p) == LUA_TSTRING)      /* [answer t old] */
            lua_pushfstring(L, "%s, %s", lua_tostring(L, -1), value);
        else
            lua_pushstring(L, value);
        lua_setfield(L, -3, p);
        lua_pop(L, 1);
        p = value + strlen(value) + 1;
    }
    lua_setfield(L, -2, "headers");
}

KB_PUSHER(push_known, struct kb_http_answer, F(status), F(version), F(total_s),
          F(failure), F(bound), F(host), F(detail), F(ca), F(ca_from),
          F(seen_bytes))

static void push_answer(lua_State *L, const struct kb_http_answer *a)
{
    push_known(L, a);                                   /* [answer] */
    KB_SET(L, "body", lua_pushlstring, a->body.at, a->body.used);
    if (a->first_s >= 0)
        KB_SET(L, "first_s", lua_pushnumber, a->first_s);
    push_headers(L, a);
}

static int http_next(lua_State *L)
{
    kb_http *h = self(L);
    size_t id = kb_http_next(h);
    if (!id)
        return 0;
    const struct kb_http_answer *a = kb_http_look(h, id);
    lua_pushinteger(L, (lua_Integer)id);
    if (a->done) {
        push_answer(L, a);
        kb_http_end(h, id);
        return 2;
    }
    lua_pushlstring(L, a->body.at ? a->body.at : "", a->body.used);
    kb_http_taken(h, id);
    lua_pushinteger(L, a->status);
    return 3;
}

static int http_cancel(lua_State *L)
{
    kb_http *h = self(L);
    size_t id = (size_t)luaL_checkinteger(L, 2);
    const struct kb_http_answer *a = kb_http_look(h, id);
    luaL_argcheck(L, a, 2, "no such transfer");
    push_answer(L, a);
    kb_http_end(h, id);
    return 1;
}

KB_GETTER(http_len, lua_pushinteger, (lua_Integer)kb_http_count(self(L)))

KB_CLASS(http, kb_http_free, http_new, NULL,
    { "__len", http_len }, { "start", http_start }, { "next", http_next },
    { "cancel", http_cancel });
