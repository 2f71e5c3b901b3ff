/* Lua face of command.h.
 *
 *   c = core.command(request)  -> command | nil, text, code
 *     request = { argv = { .. }, input =, timeout_ns =, max_bytes =,
 *                 directory =, environment = { "K=V", .. } }
 *     c:result()               -> false: it runs
 *                               | { status =, signal =, output =, errors = } and,
 *                                 of one that was killed, code = "ETIME" | "EFULL"
 *     c:close()                -> the same of what it has said so far; what runs
 *                                 is killed
 */
#include "bind.h"

#include <errno.h>
#include <string.h>

#include "bind_arg.h"
#include "system/command.h"
#include "system/files.h"

#define COMMAND "kernelband.command"

enum { MAX_ENVIRONMENT = 4096 };

static kb_command *check_command(lua_State *L)
{
    kb_command **slot = luaL_checkudata(L, 1, COMMAND);
    luaL_argcheck(L, *slot, 1, "closed command");
    return *slot;
}

/* [.. t] -> [.. t]; the strings live as long as t. */
static void read_words(lua_State *L, const char *key, const char **out,
                       lua_Integer n)
{
    for (lua_Integer i = 0; i < n; i++) {
        size_t bytes = 0;
        bool good = lua_geti(L, -1, i + 1) == LUA_TSTRING;
        out[i] = good ? lua_tolstring(L, -1, &bytes) : "";
        if (!good || strlen(out[i]) != bytes)
            luaL_argerror(L, 1, lua_pushfstring(L,
                "'%s' must be a list of strings without NUL; element %I is not",
                key, (LUAI_UACINT)i + 1));
        lua_pop(L, 1);
    }
    out[n] = NULL;
}

/* [..] -> [.. t]; the list's length, checked. */
static lua_Integer push_list(lua_State *L, const char *key, lua_Integer least,
                             lua_Integer most)
{
    lua_Integer n = lua_getfield(L, 1, key) == LUA_TTABLE ? luaL_len(L, -1) : -1;
    if (n < least || n > most)
        luaL_argerror(L, 1, lua_pushfstring(L,
            "'%s' must be a list of %I to %I strings", key, (LUAI_UACINT)least,
            (LUAI_UACINT)most));
    return n;
}

static const char *text_option(lua_State *L, const char *key, size_t *n)
{
    int type = lua_getfield(L, 1, key);                 /* [.. text] */
    if (type != LUA_TSTRING && type != LUA_TNIL)
        luaL_argerror(L, 1, lua_pushfstring(L, "'%s' must be a string", key));
    return lua_tolstring(L, -1, n);
}

static int fail_start(lua_State *L, kb_status st,
                      const struct kb_command_request *r)
{
    int error = errno;
    luaL_pushfail(L);
    lua_pushfstring(L, "%s cannot be started%s%s: %s", r->argv[0],
                    r->dir ? " in " : "", r->dir ? r->dir : "",
                    st == KB_ESYS ? strerror(error) : kb_status_text(st));
    lua_pushstring(L, st == KB_ESYS ? kb_files_errno_name(error)
                                    : kb_status_name(st));
    return 3;
}

static int command_new(lua_State *L)
{
    static const char *const known[] = {
        "argv", "input", "timeout_ns", "max_bytes", "directory", "environment", NULL
    };
    const char *argv[KB_COMMAND_WORDS + 1];
    luaL_checktype(L, 1, LUA_TTABLE);
    kb_bind_options(L, 1, known);
    struct kb_command_request r = { .argv = argv };
    lua_Integer most = kb_bind_integer_option(L, 1, "max_bytes", 16 << 20);
    luaL_argcheck(L, most >= 0 && most <= 1 << 30, 1, "'max_bytes' must be 0 to 2^30");
    r.max_bytes = (size_t)most;
    r.timeout_ns = kb_bind_integer_option(L, 1, "timeout_ns", 600000000000);
    luaL_argcheck(L, r.timeout_ns >= 0 && r.timeout_ns <= INT64_MAX / 4, 1,
                  "'timeout_ns' must be a time in nanoseconds");
    read_words(L, "argv", argv, push_list(L, "argv", 1, KB_COMMAND_WORDS));
    size_t n = 0;
    r.dir = text_option(L, "directory", &n);
    luaL_argcheck(L, !r.dir || strlen(r.dir) == n, 1, "'directory' holds a NUL");
    r.input = text_option(L, "input", &r.input_bytes);
    if (lua_getfield(L, 1, "environment") != LUA_TNIL) {
        lua_Integer words = push_list(L, "environment", 0, MAX_ENVIRONMENT);
        const char **env = lua_newuserdatauv(L, ((size_t)words + 1) * sizeof *env, 0);
        lua_insert(L, -2);                              /* [.. env t] */
        read_words(L, "environment", env, words);
        r.env = env;
    }
    kb_command **slot = kb_bind_slot(L, COMMAND);
    kb_status st = kb_command_start(&r, slot);
    return st ? fail_start(L, st, &r) : 1;
}

static int push_result(lua_State *L, const kb_command *c)
{
    struct kb_command_result r = kb_command_look(c);
    lua_newtable(L);                                    /* [result] */
    lua_pushinteger(L, r.status);
    lua_setfield(L, -2, "status");
    if (r.signal) {
        lua_pushinteger(L, r.signal);
        lua_setfield(L, -2, "signal");
    }
    lua_pushlstring(L, r.output ? r.output : "", r.output_bytes);
    lua_setfield(L, -2, "output");
    lua_pushlstring(L, r.errors ? r.errors : "", r.errors_bytes);
    lua_setfield(L, -2, "errors");
    if (r.result) {
        lua_pushstring(L, kb_status_name(r.result));
        lua_setfield(L, -2, "code");
    }
    return 1;
}

static int command_result(lua_State *L)
{
    kb_command *c = check_command(L);
    if (kb_command_done(c))
        return push_result(L, c);
    lua_pushboolean(L, 0);
    return 1;
}

static int command_close(lua_State *L)
{
    push_result(L, check_command(L));
    kb_command **slot = lua_touserdata(L, 1);
    kb_command_free(*slot);
    *slot = NULL;
    return 1;
}

static int command_gc(lua_State *L)                     /* __gc and __close */
{
    kb_command **slot = luaL_checkudata(L, 1, COMMAND);
    kb_command_free(*slot);
    *slot = NULL;
    return 0;
}

static const luaL_Reg meta[] = {
    { "__gc", command_gc }, { "__close", command_gc }, { NULL, NULL }
};
static const luaL_Reg methods[] = {
    { "result", command_result }, { "close", command_close }, { NULL, NULL }
};
static const luaL_Reg functions[] = {
    { "command", command_new }, { NULL, NULL }
};

void kb_bind_command(lua_State *L)
{
    kb_bind_type(L, COMMAND, meta, methods);
    luaL_setfuncs(L, functions, 0);
}
