/* Lua face of cubin.h and cuda/adopt.h.
 *
 *   core.cubin(bytes, sm)    -> { { name =, registers =, shared_bytes =,
 *                                   local_bytes =, params = } .. } | nil, why, code
 *   core.adopt(device, bytes) -> object, as of d:build | nil, why, code
 *   core.sass(object, nvdisasm) -> what that program prints of the object's
 *                               code | nil, text, code; "ENODEV" for no GPU's
 */
#include "bind_device.h"

#include "cuda/adopt.h"
#include "cuda/compile/cubin.h"
#include "cuda/compile/sass.h"

enum { SASS_BYTES = 4 << 20 };

static void set(lua_State *L, const char *key, uint32_t value)
{
    lua_pushinteger(L, value);
    lua_setfield(L, -2, key);
}

static void push_entry(lua_State *L, const struct kb_cubin_entry *e)
{
    lua_newtable(L);                                    /* [.. t] */
    lua_pushstring(L, e->name);
    lua_setfield(L, -2, "name");
    set(L, "registers", e->registers);
    set(L, "shared_bytes", e->shared_bytes);
    set(L, "local_bytes", e->local_bytes);
    set(L, "params", e->params);
}

static int cubin_close(lua_State *L)                    /* __gc */
{
    kb_cubin **slot = lua_touserdata(L, 1);
    kb_cubin_close(*slot);
    *slot = NULL;
    return 0;
}

static int read_cubin(lua_State *L)
{
    size_t n;
    const char *bytes = luaL_checklstring(L, 1, &n);
    lua_Integer sm = luaL_optinteger(L, 2, 0);
    luaL_argcheck(L, sm >= 0 && sm < 1000, 2, "expected 90 or the like");
    char why[KB_CUBIN_WHY] = "";
    kb_cubin **slot = kb_bind_slot(L, "kernelband.cubin");  /* [.. slot] */
    kb_status st = kb_cubin_open(bytes, n, (uint32_t)sm, slot, why, sizeof why);
    if (st)
        return *why ? kb_bind_fail_text(L, st, why) : kb_bind_fail(L, st);
    lua_newtable(L);                                    /* [.. slot list] */
    for (size_t i = 0; i < kb_cubin_entries(*slot); i++) {
        push_entry(L, kb_cubin_at(*slot, i));
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

static int adopt(lua_State *L)
{
    kb_device **device = luaL_checkudata(L, 1, "kernelband.device");
    luaL_argcheck(L, *device, 1, "closed device");
    size_t n;
    const char *bytes = luaL_checklstring(L, 2, &n);
    char why[KB_CUBIN_WHY] = "";
    kb_object **slot = kb_bind_slot_of(L, "kernelband.object", 1);
    kb_status st = kb_device_adopt(*device, bytes, n, why, sizeof why, slot);
    if (st)
        return *why ? kb_bind_fail_text(L, st, why) : kb_bind_fail(L, st);
    return 1;
}

static int sass(lua_State *L)
{
    kb_object **o = luaL_checkudata(L, 1, "kernelband.object");
    luaL_argcheck(L, *o, 1, "closed object");
    const char *tool = luaL_checkstring(L, 2);
    size_t n, used = 0;
    const void *cubin = kb_object_cubin(*o, &n);
    if (!cubin)
        return kb_bind_fail(L, KB_ENODEV);
    char *text = lua_newuserdatauv(L, SASS_BYTES, 0);   /* [.. text] */
    kb_status st = kb_sass_text(tool, cubin, n, text, SASS_BYTES, &used);
    if (st)
        return kb_bind_fail(L, st);
    lua_pushlstring(L, text, used);
    return 1;
}

void kb_bind_cubin(lua_State *L)                        /* [core] -> [core] */
{
    static const luaL_Reg meta[] = { { "__gc", cubin_close }, { NULL, NULL } };
    static const luaL_Reg none[] = { { NULL, NULL } };
    static const luaL_Reg functions[] = {
        { "cubin", read_cubin }, { "adopt", adopt }, { "sass", sass },
        { NULL, NULL }
    };
    kb_bind_type(L, "kernelband.cubin", meta, none);
    luaL_setfuncs(L, functions, 0);
}
