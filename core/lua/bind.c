#include "bind.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

void *kb_bind_slot(lua_State *L, const char *type)
{
    void **slot = lua_newuserdatauv(L, sizeof *slot, 0);
    *slot = NULL;
    luaL_setmetatable(L, type);
    return slot;
}

void kb_bind_type(lua_State *L, const char *type, const luaL_Reg *meta,
                  const luaL_Reg *methods)
{
    luaL_newmetatable(L, type);                         /* [mt] */
    if (meta)
        luaL_setfuncs(L, meta, 0);
    lua_newtable(L);                                    /* [mt methods] */
    luaL_setfuncs(L, methods, 0);
    lua_setfield(L, -2, "__index");                     /* [mt] */
    lua_pushliteral(L, "locked");
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 1);
}

int kb_bind_fail_text(lua_State *L, kb_status status, const char *text)
{
    assert(status < 0);
    luaL_pushfail(L);
    lua_pushstring(L, text);
    lua_pushstring(L, kb_status_name(status));
    return 3;
}

int kb_bind_fail(lua_State *L, kb_status status)
{
    int saved = errno;
    const char *text = kb_status_text(status);
    if (status == KB_ESYS && saved)
        text = strerror(saved);
    return kb_bind_fail_text(L, status, text);
}

int luaopen_kernelband_core(lua_State *L)
{
    static void (*const nouns[])(lua_State *) = {
        kb_bind_rng,      kb_bind_ucb,     kb_bind_cluster, kb_bind_logit, kb_bind_gp,
        kb_bind_overtime,
        kb_bind_stats,    kb_bind_device,  kb_bind_process,
        kb_bind_store,    kb_bind_system,  kb_bind_nvrtc,
        kb_bind_http,     kb_bind_command, kb_bind_gzip,
        kb_bind_markdown, kb_bind_serve,   kb_bind_source,  kb_bind_cubin,
        kb_bind_events,
    };
    lua_newtable(L);                                    /* [core] */
    for (size_t i = 0; i < sizeof nouns / sizeof *nouns; i++)
        nouns[i](L);
    return 1;
}
