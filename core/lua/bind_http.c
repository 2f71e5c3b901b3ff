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
 *                  first_s =, total_s = } and, of one that failed, text =, code =, reason =
 *     h:cancel(id)             -> answer so far; id is free
 *     #h                       -- transfers begun and not ended
 */
#include "bind.h"

#include <string.h>

#include "bind_arg.h"
#include "net/http.h"

#define HTTP "kernelband.http"

enum { DEFAULT_LIMIT = 256, MAX_HEADERS = 64 };

static const lua_Integer second_ns = 1000000000;

static kb_http *check_http(lua_State *L)
{
    kb_http **slot = luaL_checkudata(L, 1, HTTP);
    luaL_argcheck(L, *slot, 1, "closed http");
    return *slot;
}

static int http_new(lua_State *L)
{
    lua_Integer limit = luaL_optinteger(L, 1, DEFAULT_LIMIT);
    luaL_argcheck(L, limit >= 1 && limit <= KB_HTTP_LIMIT, 1,
                  "1 to 4096 transfers at once");
    kb_http **slot = kb_bind_slot(L, HTTP);
    const char *why;
    kb_status st = kb_http_new((size_t)limit, slot, &why);
    if (st)
        return *why ? kb_bind_fail_text(L, st, why) : kb_bind_fail(L, st);
    return 1;
}

static int http_close(lua_State *L)                     /* __gc and __close */
{
    kb_http **slot = luaL_checkudata(L, 1, HTTP);
    kb_http_free(*slot);
    *slot = NULL;
    return 0;
}

/* [] -> []; the string lives as long as the request's table. A text with a NUL
 * in it would be cut short without a word. */
static const char *text_option(lua_State *L, const char *key,
                               const char *fallback)
{
    size_t n = 0;
    int type = lua_getfield(L, 2, key);
    const char *text = fallback;
    if (type == LUA_TSTRING)
        text = lua_tolstring(L, -1, &n);
    else if (type != LUA_TNIL || !fallback)
        luaL_argerror(L, 2, lua_pushfstring(L, "'%s' must be a string", key));
    if (type == LUA_TSTRING && strlen(text) != n)
        luaL_argerror(L, 2, lua_pushfstring(L, "'%s' holds a NUL", key));
    lua_pop(L, 1);
    return text;
}

/* Element i of the pair at the top. Values are never part of an error. */
static const char *header_part(lua_State *L, lua_Integer at, lua_Integer i)
{
    size_t n = 0;
    bool good = lua_geti(L, -1, i) == LUA_TSTRING;      /* [.. pair text] */
    const char *text = good ? lua_tolstring(L, -1, &n) : "";
    if (!good || strlen(text) != n)
        luaL_argerror(L, 2, lua_pushfstring(L,
            "header %I: its %s must be a string without NUL", (LUAI_UACINT)at,
            i == 1 ? "name" : "value"));
    lua_pop(L, 1);
    return text;
}

static size_t read_headers(lua_State *L, const char **out)
{
    int type = lua_getfield(L, 2, "headers");           /* [.. headers] */
    if (type == LUA_TNIL) {
        lua_pop(L, 1);
        return 0;
    }
    luaL_argcheck(L, type == LUA_TTABLE, 2, "'headers' must be a table");
    lua_Integer n = luaL_len(L, -1);
    luaL_argcheck(L, n <= MAX_HEADERS, 2, "'headers' has more than 64");
    for (lua_Integer i = 0; i < n; i++) {
        luaL_argcheck(L, lua_geti(L, -1, i + 1) == LUA_TTABLE, 2,
                      "'headers' must hold pairs { name, value }");
        out[2 * i] = header_part(L, i + 1, 1);          /* [.. headers pair] */
        out[2 * i + 1] = header_part(L, i + 1, 2);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return (size_t)n;
}

static int64_t time_option(lua_State *L, const char *key, lua_Integer seconds)
{
    lua_Integer ns = kb_bind_integer_option(L, 2, key, seconds * second_ns);
    if (ns < 1 || ns > 1000000 * second_ns)
        luaL_argerror(L, 2, lua_pushfstring(L, "'%s' must be 1 ns to 10^6 s", key));
    return ns;
}

static int http_start(lua_State *L)
{
    static const char *const known[] = {
        "url", "method", "headers", "body", "connect_ns", "idle_ns", "total_ns",
        "max_bytes", "ca_file", "stream", "gather_ns", NULL
    };
    const char *headers[2 * MAX_HEADERS];
    kb_http *h = check_http(L);
    luaL_checktype(L, 2, LUA_TTABLE);
    kb_bind_options(L, 2, known);
    lua_Integer most = kb_bind_integer_option(L, 2, "max_bytes", 16 << 20);
    luaL_argcheck(L, most >= 0 && most <= 1 << 30, 2, "'max_bytes' must be 0 to 2^30");
    struct kb_http_request r = {
        .url = text_option(L, "url", NULL), .headers = headers,
        .method = text_option(L, "method", "POST"), .max_bytes = (size_t)most,
        .connect_ns = time_option(L, "connect_ns", 30),
        .idle_ns = time_option(L, "idle_ns", 300),
        .total_ns = time_option(L, "total_ns", 1800),
    };
    const char *ca = text_option(L, "ca_file", "");
    r.ca_file = *ca ? ca : NULL;
    r.gather_ns = kb_bind_integer_option(L, 2, "gather_ns", 0);
    luaL_argcheck(L, r.gather_ns >= 0 && r.gather_ns <= 1000 * second_ns, 2,
                  "'gather_ns' must be 0 to 10^3 s");
    r.header_count = read_headers(L, headers);
    lua_getfield(L, 2, "stream");                       /* [h r stream] */
    r.stream = lua_toboolean(L, -1);
    int type = lua_getfield(L, 2, "body");              /* [h r stream body] */
    luaL_argcheck(L, type == LUA_TNIL || type == LUA_TSTRING, 2,
                  "'body' must be a string");
    r.body = lua_tolstring(L, -1, &r.body_bytes);
    size_t id;
    const char *why;
    kb_status st = kb_http_start(h, &r, &id, &why);
    if (st)
        return *why ? kb_bind_fail_text(L, st, why) : kb_bind_fail(L, st);
    lua_pushinteger(L, (lua_Integer)id);
    return 1;
}

/* [answer] -> [answer]; a name that comes twice is one, with a comma between. */
static void push_headers(lua_State *L, const struct kb_http_answer *a)
{
    lua_newtable(L);                                    /* [answer t] */
    for (const char *p = a->head; p && p < a->head + a->head_bytes; ) {
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

static void push_answer(lua_State *L, const struct kb_http_answer *a)
{
    lua_newtable(L);                                    /* [answer] */
    lua_pushinteger(L, a->status);
    lua_setfield(L, -2, "status");
    lua_pushinteger(L, a->version);
    lua_setfield(L, -2, "version");
    lua_pushlstring(L, a->body ? a->body : "", a->body_bytes);
    lua_setfield(L, -2, "body");
    lua_pushnumber(L, a->total_s);
    lua_setfield(L, -2, "total_s");
    if (a->first_s >= 0) {
        lua_pushnumber(L, a->first_s);
        lua_setfield(L, -2, "first_s");
    }
    if (a->result) {
        lua_pushstring(L, a->text);
        lua_setfield(L, -2, "text");
        lua_pushstring(L, kb_status_name(a->result));
        lua_setfield(L, -2, "code");
        lua_pushstring(L, a->reason);
        lua_setfield(L, -2, "reason");
    }
    push_headers(L, a);
}

static int http_next(lua_State *L)
{
    kb_http *h = check_http(L);
    size_t id = kb_http_next(h);
    if (!id)
        return 0;
    const struct kb_http_answer *a = kb_http_look(h, id);
    lua_pushinteger(L, (lua_Integer)id);
    if (a->done) {
        push_answer(L, a);
        kb_http_end(h, id);
    } else {
        lua_pushlstring(L, a->body ? a->body : "", a->body_bytes);
        kb_http_taken(h, id);
        lua_pushinteger(L, a->status);
        return 3;
    }
    return 2;
}

static int http_cancel(lua_State *L)
{
    kb_http *h = check_http(L);
    lua_Integer id = luaL_checkinteger(L, 2);
    luaL_argcheck(L, id >= 1 && kb_http_has(h, (size_t)id), 2, "no such transfer");
    push_answer(L, kb_http_look(h, (size_t)id));
    kb_http_end(h, (size_t)id);
    return 1;
}

static int http_len(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)kb_http_count(check_http(L)));
    return 1;
}

static const luaL_Reg meta[] = {
    { "__gc",  http_close }, { "__close", http_close }, { "__len", http_len },
    { NULL, NULL }
};
static const luaL_Reg methods[] = {
    { "close", http_close }, { "start", http_start }, { "next", http_next },
    { "cancel", http_cancel }, { NULL, NULL }
};
static const luaL_Reg functions[] = {
    { "http", http_new }, { NULL, NULL }
};

void kb_bind_http(lua_State *L)
{
    kb_bind_type(L, HTTP, meta, methods);
    luaL_setfuncs(L, functions, 0);
}
