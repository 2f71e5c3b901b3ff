/* Lua face of rng.h.
 *
 *   local r = core.rng(seed)   any integer
 *   r:uniform()                -> number in [0, 1)
 *   r:below(n)                 -> integer in 0 .. n-1 (as its name says, so
 *                                 list[1 + r:below(#list)])
 *   r:normal()                 -> standard normal number
 *   r:split(name)              -> the child stream of that name: a function of
 *                                 the seed and the names on the way to it,
 *                                 whatever was drawn before
 */
#include <stdbool.h>

#include "bind_arg.h"
#include "rng.h"

#define RNG "kernelband.rng"

/* A stream owns nothing, so it lives in the userdata itself. */
struct stream {
    struct kb_rng rng;
    bool open;
};

static struct kb_rng *self(lua_State *L)
{
    struct stream *s = luaL_checkudata(L, 1, RNG);
    luaL_argcheck(L, s->open, 1, "closed rng");
    return &s->rng;
}

static struct stream *push_stream(lua_State *L)             /* [] -> [rng] */
{
    struct stream *s = lua_newuserdatauv(L, sizeof *s, 0);
    s->open = false;
    luaL_setmetatable(L, RNG);
    return s;
}

static int rng_new(lua_State *L)
{
    lua_Integer seed = kb_bind_integer(L, 1, "seed", LUA_MININTEGER,
                                       LUA_MAXINTEGER);
    struct stream *s = push_stream(L);
    kb_rng_seed(&s->rng, (uint64_t)seed);
    s->open = true;
    return 1;
}

static int rng_close(lua_State *L)
{
    struct stream *s = luaL_checkudata(L, 1, RNG);
    s->open = false;
    return 0;
}

static int rng_uniform(lua_State *L)
{
    lua_pushnumber(L, kb_rng_uniform(self(L)));
    return 1;
}

static int rng_below(lua_State *L)
{
    struct kb_rng *r = self(L);
    lua_Integer n = kb_bind_integer(L, 2, "n", 1, LUA_MAXINTEGER);
    lua_pushinteger(L, (lua_Integer)kb_rng_below(r, (uint64_t)n));
    return 1;
}

static int rng_normal(lua_State *L)
{
    lua_pushnumber(L, kb_rng_normal(self(L)));
    return 1;
}

static int rng_split(lua_State *L)
{
    const struct kb_rng *r = self(L);
    luaL_checktype(L, 2, LUA_TSTRING);
    size_t n;
    const char *name = lua_tolstring(L, 2, &n);
    struct stream *s = push_stream(L);
    kb_rng_split(r, name, n, &s->rng);
    s->open = true;
    return 1;
}

void kb_bind_rng(lua_State *L)
{
    static const luaL_Reg meta[] = {
        { "__gc",    rng_close },
        { "__close", rng_close },
        { NULL, NULL }
    };
    static const luaL_Reg methods[] = {
        { "close",   rng_close   },
        { "uniform", rng_uniform },
        { "below",   rng_below   },
        { "normal",  rng_normal  },
        { "split",   rng_split   },
        { NULL, NULL }
    };
    kb_bind_type(L, RNG, meta, methods);
    lua_pushcfunction(L, rng_new);
    lua_setfield(L, -2, "rng");
}
