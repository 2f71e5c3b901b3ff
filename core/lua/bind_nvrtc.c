/* Lua face of nvrtc.h and cubin.h, for compiling where there is no GPU.
 *
 *   n = core.nvrtc()              -> compiler | nil, text, "ENODEV"
 *     n:make(source, arch)        -> { kernel, .. } | nil, text, code
 *                                    (EBUILD: log; EDENIED: not admitted)
 */
#include "bind.h"

#include <stdlib.h>

#include "cuda/compile/cubin.h"
#include "cuda/compile/nvrtc.h"
#include "system/host.h"

#define NVRTC "kernelband.nvrtc"

static const int64_t timeout_ns = 60000000000;

static int nvrtc_new(lua_State *L)
{
    char exe[KB_HOST_PATH_BYTES];
    const char *why = "";
    if (kb_host_exe(exe, sizeof exe))
        return kb_bind_fail(L, KB_ESYS);
    kb_nvrtc **slot = kb_bind_slot(L, NVRTC);
    kb_status st = kb_nvrtc_open(exe, slot, &why);
    if (st == KB_ENODEV)
        return kb_bind_fail_text(L, st, why);
    return st ? kb_bind_fail(L, st) : 1;
}

static int nvrtc_close(lua_State *L)                    /* __gc and __close */
{
    kb_nvrtc **slot = luaL_checkudata(L, 1, NVRTC);
    kb_nvrtc_close(*slot);
    *slot = NULL;
    return 0;
}

static int cubin_gc(lua_State *L)
{
    kb_cubin **slot = lua_touserdata(L, 1);
    kb_cubin_close(*slot);
    *slot = NULL;
    return 0;
}

static int nvrtc_make(lua_State *L)
{
    char text[KB_NVRTC_LOG_BYTES];
    unsigned char *cubin;
    size_t n;
    kb_nvrtc **slot = luaL_checkudata(L, 1, NVRTC);
    luaL_argcheck(L, *slot, 1, "closed compiler");
    struct kb_nvrtc_build b = { .timeout_ns = timeout_ns };
    b.source = luaL_checklstring(L, 2, &b.bytes);
    b.arch = luaL_checkstring(L, 3);
    kb_cubin **held = kb_bind_slot(L, NVRTC ".cubin");  /* [.. held] */
    kb_status st = kb_nvrtc_make(*slot, &b, text, sizeof text, &cubin, &n);
    if (st)
        return kb_bind_fail_text(L, st, text);
    st = kb_cubin_open(cubin, n, 0, held, text, sizeof text);
    free(cubin);
    if (st)
        return kb_bind_fail_text(L, KB_EDENIED, text);
    lua_newtable(L);                                    /* [.. held names] */
    for (size_t i = 0; i < kb_cubin_entries(*held); i++) {
        lua_pushstring(L, kb_cubin_at(*held, i)->name);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

static const luaL_Reg meta[] = {
    { "__gc", nvrtc_close }, { "__close", nvrtc_close }, { NULL, NULL }
};
static const luaL_Reg methods[] = {
    { "close", nvrtc_close }, { "make", nvrtc_make }, { NULL, NULL }
};
static const luaL_Reg cubin_meta[] = { { "__gc", cubin_gc }, { NULL, NULL } };
static const luaL_Reg none[] = { { NULL, NULL } };

void kb_bind_nvrtc(lua_State *L)
{
    kb_bind_type(L, NVRTC, meta, methods);
    kb_bind_type(L, NVRTC ".cubin", cubin_meta, none);
    lua_pushcfunction(L, nvrtc_new);
    lua_setfield(L, -2, "nvrtc");
}
