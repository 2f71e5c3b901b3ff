/* Lua face of gp.h. Places are 1-based here and nowhere below.
 *
 *   local g = core.gp(rates, { signal =, mean =, level =, noise =,
 *                     correlation =, capacity = })  rates: inverse length scales
 *   g:learn(x, y [, group]) -> true | nil, text, "EEMPTY" when it is full
 *   g:fit(spread [, group]) -> true | nil, text, "ENOMEM"
 *   g:correlate(group, correlation)   of one group, 1 .. 63
 *   g:density(n)            -> log density of all points but the first n
 *   g:track(x)              -> place
 *   g:at(place)             -> mean, deviation
 *   g:improvement(place, best)  -> expected improvement over best
 *   g:means(list)               -> list: the mean at every place
 *   g:improvements(best, list)  -> list: the expected improvement at every place
 *   g:forget(n)             all points learnt but the first n
 *   #g                      -> points learnt
 */
#include "bandit/gp.h"
#include "bind_arg.h"

KB_SELF(self, kb_gp, gp)

static int gp_new(lua_State *L)
{
    double rate[KB_GP_MAX_DIM], keep;
    size_t dim = kb_bind_length(L, 1, KB_GP_MAX_DIM);
    if (dim < 1)
        return luaL_argerror(L, 1, "expected a rate a dimension");
    kb_bind_vector(L, 1, dim, KB_GP_LIMIT, rate);
    struct kb_gp_options how = kb_gp_defaults;
    kb_bind_options(L, 2, (const struct kb_option[]) {
        { .name = "capacity", .size = &how.capacity, .least = 1,
          .most = KB_GP_MAX_CAPACITY },
        { .name = "correlation", .number = &how.correlation },
        { .name = "level", .number = &how.level },
        { .name = "mean", .number = &how.mean },
        { .name = "noise", .number = &how.noise },
        { .name = "signal", .number = &how.signal },
        { .name = "scale", .number = &how.signal,
          .now = "core.gp: option scale is called signal now" },
        { .name = "kin", .number = &how.correlation,
          .now = "core.gp: option kin is called correlation now" },
        { .name = "keep", .number = &keep,
          .now = "core.gp: option keep does nothing any more: it was 0" }, { 0 }
    });
    kb_gp **slot = kb_bind_new(L, &kb_class_gp, 0);
    kb_status st = kb_gp_new(dim, rate, &how, slot);
    if (st == KB_EINVAL)
        return luaL_argerror(L, 2, "rates must be >= 0, signal and level above 0, "
                             "noise at least signal / 10000, correlation in 0 .. 1");
    return st ? kb_bind_fail(L, st) : 1;
}

static double number(lua_State *L, int arg, const char *what)
{
    luaL_checktype(L, arg, LUA_TNUMBER);
    double v = lua_tonumber(L, arg);
    if (!(v >= -KB_GP_LIMIT && v <= KB_GP_LIMIT))
        kb_bind_refuse(L, arg, "%s must be finite and at most %f in magnitude",
                       what, KB_GP_LIMIT);
    return v;
}

/* The point at 2. Reading a list can run its metamethods, which may close g:
 * so self() comes after it. */
static kb_gp *with_point(lua_State *L, double x[KB_GP_MAX_DIM])
{
    kb_bind_vector(L, 2, self(L)->dim, KB_GP_LIMIT, x);
    return self(L);
}

static size_t group_at(lua_State *L, int arg)
{
    return (size_t)kb_bind_opt_integer(L, arg, "group", 0,
                                       KB_GP_MAX_GROUPS - 1, 0);
}

static int gp_learn(lua_State *L)
{
    double x[KB_GP_MAX_DIM], y = number(L, 3, "y");
    size_t group = group_at(L, 4);
    return kb_bind_done(L, kb_gp_learn(with_point(L, x), x, group, y));
}

static int gp_fit(lua_State *L)
{
    double spread = number(L, 2, "spread");
    luaL_argcheck(L, spread > 0 && spread <= 2, 2, "expected 0 < spread <= 2");
    return kb_bind_done(L, kb_gp_fit(self(L), group_at(L, 3), spread));
}

static int gp_correlate(lua_State *L)
{
    lua_Integer group = kb_bind_integer(L, 2, "group", 1, KB_GP_MAX_GROUPS - 1);
    double correlation = number(L, 3, "correlation");
    kb_status st = kb_gp_correlate(self(L), (size_t)group, correlation);
    luaL_argcheck(L, st == KB_OK, 3, "expected 0 <= correlation <= 1");
    return 0;
}

static size_t check_count(lua_State *L)
{
    return (size_t)kb_bind_integer(L, 2, "n", 0, KB_GP_MAX_CAPACITY);
}

KB_GETTER(gp_density, lua_pushnumber, kb_gp_density(self(L), check_count(L)))

static int gp_track(lua_State *L)
{
    double x[KB_GP_MAX_DIM];
    size_t place;
    kb_status st = kb_gp_track(with_point(L, x), x, &place);
    return st ? kb_bind_fail(L, st)
              : kb_bind_push_integer(L, (lua_Integer)place + 1);
}

static size_t check_place(lua_State *L, const kb_gp *g)
{
    return (size_t)kb_bind_integer(L, 2, "place", 1,
                                   (lua_Integer)g->places) - 1;
}

/* Lua's collector does not see what the rows of places take. It is told, as if
 * Lua had taken it: else those of many searches would wait for it. */
static void tell(lua_State *L, kb_gp *g)
{
    const size_t part = 1 << 20;
    size_t bytes = (g->kept - g->told) * sizeof(double);
    if (bytes < part)
        return;
    g->told = g->kept;
    lua_gc(L, LUA_GCSTEP, (int)(bytes >> 10));
}

static int gp_at(lua_State *L)
{
    kb_gp *g = self(L);
    double mean, deviation;
    kb_gp_at(g, check_place(L, g), &mean, &deviation);
    tell(L, g);
    lua_pushnumber(L, mean);
    lua_pushnumber(L, deviation);
    return 2;
}

static int gp_improvement(lua_State *L)
{
    kb_gp *g = self(L);
    size_t place = check_place(L, g);
    double value = kb_gp_improvement(g, place, number(L, 3, "best"));
    tell(L, g);
    return kb_bind_push_number(L, value);
}

/* g:means(list) and g:improvements(best, list): of every place. */
static int at_all_places(lua_State *L, int list, const double *best)
{
    kb_gp *g = self(L);
    luaL_checktype(L, list, LUA_TTABLE);
    lua_settop(L, list);
    for (size_t i = 0; i < g->places; i++) {
        double value, deviation;
        if (best)
            value = kb_gp_improvement(g, i, *best);
        else
            kb_gp_at(g, i, &value, &deviation);
        lua_pushnumber(L, value);
        lua_rawseti(L, list, (lua_Integer)i + 1);
    }
    tell(L, g);
    return 1;
}

static int gp_means(lua_State *L)
{
    return at_all_places(L, 2, NULL);
}

static int gp_improvements(lua_State *L)
{
    double best = number(L, 2, "best");
    return at_all_places(L, 3, &best);
}

static int gp_forget(lua_State *L)
{
    kb_gp_forget(self(L), check_count(L));
    return 0;
}

KB_GETTER(gp_len, lua_pushinteger, (lua_Integer)self(L)->count)

/* excess and excesses are what the improvements were called before. */
KB_CLASS(gp, kb_gp_free, gp_new, NULL,
    { "__len", gp_len }, { "learn", gp_learn }, { "fit", gp_fit },
    { "correlate", gp_correlate }, { "density", gp_density },
    { "track", gp_track }, { "at", gp_at }, { "forget", gp_forget },
    { "improvement", gp_improvement }, { "excess", gp_improvement },
    { "improvements", gp_improvements }, { "excesses", gp_improvements },
    { "means", gp_means });
