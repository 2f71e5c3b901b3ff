/* Lua face of ucb.h. Arms and positions are 1-based here and nowhere below.
 *
 *   local u = core.ucb(arms, { c =, prior_mean =, prior_pulls = })
 *   u:select(arms [, bias [, waiting, under_way]])
 *                             -> position in arms of the best | nil, text,
 *                                "EEMPTY" when arms is empty; waiting[arm] pulls
 *                                of an arm, nil for none, are under way, of
 *                                under_way in all
 *   u:update(arm, reward)
 *   u:mean(arm)  u:score(arm) -> number
 *   u:pulls(arm)              -> number, the prior included
 *   u:t()                     -> updates so far, the prior not included
 *   #u                        -> arms
 */

#include "bandit/ucb.h"
#include "bind_arg.h"

enum { FEW = 64, MAX_CANDIDATES = 1 << 20 };

KB_SELF(self, kb_ucb, ucb)

static size_t check_arm(lua_State *L, const kb_ucb *u)
{
    return (size_t)kb_bind_integer(L, 2, "arm", 1, (lua_Integer)u->arms) - 1;
}

static int ucb_new(lua_State *L)
{
    lua_Integer arms = kb_bind_integer(L, 1, "arms", 1, KB_UCB_MAX_ARMS);
    struct kb_ucb_options how = kb_ucb_defaults;
    kb_bind_options(L, 2, (const struct kb_option[]) {
        { .name = "c", .number = &how.c },
        { .name = "prior_mean", .number = &how.prior_mean },
        { .name = "prior_pulls", .number = &how.prior_pulls }, { 0 }
    });
    kb_ucb **slot = kb_bind_new(L, &kb_class_ucb, 0);
    kb_status st = kb_ucb_new((size_t)arms, &how, slot);
    if (st == KB_EINVAL)
        return luaL_argerror(L, 2, "c, prior_mean and prior_pulls must be "
                             "finite, c and prior_pulls >= 0");
    return st ? kb_bind_fail(L, st) : 1;
}

/* The number under key in the table at arg, least .. most; 0 where there is no
 * table, or nothing in it. */
static double number_at(lua_State *L, int arg, lua_Integer key, double least,
                        double most, const char *what)
{
    if (lua_isnil(L, arg))
        return 0;
    int type = lua_geti(L, arg, key);                       /* [.. x] */
    double x = lua_tonumber(L, -1);
    if (type != LUA_TNIL && (type != LUA_TNUMBER || !(x >= least && x <= most)))
        kb_bind_refuse(L, arg, "element %I: expected %s, got %s", key, what,
                       luaL_tolstring(L, -1, NULL));
    lua_pop(L, 1);
    return x;
}

static int ucb_select(lua_State *L)
{
    double arms = (double)self(L)->arms;
    size_t n = kb_bind_length(L, 2, MAX_CANDIDATES);
    lua_Integer under_way = kb_bind_opt_integer(L, 5, "under_way", 0,
                                                MAX_CANDIDATES, 0);
    lua_settop(L, 4);
    for (int list = 3; list <= 4; list++)
        if (!lua_isnil(L, list))
            luaL_checktype(L, list, LUA_TTABLE);
    if (!lua_isnil(L, 3) && (size_t)luaL_len(L, 3) != n)
        luaL_argerror(L, 3, "expected a bias for each candidate");

    struct kb_ucb_cand few[FEW], *cand = few;
    if (n > FEW)
        cand = lua_newuserdatauv(L, n * sizeof *cand, 0);
    for (size_t i = 0; i < n; i++) {                    /* [u a b w tmp] */
        lua_Integer at = (lua_Integer)i + 1;
        double listed = number_at(L, 2, at, 1, arms, "an arm");
        size_t arm = (size_t)listed;
        luaL_argcheck(L, arm >= 1 && (double)arm == listed, 2,
                      "arms are integers from 1 on");
        cand[i].arm = arm - 1;
        cand[i].bias = number_at(L, 3, at, -KB_UCB_LIMIT, KB_UCB_LIMIT,
                                 "a finite number");
        cand[i].waiting = number_at(L, 4, (lua_Integer)arm, 0, KB_UCB_LIMIT,
                                    "a number of pulls");
    }
    /* Reading runs the lists' metamethods, and these may have closed us: so
     * nothing was kept above but a number. */
    size_t best;
    kb_status st = kb_ucb_select(self(L), cand, n, (uint64_t)under_way, &best);
    return st ? kb_bind_fail(L, st)
              : kb_bind_push_integer(L, (lua_Integer)best + 1);
}

static int ucb_update(lua_State *L)
{
    kb_ucb *u = self(L);
    size_t arm = check_arm(L, u);
    luaL_checktype(L, 3, LUA_TNUMBER);
    if (kb_ucb_update(u, arm, lua_tonumber(L, 3)))
        return luaL_argerror(L, 3, "reward must be finite");
    return 0;
}

KB_GETTER(ucb_mean, lua_pushnumber,
          kb_ucb_mean(self(L), check_arm(L, self(L))))
KB_GETTER(ucb_score, lua_pushnumber,
          kb_ucb_score(self(L), check_arm(L, self(L))))

/* An integer wherever it is one, so that it prints as a count. */
static int ucb_pulls(lua_State *L)
{
    const kb_ucb *u = self(L);
    double pulls = u->arm[check_arm(L, u)].pulls;
    lua_Integer whole;
    if (lua_numbertointeger(pulls, &whole) && (double)whole == pulls)
        return kb_bind_push_integer(L, whole);
    return kb_bind_push_number(L, pulls);
}

KB_GETTER(ucb_t, lua_pushinteger, (lua_Integer)self(L)->t)
KB_GETTER(ucb_len, lua_pushinteger, (lua_Integer)self(L)->arms)

KB_CLASS(ucb, kb_ucb_free, ucb_new, NULL,
    { "__len", ucb_len }, { "select", ucb_select }, { "update", ucb_update },
    { "mean", ucb_mean }, { "pulls", ucb_pulls }, { "score", ucb_score },
    { "t", ucb_t });
