/* Lua face of cluster.h. Ids are 1-based here and nowhere below.
 *
 *   local k = core.cluster(K, dim, { seed = })    seed: any integer, default 0
 *   k:assign(x)          -> id; takes the point x (a list of dim numbers) in
 *   k:nearest(x)         -> id; changes nothing | nil, text, "EEMPTY" while
 *                           no cluster is live
 *   k:centre(id)         -> list of dim numbers, raw units; id in 1 .. #k
 *   k:count(id)          -> members; id in 1 .. K, 0 for one not yet live
 *   k:fit(list_of_x)     -> list of ids; replaces the state
 *   #k                   -> live clusters
 */
#include <string.h>

#include "bandit/cluster.h"
#include "bind_arg.h"

KB_SELF(self, kb_cluster, cluster)

static int cluster_new(lua_State *L)
{
    lua_Integer k = kb_bind_integer(L, 1, "K", 1, KB_CLUSTER_MAX_K);
    lua_Integer dim = kb_bind_integer(L, 2, "dim", 1, KB_CLUSTER_MAX_DIM);
    int64_t seed = 0;
    kb_bind_options(L, 3, (const struct kb_option[]) {
        { .name = "seed", .integer = &seed }, { 0 }
    });
    kb_cluster **slot = kb_bind_new(L, &kb_class_cluster, 0);
    kb_status st = kb_cluster_new((size_t)k, (size_t)dim, (uint64_t)seed,
                                  slot);
    return st ? kb_bind_fail(L, st) : 1;
}

static size_t check_id(lua_State *L, size_t most)
{
    return (size_t)kb_bind_integer(L, 2, "id", 1, (lua_Integer)most) - 1;
}

/* k:assign(x) and k:nearest(x). Reading a list can run its metamethods, which
 * may close the cluster: hence self() once more after kb_bind_vector. */
static int id_of_point(lua_State *L, bool join)
{
    double x[KB_CLUSTER_MAX_DIM];
    size_t id = 0;
    kb_bind_vector(L, 2, self(L)->dim, KB_CLUSTER_LIMIT, x);
    kb_cluster *c = self(L);
    kb_status st = join ? kb_cluster_assign(c, x, &id)
                        : kb_cluster_nearest(c, x, &id);
    if (st == KB_EEMPTY)
        return kb_bind_fail_text(L, st, "no cluster is live yet");
    return st ? kb_bind_fail(L, st)
              : kb_bind_push_integer(L, (lua_Integer)id + 1);
}

static int cluster_assign(lua_State *L)
{
    return id_of_point(L, true);
}

static int cluster_nearest(lua_State *L)
{
    return id_of_point(L, false);
}

static int cluster_centre(lua_State *L)
{
    const kb_cluster *c = self(L);
    size_t id = check_id(L, c->live);
    size_t dim = c->dim;
    double copy[KB_CLUSTER_MAX_DIM];
    memcpy(copy, c->centre + id * dim, dim * sizeof *copy);
    return kb_bind_push_numbers(L, copy, dim);
}

KB_GETTER(cluster_count, lua_pushinteger,
          (lua_Integer)self(L)->count[check_id(L, self(L)->k)])

/* Point i of the list at 2 into x. */
static void read_point(lua_State *L, size_t i, size_t dim, double *x)
{
    int type = lua_geti(L, 2, (lua_Integer)i + 1);          /* [.. point] */
    if (type != LUA_TTABLE)
        kb_bind_refuse(L, 2, "point %I: expected a list of %I numbers, got %s",
                       (lua_Integer)i + 1, (lua_Integer)dim,
                       lua_typename(L, type));
    kb_bind_vector(L, lua_gettop(L), dim, KB_CLUSTER_LIMIT, x);
    lua_pop(L, 1);
}

static int cluster_fit(lua_State *L)
{
    size_t dim = self(L)->dim;
    size_t n = kb_bind_length(L, 2, KB_CLUSTER_MAX_POINTS);
    lua_settop(L, 2);
    double *x = lua_newuserdatauv(L, n * dim * sizeof *x, 0);
    size_t *ids = lua_newuserdatauv(L, n * sizeof *ids, 0); /* [k xs tmp tmp] */
    lua_createtable(L, (int)n, 0);                          /* [.. list] */
    for (size_t i = 0; i < n; i++)
        read_point(L, i, dim, x + i * dim);

    kb_status st = kb_cluster_fit(self(L), x, n, ids);
    if (st)
        return kb_bind_fail(L, st);
    for (size_t i = 0; i < n; i++) {
        lua_pushinteger(L, (lua_Integer)ids[i] + 1);
        lua_seti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

KB_GETTER(cluster_len, lua_pushinteger, (lua_Integer)self(L)->live)

KB_CLASS(cluster, kb_cluster_free, cluster_new, NULL,
    { "__len", cluster_len }, { "assign", cluster_assign },
    { "nearest", cluster_nearest }, { "centre", cluster_centre },
    { "count", cluster_count }, { "fit", cluster_fit });
