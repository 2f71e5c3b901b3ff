/* Lua face of logit.h.
 *
 *   local h = core.logit(dim, { l2 =, buffer = })    defaults 1.0 and 500
 *   h:p(x)            -> number in [0, 1], by the last fit; 0.5 before any
 *   h:learn(x, yes)   yes is true or false
 *   h:fit()           -> Newton steps taken, 0 when nothing was learnt since
 *   h:weights()       -> { b, w1, .. , wd }
 *   #h                -> samples held
 */
#include <string.h>

#include "bandit/logit.h"
#include "bind_arg.h"

KB_SELF(self, kb_logit, logit)

static int logit_new(lua_State *L)
{
    lua_Integer dim = kb_bind_integer(L, 1, "dim", 1, KB_LOGIT_MAX_DIM);
    struct kb_logit_options how = kb_logit_defaults;
    kb_bind_options(L, 2, (const struct kb_option[]) {
        { .name = "buffer", .size = &how.buffer, .least = 1,
          .most = KB_LOGIT_MAX_BUFFER },
        { .name = "l2", .number = &how.l2 }, { 0 }
    });
    kb_logit **slot = kb_bind_new(L, &kb_class_logit, 0);
    kb_status st = kb_logit_new((size_t)dim, &how, slot);
    if (st == KB_EINVAL)
        return kb_bind_refuse(L, 2, "option 'l2' must be in %f .. %f: without "
                              "shrinkage separable samples have no finite fit",
                              KB_LOGIT_LEAST_L2, KB_LOGIT_MOST_L2);
    return st ? kb_bind_fail(L, st) : 1;
}

/* Reading a list can run its metamethods, which may close the head: hence
 * self() once more after each kb_bind_vector. */
static int logit_p(lua_State *L)
{
    double x[KB_LOGIT_MAX_DIM], p = 0;
    kb_bind_vector(L, 2, self(L)->dim, KB_LOGIT_LIMIT, x);
    kb_status st = kb_logit_p(self(L), x, &p);
    return st ? kb_bind_fail(L, st) : kb_bind_push_number(L, p);
}

static int logit_learn(lua_State *L)
{
    double x[KB_LOGIT_MAX_DIM];
    kb_bind_vector(L, 2, self(L)->dim, KB_LOGIT_LIMIT, x);
    luaL_checktype(L, 3, LUA_TBOOLEAN);
    kb_status st = kb_logit_learn(self(L), x, lua_toboolean(L, 3));
    return st ? kb_bind_fail(L, st) : 0;
}

KB_GETTER(logit_fit, lua_pushinteger, kb_logit_fit(self(L)))

static int logit_weights(lua_State *L)
{
    const kb_logit *h = self(L);
    double copy[KB_LOGIT_MAX_DIM + 1];
    memcpy(copy, h->weights, h->order * sizeof *copy);
    return kb_bind_push_numbers(L, copy, h->order);
}

KB_GETTER(logit_len, lua_pushinteger, (lua_Integer)self(L)->count)

KB_CLASS(logit, kb_logit_free, logit_new, NULL,
    { "__len", logit_len }, { "p", logit_p }, { "learn", logit_learn },
    { "fit", logit_fit }, { "weights", logit_weights });
