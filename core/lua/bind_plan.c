/* A resolved launch plan, read from Lua:
 *
 *   { launches = { { kernel =, grid = { x, y, z }, block = { x, y, z },
 *                    shared = bytes, args = { { kind = "arg", index = 1 },
 *                      { kind = "scratch", index = 1 },
 *                      { kind = "int", value = 7 } } }, .. },
 *     scratch = { { dtype = "f32", count = n }, .. } }
 */
#include <math.h>
#include <string.h>

#include "bind_arg.h"
#include "bind_device.h"

/* Field key of the table on top, an integer in [least, most]. */
static lua_Integer field(lua_State *L, const char *key, lua_Integer least,
                         lua_Integer most)
{
    lua_getfield(L, -1, key);                           /* [.. t v] */
    int whole;
    lua_Integer v = lua_tointegerx(L, -1, &whole);
    if (!whole || v < least || v > most)
        luaL_error(L, "launch plan: %s is out of range", key);
    lua_pop(L, 1);
    return v;
}

static void read_three(lua_State *L, const char *key, uint32_t out[3])
{
    double v[3];
    lua_getfield(L, -1, key);                           /* [.. t list] */
    kb_bind_vector(L, lua_gettop(L), 3, 0x7fffffff, v);
    for (int i = 0; i < 3; i++) {
        if (v[i] < 1 || v[i] != floor(v[i]))
            luaL_error(L, "launch plan: %s is out of range", key);
        out[i] = (uint32_t)v[i];
    }
    lua_pop(L, 1);
}

/* Calls read for each table of the list called key of the table on top; returns
 * how many, at most most. */
static uint32_t each(lua_State *L, const char *key, lua_Integer most,
                     void (*read)(lua_State *L, void *to, lua_Integer i),
                     void *to)
{
    if (lua_getfield(L, -1, key) != LUA_TTABLE)         /* [.. t list] */
        luaL_error(L, "launch plan: %s is missing", key);
    lua_Integer n = luaL_len(L, -1);
    if (n > most)
        luaL_error(L, "launch plan: too many %s", key);
    for (lua_Integer i = 0; i < n; i++) {
        lua_geti(L, -1, i + 1);                         /* [.. t list one] */
        luaL_checktype(L, -1, LUA_TTABLE);
        read(L, to, i);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return (uint32_t)n;
}

/* The table on top: argument i of a launch. */
static void read_pass(lua_State *L, void *to, lua_Integer i)
{
    static const char *const kinds[] = { "arg", "scratch", "int", NULL };
    struct kb_launch *l = to;
    lua_getfield(L, -1, "kind");                        /* [.. t kind] */
    l->arg[i].kind = (unsigned)luaL_checkoption(L, -1, NULL, kinds);
    lua_pop(L, 1);
    if (l->arg[i].kind == KB_PASS_INTEGER)
        l->arg[i].value = field(L, "value", LUA_MININTEGER, LUA_MAXINTEGER);
    else
        l->arg[i].index = (uint32_t)field(L, "index", 1, KB_DEVICE_ARGS) - 1;
}

/* The table on top: launch i. */
static void read_launch(lua_State *L, void *to, lua_Integer i)
{
    struct kb_launch *l = (struct kb_launch *)to + i;
    lua_getfield(L, -1, "kernel");                      /* [.. t name] */
    const char *name = luaL_checkstring(L, -1);
    if (strlen(name) >= sizeof l->kernel)
        luaL_error(L, "launch plan: a kernel's name is too long");
    memcpy(l->kernel, name, strlen(name) + 1);
    lua_pop(L, 1);
    read_three(L, "grid", l->grid);
    read_three(L, "block", l->block);
    l->shared_bytes = (uint32_t)field(L, "shared", 0, 1 << 30);
    l->args = each(L, "args", KB_DEVICE_ARGS, read_pass, l);
}

/* The table on top: scratch buffer i. */
static void read_scratch(lua_State *L, void *to, lua_Integer i)
{
    struct kb_arg *a = (struct kb_arg *)to + i;
    lua_getfield(L, -1, "dtype");                       /* [.. t dtype] */
    if (kb_dtype_parse(luaL_checkstring(L, -1), &a->dtype))
        luaL_error(L, "launch plan: unknown dtype");
    lua_pop(L, 1);
    a->mode = KB_OUT;
    a->count = (uint64_t)field(L, "count", 1, (lua_Integer)1 << 40);
}

const struct kb_plan *kb_bind_check_plan(lua_State *L, int idx)
{
    luaL_checktype(L, idx, LUA_TTABLE);
    luaL_checkstack(L, 12, NULL);
    struct kb_plan *p = lua_newuserdatauv(L, sizeof *p, 0); /* [.. keeper] */
    memset(p, 0, sizeof *p);
    lua_pushvalue(L, idx);                              /* [.. keeper plan] */
    p->launches = each(L, "launches", KB_PLAN_LAUNCHES, read_launch, p->launch);
    p->scratches = each(L, "scratch", KB_PLAN_SCRATCHES, read_scratch,
                        p->scratch);
    lua_pop(L, 1);
    return p;
}
