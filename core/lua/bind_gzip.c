/* Lua face of gzip.h.
 *
 *   core.gunzip(bytes [, most = 256 MiB]) -> text
 *       | nil, why, code [, text before the fault]    "EINVAL", "EFBIG"
 *   core.gzip(text [, level = 9])         -> bytes
 */
#include <errno.h>
#include <stdlib.h>

#include "bind_arg.h"
#include "system/gzip.h"

#define PACKED "kernelband.gzip"

static const lua_Integer default_most = (lua_Integer)256 << 20;

static int block_free(lua_State *L)
{
    char **slot = luaL_checkudata(L, 1, PACKED);
    free(*slot);
    *slot = NULL;
    return 0;
}

static void push_block(lua_State *L, char **slot, size_t n)
{
    lua_pushlstring(L, *slot ? *slot : "", n);
    free(*slot);
    *slot = NULL;
}

static int gunzip(lua_State *L)
{
    size_t n = 0, out_n = 0;
    luaL_checktype(L, 1, LUA_TSTRING);
    const char *data = lua_tolstring(L, 1, &n);
    lua_Integer most = luaL_optinteger(L, 2, default_most);
    luaL_argcheck(L, most >= 1, 2, "must be >= 1");
    char **slot = kb_bind_slot(L, PACKED);
    kb_status st = kb_gzip_unpack(data, n, (size_t)most, slot, &out_n);
    if (st == KB_EINVAL) {
        kb_bind_fail_text(L, st, "the gzip data is damaged or ends early");
        push_block(L, slot, out_n);
        return 4;
    } else if (st == KB_ESYS && errno == EFBIG) {
        luaL_pushfail(L);
        lua_pushfstring(L, "it unpacks to more than %I bytes",
                        (LUAI_UACINT)most);
        lua_pushliteral(L, "EFBIG");
        return 3;
    } else if (st) {
        return kb_bind_fail(L, st);
    }
    push_block(L, slot, out_n);
    return 1;
}

static int gzip(lua_State *L)
{
    size_t n = 0, out_n = 0;
    const char *data = luaL_checklstring(L, 1, &n);
    int level = (int)(lua_isnoneornil(L, 2) ? 9
                      : kb_bind_integer(L, 2, "level", 1, 9));
    char **slot = kb_bind_slot(L, PACKED);
    kb_status st = kb_gzip_pack(data, n, level, slot, &out_n);
    if (st)
        return kb_bind_fail(L, st);
    push_block(L, slot, out_n);
    return 1;
}

void kb_bind_gzip(lua_State *L)
{
    static const luaL_Reg meta[] = {
        { "__gc",    block_free },
        { "__close", block_free },
        { NULL, NULL }
    };
    static const luaL_Reg methods[] = { { NULL, NULL } };
    kb_bind_type(L, PACKED, meta, methods);
    lua_pushcfunction(L, gunzip);
    lua_setfield(L, -2, "gunzip");
    lua_pushcfunction(L, gzip);
    lua_setfield(L, -2, "gzip");
}
