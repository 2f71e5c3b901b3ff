/* Lua face of gzip.h.
 *
 *   core.gunzip(bytes [, most = 256 MiB]) -> text
 *       | nil, why, code [, text before the fault]    "EINVAL", "EFBIG"
 */
#include <errno.h>

#include "bind_arg.h"
#include "system/gzip.h"

static const lua_Integer default_most = (lua_Integer)256 << 20;

int kb_bind_gunzip(lua_State *L)
{
    size_t n = 0, out_n = 0;
    luaL_checktype(L, 1, LUA_TSTRING);
    const char *data = lua_tolstring(L, 1, &n);
    lua_Integer most = kb_bind_opt_integer(L, 2, "most", 1, LUA_MAXINTEGER,
                                           default_most);
    char **slot = kb_bind_block(L);
    kb_status st = kb_gzip_unpack(data, n, (size_t)most, slot, &out_n);
    if (st == KB_EINVAL) {
        kb_bind_fail_text(L, st, "the gzip data is damaged or ends early");
        return 3 + kb_bind_push_block(L, slot, out_n);
    }
    if (st == KB_ESYS && errno == EFBIG) {
        luaL_pushfail(L);
        lua_pushfstring(L, "it unpacks to more than %I bytes", most);
        lua_pushliteral(L, "EFBIG");
        return 3;
    }
    return st ? kb_bind_fail(L, st) : kb_bind_push_block(L, slot, out_n);
}
