/* Lua face of sample.h. Every list holds finite numbers and at least one of
 * them; anything else raises. Lists are left as they were.
 *
 *   stats.median(list)      stats.mean(list)      stats.mad(list)   not scaled
 *   stats.geomean(list)     all > 0
 *   stats.quantile(list, q) type 7, 0 <= q <= 1
 *   stats.paired(log_ratios [, confidence = 0.95])    1 .. 64 pairs
 *     -> { estimate, low, high, confidence, n, method } with method
 *        "wilcoxon", "student" or, for one pair, "none"
 */
#include <float.h>

#include "bind_arg.h"
#include "measure/sample.h"

/* 8 MB of doubles; more is no list of measurements. */
enum { MOST = 1000000 };

/* [] -> [tmp]; the list at 1, copied into memory that belongs to Lua. */
static double *copy_list(lua_State *L, size_t most, size_t *n)
{
    *n = kb_bind_length(L, 1, most);
    luaL_argcheck(L, *n > 0, 1, "expected at least one number, got none");
    double *x = lua_newuserdatauv(L, *n * sizeof *x, 0);
    kb_bind_vector(L, 1, *n, DBL_MAX, x);
    return x;
}

/* A share at arg, in [0, 1]; the caller's function knows about the ends. */
static double check_share(lua_State *L, int arg)
{
    double q = luaL_checknumber(L, arg);
    luaL_argcheck(L, q >= 0 && q <= 1, arg, "expected a number in 0 .. 1");
    return q;
}

typedef kb_status statistic(double *x, size_t n, double *out);

static int stats_of(lua_State *L, statistic *of)
{
    size_t n;
    double out = 0, *x = copy_list(L, MOST, &n);            /* [.. tmp] */
    luaL_argcheck(L, of(x, n, &out) == KB_OK, 1, "expected numbers > 0");
    return kb_bind_push_number(L, out);
}

#define STATISTIC(name)                                                     \
    static int stats_##name(lua_State *L)                                   \
    {                                                                       \
        return stats_of(L, kb_sample_##name);                               \
    }
STATISTIC(median)
STATISTIC(mean)
STATISTIC(mad)
STATISTIC(geomean)

static int stats_quantile(lua_State *L)
{
    size_t n;
    double q = check_share(L, 2), out = 0;
    double *x = copy_list(L, MOST, &n);                     /* [.. tmp] */
    kb_status st = kb_sample_quantile(x, n, q, &out);
    return st ? luaL_error(L, "%s", kb_status_text(st))
              : kb_bind_push_number(L, out);
}

KB_PUSHER(push_paired, struct kb_paired, F(estimate), F(low), F(high),
          F(confidence), F(n), F(method))

static int stats_paired(lua_State *L)
{
    size_t n;
    double confidence = lua_isnoneornil(L, 2) ? 0.95 : check_share(L, 2);
    double *x = copy_list(L, KB_SAMPLE_MAX_PAIRS, &n);      /* [.. tmp] */
    struct kb_paired r;
    if (kb_sample_paired(x, n, confidence, &r))
        return luaL_argerror(L, 2, "a confidence of 0 or 1 is not to be had");
    return push_paired(L, &r);
}

const luaL_Reg kb_module_stats[] = {
    { "median", stats_median }, { "mean", stats_mean }, { "mad", stats_mad },
    { "geomean", stats_geomean }, { "quantile", stats_quantile },
    { "paired", stats_paired }, { NULL, NULL }
};
