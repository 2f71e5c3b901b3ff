/* Lua face of serve.h.
 *
 *   local s, why, code = core.serve(port, token)      -- port 0: any
 *   s:publish(path, type, text [, policy])
 *   s:turn(timeout_ns) -> true | nil, text, "EINTR" | "ESYS"
 *   s:port()   s:close()
 *
 * A bad token, path or port raises.
 */
#include "bind_arg.h"
#include "net/serve.h"

KB_SELF(self, kb_serve, serve)

static int serve_new(lua_State *L)
{
    lua_Integer port = kb_bind_integer(L, 1, "port", 0, 65535);
    const char *token = luaL_checkstring(L, 2), *why;
    kb_serve **slot = kb_bind_new(L, &kb_class_serve, 0);
    kb_status st = kb_serve_open((uint16_t)port, token, slot, &why);
    if (st == KB_EINVAL)
        return luaL_argerror(L, 2, "expected 16 to 128 letters and digits");
    return st ? kb_bind_fail_text(L, st, why) : 1;
}

static int serve_publish(lua_State *L)
{
    kb_serve *s = self(L);
    size_t n;
    const char *path = luaL_checkstring(L, 2), *type = luaL_checkstring(L, 3);
    const char *text = luaL_checklstring(L, 4, &n);
    const char *policy = luaL_optstring(L, 5, NULL);
    kb_status st = kb_serve_publish(s, path, type, policy, text, n);
    if (st == KB_EINVAL)
        return luaL_argerror(L, 2, "not a path that can be published");
    return kb_bind_done(L, st);
}

static int serve_turn(lua_State *L)
{
    kb_serve *s = self(L);
    lua_Integer ns = kb_bind_integer(L, 2, "timeout_ns", 0,
                                     (lua_Integer)3600 * 1000000000);
    return kb_bind_done(L, kb_serve_turn(s, ns));
}

KB_GETTER(serve_port, lua_pushinteger, kb_serve_port(self(L)))

KB_CLASS(serve, kb_serve_close, serve_new, NULL,
    { "publish", serve_publish }, { "turn", serve_turn },
    { "port", serve_port });
