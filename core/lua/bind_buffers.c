/* Lua face of the buffers of device.h and of what tensor.h does to them.
 *
 *   b:fill(arg, distribution, seed [, below [, slot]])  whole numbers < below
 *   b:get(arg, i [, slot])
 *   b:use(slots [, first])  see kb_buffers_use; first: 0
 *   b:stir(slot, pool, of, turned, seed)    see kb_buffers_stir
 *   b:denormals(arg, dtype) -> how many elements | nil where nobody can see
 *   b:mutate(arg, kind, from, rows, cols, seed)   see kb_buffers_mutate
 *                         -> how many elements are other than they were
 *   b:take(from [, slot]) copy the inputs of other buffers of the same shape
 *   b:absolute(arg)       an input becomes its absolute value
 *   b:nudge(arg, dtype, most, seed)     an input moves by 1 to most roundings
 *   b:spread(arg, want, near, bound, dtype, times [, base])     see kb_buffers_spread; dtype: of
 *                         what is compared
 *   b:poison(seed)        see kb_buffers_poison
 *   b:damaged()           -> arg, slot whose red zone was written to | nil
 *   b:digest([slot])      -> integer; equal outputs have equal ones
 *   b:compare(arg, slot, reference, scale|nil, bound)
 *                         -> table with the fields of struct kb_compare
 *     bound: that of kb_tensor_bound for `reduction`, with `exact`;
 *     `accumulate`, a dtype for u_acc; `tolerance`, instead of tiny;
 *     `underflow`, how many smallest normal numbers tiny is to count as (of
 *     f32; of f64 for f64)
 *   core.bound(dtype, bound) -> { u_out =, u_acc =, tiny =, exact = }
 *     what b:compare takes for an array of that dtype; u_out is 0 for integers
 */
#include "bind_arg.h"
#include "bind_device.h"

#include <float.h>
#include <math.h>
#include <string.h>

static kb_buffers *buffers_at(lua_State *L, int idx)
{
    return kb_bind_self(L, idx, &kb_class_buffers);
}

KB_SELF(self, kb_buffers, buffers)

static enum kb_dtype to_dtype(lua_State *L, const char *name)
{
    enum kb_dtype dtype = KB_F32;
    if (kb_dtype_parse(name, &dtype))
        luaL_error(L, "unknown dtype '%s'", name);
    return dtype;
}

static enum kb_dtype check_dtype(lua_State *L, int idx)
{
    return to_dtype(L, luaL_checkstring(L, idx));
}

static void check_one_arg(lua_State *L, int idx, struct kb_arg *a)
{
    static const char *const modes[] = {
        "scalar", "in", "out", "inout", NULL
    };
    luaL_checktype(L, idx, LUA_TTABLE);
    lua_getfield(L, idx, "mode");                       /* [.. mode] */
    a->mode = (enum kb_mode)luaL_checkoption(L, -1, NULL, modes);
    lua_getfield(L, idx, "dtype");                      /* [.. dtype] */
    a->dtype = check_dtype(L, -1);
    if (lua_getfield(L, idx, "count") != LUA_TNIL) {    /* [.. count] */
        lua_Integer n = luaL_checkinteger(L, -1);
        luaL_argcheck(L, n >= 1, idx, "count must be at least 1");
        a->count = (uint64_t)n;
    }
    if (lua_getfield(L, idx, "value") != LUA_TNIL) {    /* [.. value] */
        a->real = luaL_checknumber(L, -1);
        if (!kb_dtype_is_float(a->dtype))
            a->integer = luaL_checkinteger(L, -1);
    }
    lua_getfield(L, idx, "front");                      /* [.. front] */
    a->front = lua_toboolean(L, -1);
    lua_pop(L, 5);
}

size_t kb_bind_check_args(lua_State *L, int idx, struct kb_arg *arg)
{
    size_t n = kb_bind_length(L, idx, KB_DEVICE_ARGS);
    luaL_argcheck(L, n >= 1, idx, "bad argument count");
    memset(arg, 0, sizeof *arg * n);
    for (size_t i = 0; i < n; i++) {
        lua_geti(L, idx, (lua_Integer)i + 1);           /* [.. one] */
        check_one_arg(L, lua_gettop(L), &arg[i]);
        lua_pop(L, 1);
    }
    return n;
}

int kb_bind_new_buffers(lua_State *L)
{
    struct kb_arg arg[KB_DEVICE_ARGS];
    kb_device *d = kb_bind_self(L, 1, &kb_class_device);
    size_t args = kb_bind_check_args(L, 2, arg);
    lua_Integer slots = kb_bind_integer(L, 3, "slots", 1, KB_DEVICE_SLOTS);
    kb_buffers **slot = kb_bind_new(L, &kb_class_buffers, 1);
    kb_status st = kb_buffers_new(d, arg, args, (size_t)slots, slot);
    return st ? kb_bind_fail(L, st) : 1;
}

/* The 1-based array argument at idx, as an index from 0. */
static size_t check_array(lua_State *L, int idx, const kb_buffers *b)
{
    size_t i = (size_t)kb_bind_integer(L, idx, "argument", 1,
                                       (lua_Integer)b->args) - 1;
    luaL_argcheck(L, b->arg[i].mode != KB_SCALAR, idx,
                  "this argument is a scalar");
    return i;
}

static size_t check_slot(lua_State *L, int idx, const kb_buffers *b)
{
    return (size_t)kb_bind_opt_integer(L, idx, "slot", 1,
                                       (lua_Integer)b->slots, 1) - 1;
}

static size_t check_place(lua_State *L, int idx, const struct kb_arg *a)
{
    return (size_t)kb_bind_integer(L, idx, "element", 1,
                                   (lua_Integer)a->count) - 1;
}

static lua_Integer check_least(lua_State *L, int idx, lua_Integer least)
{
    return kb_bind_integer(L, idx, "value", least, LUA_MAXINTEGER);
}

/* A device that is lost cannot go on, whatever the script does. */
static int must(lua_State *L, kb_status st)
{
    if (st == KB_ENOMEM)
        return luaL_error(L, "out of memory");
    return st ? luaL_error(L, "the device is lost") : 0;
}

static uint64_t check_seed(lua_State *L, int idx)
{
    return (uint64_t)luaL_checkinteger(L, idx);
}

static int buffers_fill(lua_State *L)
{
    kb_buffers *b = self(L);
    size_t i = check_array(L, 2, b);
    enum kb_fill fill;
    if (kb_fill_parse(luaL_checkstring(L, 3), &fill))
        return luaL_argerror(L, 3, "unknown distribution");
    uint64_t seed = check_seed(L, 4);
    lua_Integer below = lua_isnoneornil(L, 5) ? 0 : check_least(L, 5, 0);
    size_t slot = check_slot(L, 6, b);
    return must(L, b->ops->fill(b, i, slot, fill, (uint64_t)below, seed));
}

static int buffers_get(lua_State *L)
{
    kb_buffers *b = self(L);
    size_t i = check_array(L, 2, b);
    size_t at = check_place(L, 3, &b->arg[i]);
    size_t slot = check_slot(L, 4, b);
    double value = 0;
    must(L, b->ops->get(b, i, slot, at, &value));
    return kb_bind_push_number(L, value);
}

static int buffers_use(lua_State *L)
{
    kb_buffers_use(self(L), (size_t)check_least(L, 2, 1),
                   lua_isnoneornil(L, 3) ? 0 : (size_t)check_least(L, 3, 0));
    return 0;
}

static int buffers_stir(lua_State *L)
{
    kb_buffers *b = self(L);
    size_t slot = check_slot(L, 2, b);
    kb_buffers *pool = buffers_at(L, 3);
    size_t of = check_slot(L, 4, pool);
    bool turned = lua_toboolean(L, 5);
    kb_status st = kb_buffers_stir(b, slot, pool, of, turned, check_seed(L, 6));
    luaL_argcheck(L, st != KB_EINVAL, 3,
                  "buffers of another device, mode or type");
    return must(L, st);
}

static int buffers_denormals(lua_State *L)
{
    kb_buffers *b = self(L);
    size_t i = check_array(L, 2, b), found = 0;
    if (kb_buffers_denormals(b, i, check_dtype(L, 3), &found)) {
        luaL_pushfail(L);
        return 1;
    }
    return kb_bind_push_integer(L, (lua_Integer)found);
}

static int buffers_mutate(lua_State *L)
{
    kb_buffers *b = self(L);
    size_t i = check_array(L, 2, b), from = check_array(L, 4, b), other = 0;
    enum kb_mutant kind;
    if (kb_mutant_parse(luaL_checkstring(L, 3), &kind))
        return luaL_argerror(L, 3, "no such mutant");
    lua_Integer rows = luaL_checkinteger(L, 5);
    lua_Integer cols = luaL_checkinteger(L, 6);
    uint64_t n = b->arg[i].count;
    luaL_argcheck(L, rows >= 1 && cols >= 1 && (uint64_t)rows <= n
                  && (uint64_t)cols <= n / (uint64_t)rows
                  && n % ((uint64_t)rows * (uint64_t)cols) == 0, 5,
                  "dimensions that are not the array's");
    must(L, kb_buffers_mutate(b, i, kind, from, (size_t)rows, (size_t)cols,
                              check_seed(L, 7), &other));
    return kb_bind_push_integer(L, (lua_Integer)other);
}

static int buffers_take(lua_State *L)
{
    kb_buffers *b = self(L);
    kb_buffers *from = buffers_at(L, 2);
    kb_status st = kb_buffers_take(b, from, check_slot(L, 3, from));
    luaL_argcheck(L, st != KB_EINVAL, 2,
                  "buffers of another device, shape or type");
    return must(L, st);
}

static int buffers_absolute(lua_State *L)
{
    kb_buffers *b = self(L);
    return must(L, b->ops->absolute(b, check_array(L, 2, b)));
}

static int buffers_nudge(lua_State *L)
{
    kb_buffers *b = self(L);
    size_t i = check_array(L, 2, b);
    luaL_argcheck(L, b->arg[i].mode != KB_OUT, 2, "an output alone");
    lua_Integer most = luaL_checkinteger(L, 4);
    luaL_argcheck(L, most > 0, 4, "no rounding");
    return must(L, kb_buffers_nudge(b, i, check_dtype(L, 3), (uint64_t)most,
                                    check_seed(L, 5)));
}

static int buffers_poison(lua_State *L)
{
    kb_buffers *b = self(L);
    return must(L, kb_buffers_poison(b, check_seed(L, 2)));
}

static int buffers_damaged(lua_State *L)
{
    kb_buffers *b = self(L);
    size_t slot = 0;
    int arg = -1;
    must(L, b->ops->damaged(b, &arg, &slot));
    if (arg < 0) {
        luaL_pushfail(L);
        return 1;
    }
    lua_pushinteger(L, arg + 1);
    lua_pushinteger(L, (lua_Integer)slot + 1);
    return 2;
}

static int buffers_digest(lua_State *L)
{
    kb_buffers *b = self(L);
    uint64_t digest = 0;
    must(L, b->ops->digest(b, check_slot(L, 2, b), &digest));
    return kb_bind_push_integer(L, (lua_Integer)digest);
}

static struct kb_bound read_bound(lua_State *L, int idx, enum kb_dtype dtype)
{
    double terms = 1, tolerance = NAN, underflow = 1;
    const char *sum = NULL;
    bool exact = false;
    luaL_checktype(L, idx, LUA_TTABLE);
    kb_bind_options(L, idx, (const struct kb_option[]) {
        { .name = "reduction", .number = &terms },
        { .name = "exact", .flag = &exact },
        { .name = "accumulate", .text = &sum },
        { .name = "tolerance", .number = &tolerance },
        { .name = "underflow", .number = &underflow }, { 0 }
    });
    struct kb_bound b = kb_tensor_bound(dtype, terms);
    b.exact = (b.exact || exact) && isnan(tolerance);
    b.tiny = isnan(tolerance) ? b.tiny : tolerance;     /* a task's own slack */
    b.tiny += (underflow - 1) * (dtype == KB_F64 ? DBL_MIN : FLT_MIN);
    if (sum)
        b.u_acc = kb_dtype_roundoff(to_dtype(L, sum));
    return b;
}

KB_PUSHER(push_bound, struct kb_bound, F(u_out), F(u_acc), F(tiny), F(exact))

int kb_bind_bound(lua_State *L)
{
    struct kb_bound b = read_bound(L, 2, check_dtype(L, 1));
    return push_bound(L, &b);
}

KB_PUSHER(push_numbers, struct kb_compare, F(n), F(bad), F(nan_mismatch),
          F(poison_left), F(got), F(want), F(limit), F(max_excess), F(err_ss),
          F(ref_ss))

static int buffers_spread(lua_State *L)
{
    kb_buffers *b = self(L);
    size_t i = check_array(L, 2, b);
    kb_buffers *want = buffers_at(L, 3);
    kb_buffers *near = buffers_at(L, 4);
    kb_buffers *base = lua_isnoneornil(L, 8) ? NULL : buffers_at(L, 8);
    struct kb_bound bound = read_bound(L, 5, check_dtype(L, 6));
    kb_status st = kb_buffers_spread(b, i, want, near, &bound,
                                     luaL_checknumber(L, 7), base);
    if (st == KB_EINVAL)
        return luaL_argerror(L, 3, "another shape");
    return must(L, st);
}

static int buffers_compare(lua_State *L)
{
    kb_buffers *b = self(L);
    size_t i = check_array(L, 2, b), slot = check_slot(L, 3, b);
    kb_buffers *want = buffers_at(L, 4);
    kb_buffers *scale = lua_isnoneornil(L, 5)
                      ? NULL : buffers_at(L, 5);
    lua_settop(L, 6);
    struct kb_bound bound = read_bound(L, 6, b->arg[i].dtype);
    struct kb_compare r;
    kb_status st = kb_buffers_compare(b, i, slot, want, scale, &bound, &r);
    if (st == KB_EINVAL)
        return luaL_argerror(L, 6, "another device or shape, or a bound that "
                             "is not finite and >= 0");
    must(L, st);
    push_numbers(L, &r);                                /* [.. t] */
    if (r.first_bad != SIZE_MAX)                        /* from 0, as in C */
        KB_SET(L, "first_bad", lua_pushinteger, (lua_Integer)r.first_bad);
    return 1;
}

KB_CLASS(buffers, kb_buffers_free, NULL, NULL,
    { "fill", buffers_fill }, { "get", buffers_get }, { "use", buffers_use },
    { "stir", buffers_stir }, { "denormals", buffers_denormals },
    { "mutate", buffers_mutate }, { "take", buffers_take },
    { "absolute", buffers_absolute }, { "nudge", buffers_nudge },
    { "spread", buffers_spread }, { "poison", buffers_poison },
    { "damaged", buffers_damaged }, { "digest", buffers_digest },
    { "compare", buffers_compare });
