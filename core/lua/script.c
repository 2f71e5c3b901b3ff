#include "script.h"

#include <assert.h>
#include <stdlib.h>

#include <lua.h>
#include <lauxlib.h>
#include <lualib.h>
#include <lua-cjson.h>

#include "bind.h"

struct kb_script {
    lua_State *L;
    size_t used_bytes, max_bytes;
};

/* Index 1 of the stack is the message of the last call, nil if it succeeded. */

static void *limit(void *ud, void *ptr, size_t osize, size_t nsize)
{
    kb_script *s = ud;
    size_t old = ptr ? osize : 0;       /* osize is a type tag without ptr */

    if (nsize == 0) {
        free(ptr);
        s->used_bytes -= old;
        return NULL;
    }
    if (s->max_bytes && nsize > old
        && (s->used_bytes > s->max_bytes
            || nsize - old > s->max_bytes - s->used_bytes))
        return NULL;
    void *p = realloc(ptr, nsize);
    if (!p)
        return NULL;
    s->used_bytes = s->used_bytes - old + nsize;
    return p;
}

/* [err] -> [text]; joined here, because luaL_traceback would cut the message at
 * a zero byte, which becomes a '?'. */
static int explain(lua_State *L)
{
    luaL_Buffer b;
    size_t n;
    const char *msg = luaL_tolstring(L, 1, &n);
    luaL_buffinit(L, &b);
    for (size_t i = 0; i < n; i++)
        luaL_addchar(&b, msg[i] ? msg[i] : '?');
    luaL_pushresult(&b);
    luaL_traceback(L, L, "", 1);
    lua_concat(L, 2);
    return 1;
}

/* [old f a1..an] -> [message]. The only place where C enters Lua. */
static kb_status call(kb_script *s, int nargs)
{
    lua_State *L = s->L;
    lua_pushcfunction(L, explain);
    lua_replace(L, 1);                          /* [explain f a1..an] */
    int rc = lua_pcall(L, nargs, 0, 1);
    if (rc == LUA_OK)
        lua_pushnil(L);
    lua_replace(L, 1);
    return rc == LUA_OK ? KB_OK : rc == LUA_ERRMEM ? KB_ENOMEM : KB_EINVAL;
}

/* dump is reachable from every string, so no fence could hide it. Of what looks
 * for a module those for C ones go. core.stats is Lua. */
static const char setup[] =
    "local dir = ...\n"
    "local function refuse()\n"
    "  error('math.random is not reproducible: use '\n"
    "    .. 'require \"kernelband.core\".rng(seed)', 2)\n"
    "end\n"
    "math.random, math.randomseed, string.dump = refuse, refuse, nil\n"
    "package.path = ('%s/lua/?.lua;%s/lua/?/init.lua'):format(dir, dir)\n"
    "package.cpath, package.loadlib = '', nil\n"
    "for i = #package.searchers, 3, -1 do package.searchers[i] = nil end\n"
    "local open = package.preload['kernelband.core']\n"
    "package.preload['kernelband.core'] = function()\n"
    "  return setmetatable(open(), { __index = function(core, name)\n"
    "    if name ~= 'stats' then return nil end\n"
    "    core.stats = require 'kernelband.base.stats'\n"
    "    return core.stats\n"
    "  end })\n"
    "end\n";

static int boot(lua_State *L)                           /* [lib_dir] -> [] */
{
    luaL_openlibs(L);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    KB_SET(L, "kernelband.core", lua_pushcfunction, luaopen_kernelband_core);
    KB_SET(L, "cjson", lua_pushcfunction, luaopen_cjson);
    if (luaL_loadbuffer(L, setup, sizeof setup - 1, "=kernelband"))
        return lua_error(L);
    lua_pushstring(L, lua_touserdata(L, 1));
    lua_call(L, 1, 0);
    return 0;
}

/* All that can be in the way is memory. */
kb_status kb_script_new(const char *lib_dir, size_t max_bytes, kb_script **out)
{
    kb_script *s = calloc(1, sizeof *s);
    if (!s)
        return KB_ENOMEM;
    s->max_bytes = max_bytes;
    s->L = lua_newstate(limit, s);
    kb_status st = s->L ? KB_OK : KB_ENOMEM;
    if (!st) {
        lua_pushnil(s->L);                              /* cannot raise */
        lua_pushcfunction(s->L, boot);
        lua_pushlightuserdata(s->L, (void *)lib_dir);
        st = call(s, 1) ? KB_ENOMEM : KB_OK;
    }
    return KB_HAND_OVER(st, s, kb_script_free, out);
}

void kb_script_free(kb_script *s)
{
    if (!s)
        return;
    if (s->L)
        lua_close(s->L);
    assert(s->used_bytes == 0);
    free(s);
}

struct job {
    int argc;
    char **argv;
    int exit_code;
};

static int enter(lua_State *L)                          /* [job] -> [] */
{
    struct job *job = lua_touserdata(L, 1);
    lua_getglobal(L, "require");
    lua_pushliteral(L, "kernelband.cli");
    lua_call(L, 1, 1);                                  /* [job cli] */
    if (lua_getfield(L, 2, "main") != LUA_TFUNCTION)    /* [job cli main] */
        return luaL_error(L, "kernelband.cli has no function 'main'");
    lua_createtable(L, job->argc, 0);
    for (int i = 1; i < job->argc; i++) {
        lua_pushstring(L, job->argv[i]);
        lua_rawseti(L, -2, i);
    }
    lua_call(L, 1, 1);                                  /* [job cli code] */
    int is_integer = 0;
    lua_Integer code = lua_tointegerx(L, -1, &is_integer);
    if (!is_integer || code < 0 || code > 255)
        return luaL_error(L, "kernelband.cli.main must return an exit code "
                             "0 to 255, got %s", luaL_tolstring(L, -1, NULL));
    job->exit_code = (int)code;
    return 0;
}

kb_status kb_script_main(kb_script *s, int argc, char **argv, int *exit_code)
{
    struct job job = { argc, argv, 0 };
    assert(lua_gettop(s->L) == 1);
    lua_pushcfunction(s->L, enter);
    lua_pushlightuserdata(s->L, &job);
    kb_status st = call(s, 1);
    if (!st)
        *exit_code = job.exit_code;
    return st;
}

const char *kb_script_error(const kb_script *s)
{
    if (lua_isnil(s->L, 1))
        return "";
    bool said = lua_type(s->L, 1) == LUA_TSTRING;
    return said ? lua_tostring(s->L, 1) : "error without a message";
}
