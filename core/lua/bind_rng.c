/* Lua face of rng.h.
 *
 *   local r = core.rng(seed)   any integer
 *   r:uniform([list])          -> number in [0, 1); or list, filled with #list
 *   r:below(n)                 -> integer in 0 .. n-1 (as its name says, so
 *                                 list[1 + r:below(#list)])
 *   r:normal()                 -> standard normal number
 *   r:split(name)              -> the child stream of that name: a function of
 *                                 the seed and the names on the way to it,
 *                                 whatever was drawn before
 */
#include <stdlib.h>

#include "bind_arg.h"
#include "rng.h"

KB_SELF(self, struct kb_rng, rng)

static struct kb_rng *push_stream(lua_State *L)             /* [] -> [rng] */
{
    struct kb_rng **slot = kb_bind_new(L, &kb_class_rng, 0);
    *slot = malloc(sizeof **slot);
    if (!*slot)
        luaL_error(L, "not enough memory");
    return *slot;
}

static int rng_new(lua_State *L)
{
    lua_Integer seed = kb_bind_integer(L, 1, "seed", LUA_MININTEGER,
                                       LUA_MAXINTEGER);
    kb_rng_seed(push_stream(L), (uint64_t)seed);
    return 1;
}

static int rng_uniform(lua_State *L)
{
    struct kb_rng *r = self(L);
    lua_settop(L, 2);
    if (lua_isnil(L, 2))
        return kb_bind_push_number(L, kb_rng_uniform(r));
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_Integer n = (lua_Integer)lua_rawlen(L, 2);
    for (lua_Integer i = 1; i <= n; i++) {
        lua_pushnumber(L, kb_rng_uniform(r));
        lua_rawseti(L, 2, i);
    }
    return 1;
}

static int rng_below(lua_State *L)
{
    struct kb_rng *r = self(L);
    lua_Integer n = kb_bind_integer(L, 2, "n", 1, LUA_MAXINTEGER);
    return kb_bind_push_integer(L, (lua_Integer)kb_rng_below(r, (uint64_t)n));
}

KB_GETTER(rng_normal, lua_pushnumber, kb_rng_normal(self(L)))

static int rng_split(lua_State *L)
{
    const struct kb_rng *r = self(L);
    luaL_checktype(L, 2, LUA_TSTRING);
    size_t n;
    const char *name = lua_tolstring(L, 2, &n);
    kb_rng_split(r, name, n, push_stream(L));
    return 1;
}

KB_CLASS(rng, free, rng_new, NULL,
    { "uniform", rng_uniform }, { "below", rng_below },
    { "normal", rng_normal }, { "split", rng_split });
