/* Lua face of logit.h.
 *
 *   local h = core.logit(dim, { l2 =, buffer = })    defaults 1.0 and 500
 *   h:p(x)            -> number in [0, 1], by the last fit; 0.5 before any
 *   h:learn(x, yes)   yes is true or false
 *   h:fit()           -> Newton steps taken, 0 when nothing was learnt since
 *   h:weights()       -> { b, w1, .. , wd }
 *   #h                -> samples held
 */
#include <stdbool.h>

#include "bandit/logit.h"
#include "bind_arg.h"

#define LOGIT "kernelband.logit"

static kb_logit *self(lua_State *L)
{
    kb_logit **slot = luaL_checkudata(L, 1, LOGIT);
    luaL_argcheck(L, *slot, 1, "closed logit");
    return *slot;
}

static int logit_new(lua_State *L)
{
    static const char *const known[] = { "buffer", "l2", NULL };
    lua_Integer dim = kb_bind_integer(L, 1, "dim", 1, KB_LOGIT_MAX_DIM);
    struct kb_logit_options how = kb_logit_defaults;
    kb_bind_options(L, 2, known);
    how.l2 = kb_bind_number_option(L, 2, "l2", how.l2);
    lua_Integer buffer = kb_bind_integer_option(L, 2, "buffer",
                                                (lua_Integer)how.buffer);
    if (buffer < 1 || buffer > KB_LOGIT_MAX_BUFFER)
        return luaL_argerror(L, 2, lua_pushfstring(L,
            "option 'buffer' must be in 1 .. %d", KB_LOGIT_MAX_BUFFER));
    how.buffer = (size_t)buffer;

    kb_logit **slot = kb_bind_slot(L, LOGIT);               /* [.. slot] */
    kb_status st = kb_logit_new((size_t)dim, &how, slot);
    if (st == KB_EINVAL)
        return luaL_argerror(L, 2, lua_pushfstring(L,
            "option 'l2' must be in %f .. %f: without shrinkage separable "
            "samples have no finite fit", KB_LOGIT_LEAST_L2,
            KB_LOGIT_MOST_L2));
    return st ? kb_bind_fail(L, st) : 1;
}

static int logit_close(lua_State *L)
{
    kb_logit **slot = luaL_checkudata(L, 1, LOGIT);
    kb_logit_free(*slot);
    *slot = NULL;
    return 0;
}

/* Reading a list can run its metamethods, which may close the head: hence
 * self() once more after each kb_bind_vector. */
static int logit_p(lua_State *L)
{
    double x[KB_LOGIT_MAX_DIM], p = 0;
    kb_bind_vector(L, 2, kb_logit_dim(self(L)), KB_LOGIT_LIMIT, x);
    kb_status st = kb_logit_p(self(L), x, &p);
    if (st)
        return kb_bind_fail(L, st);
    lua_pushnumber(L, p);
    return 1;
}

static int logit_learn(lua_State *L)
{
    double x[KB_LOGIT_MAX_DIM];
    kb_bind_vector(L, 2, kb_logit_dim(self(L)), KB_LOGIT_LIMIT, x);
    luaL_checktype(L, 3, LUA_TBOOLEAN);
    kb_status st = kb_logit_learn(self(L), x, lua_toboolean(L, 3));
    return st ? kb_bind_fail(L, st) : 0;
}

static int logit_fit(lua_State *L)
{
    lua_pushinteger(L, kb_logit_fit(self(L)));
    return 1;
}

static int logit_weights(lua_State *L)
{
    const kb_logit *h = self(L);
    size_t n = kb_logit_dim(h) + 1;
    double copy[KB_LOGIT_MAX_DIM + 1];
    for (size_t i = 0; i < n; i++)
        copy[i] = kb_logit_weights(h)[i];
    lua_createtable(L, (int)n, 0);                          /* [.. list] */
    for (size_t i = 0; i < n; i++) {
        lua_pushnumber(L, copy[i]);
        lua_seti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

static int logit_len(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)kb_logit_count(self(L)));
    return 1;
}

void kb_bind_logit(lua_State *L)
{
    static const luaL_Reg meta[] = {
        { "__gc",    logit_close },
        { "__close", logit_close },
        { "__len",   logit_len   },
        { NULL, NULL }
    };
    static const luaL_Reg methods[] = {
        { "close",   logit_close   },
        { "p",       logit_p       },
        { "learn",   logit_learn   },
        { "fit",     logit_fit     },
        { "weights", logit_weights },
        { NULL, NULL }
    };
    kb_bind_type(L, LOGIT, meta, methods);
    lua_pushcfunction(L, logit_new);
    lua_setfield(L, -2, "logit");
}
