/* Lua face of points.h. Points are numbered from 1 here and nowhere below.
 *
 *   local p = core.points(dim)
 *   p:add(x)         -> its number; x is a list of dim numbers
 *   p:central(list [, scaled])  -> the position in list, of numbers of points, of
 *                       the one nearest their mean, with scaled in standard
 *                       deviations of all points | nil, text, "EEMPTY"
 *   #p               -> points
 *
 * core.logit's p takes points in place of one.
 */
#include "bind_points.h"

#include "bind_arg.h"

#define POINTS "kernelband.points"

enum { FEW = 64 };

const kb_points *kb_bind_points_at(lua_State *L, int arg)
{
    kb_points **slot = luaL_testudata(L, arg, POINTS);
    luaL_argcheck(L, !slot || *slot, arg, "closed points");
    return slot ? *slot : NULL;
}

static kb_points *self(lua_State *L)
{
    kb_points **slot = luaL_checkudata(L, 1, POINTS);
    luaL_argcheck(L, *slot, 1, "closed points");
    return *slot;
}

static int points_new(lua_State *L)
{
    lua_Integer dim = kb_bind_integer(L, 1, "dim", 1, KB_POINTS_MAX_DIM);
    kb_points **slot = kb_bind_slot(L, POINTS);             /* [.. slot] */
    kb_status st = kb_points_new((size_t)dim, slot);
    return st ? kb_bind_fail(L, st) : 1;
}

static int points_close(lua_State *L)
{
    kb_points **slot = luaL_checkudata(L, 1, POINTS);
    kb_points_free(*slot);
    *slot = NULL;
    return 0;
}

/* Reading a list can run its metamethods, which may close the points: hence
 * self() once more after it, here and below. */
static int points_add(lua_State *L)
{
    double x[KB_POINTS_MAX_DIM];
    kb_bind_vector(L, 2, kb_points_dim(self(L)), KB_POINTS_LIMIT, x);
    kb_points *p = self(L);
    kb_status st = kb_points_add(p, x);
    if (st)
        return kb_bind_fail(L, st);
    lua_pushinteger(L, (lua_Integer)kb_points_count(p));
    return 1;
}

static int points_central(lua_State *L)
{
    size_t n = kb_bind_length(L, 2, KB_POINTS_MAX), few[FEW], *at = few, best;
    bool scaled = lua_toboolean(L, 3);
    lua_settop(L, 2);
    if (n > FEW)
        at = lua_newuserdatauv(L, n * sizeof *at, 0);       /* [p list tmp] */
    for (size_t i = 0; i < n; i++) {
        int whole;
        lua_geti(L, 2, (lua_Integer)i + 1);                 /* [.. number] */
        at[i] = (size_t)lua_tointegerx(L, -1, &whole) - 1;
        lua_pop(L, 1);
        if (!whole)
            return luaL_argerror(L, 2, "expected numbers of points");
    }
    kb_status st = kb_points_central(self(L), at, n, scaled, &best);
    if (st == KB_EINVAL)
        return luaL_argerror(L, 2, "no such point");
    if (st)
        return kb_bind_fail(L, st);
    lua_pushinteger(L, (lua_Integer)best + 1);
    return 1;
}

static int points_len(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)kb_points_count(self(L)));
    return 1;
}

void kb_bind_points(lua_State *L)
{
    static const luaL_Reg meta[] = {
        { "__gc",    points_close },
        { "__close", points_close },
        { "__len",   points_len   },
        { NULL, NULL }
    };
    static const luaL_Reg methods[] = {
        { "close",   points_close   },
        { "add",     points_add     },
        { "central", points_central },
        { NULL, NULL }
    };
    kb_bind_type(L, POINTS, meta, methods);
    lua_pushcfunction(L, points_new);
    lua_setfield(L, -2, "points");
}
