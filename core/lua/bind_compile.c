/* Lua face of cubin.h, nvrtc.h, sass.h and device.h's adopt.
 *
 *   core.cubin(bytes, sm)    -> { { name =, registers =, shared_bytes =,
 *                                   local_bytes =, params = } .. } | nil, why, code
 *   core.adopt(device, bytes) -> object, as of d:build | nil, why, code
 *   core.sass(object, nvdisasm) -> what that program prints of the object's
 *                               code | nil, text, code; "ENODEV" for no GPU's
 *   n = core.nvrtc()              -> compiler | nil, text, "ENODEV": for
 *                                    compiling where there is no GPU
 *     n:make(source, arch)        -> { kernel, .. } | nil, text, code
 *                                    (EBUILD: log; EDENIED: not admitted)
 */
#include "bind_arg.h"

#include <stdlib.h>

#include "cuda/compile/cubin.h"
#include "cuda/compile/nvrtc.h"
#include "cuda/compile/sass.h"
#include "device.h"
#include "system/host.h"

enum { SASS_BYTES = 4 << 20 };

static const int64_t timeout_ns = 60000000000;

KB_CLASS(cubin, kb_cubin_close);
KB_CLASS(nvrtc, kb_nvrtc_close);

static int read_cubin(lua_State *L)
{
    size_t n;
    const char *bytes = luaL_checklstring(L, 1, &n);
    lua_Integer sm = kb_bind_opt_integer(L, 2, "sm", 0, 999, 0);
    char why[KB_CUBIN_WHY] = "";
    kb_cubin **slot = kb_bind_new(L, &kb_class_cubin, 0);
    kb_status st = kb_cubin_open(bytes, n, (uint32_t)sm, slot, why, sizeof why);
    if (st)
        return kb_bind_fail_text(L, st, why);
    lua_newtable(L);                                    /* [.. slot list] */
    for (size_t i = 0; i < kb_cubin_entries(*slot); i++) {
        const struct kb_cubin_entry *e = kb_cubin_at(*slot, i);
        lua_newtable(L);                                /* [.. list t] */
        kb_bind_set_text(L, "name", e->name);
        kb_bind_set_integer(L, "registers", e->registers);
        kb_bind_set_integer(L, "shared_bytes", e->shared_bytes);
        kb_bind_set_integer(L, "local_bytes", e->local_bytes);
        kb_bind_set_integer(L, "params", e->params);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

static int adopt(lua_State *L)
{
    kb_device *device = kb_bind_self(L, 1, &kb_class_device);
    size_t n;
    const char *bytes = luaL_checklstring(L, 2, &n);
    char why[KB_CUBIN_WHY] = "";
    kb_object **slot = kb_bind_new(L, &kb_class_object, 1);
    kb_status st = kb_device_adopt(device, bytes, n, why, sizeof why, slot);
    return st ? kb_bind_fail_text(L, st, why) : 1;
}

static int sass(lua_State *L)
{
    kb_object *o = kb_bind_self(L, 1, &kb_class_object);
    const char *tool = luaL_checkstring(L, 2);
    size_t n, used = 0;
    const void *cubin = kb_object_cubin(o, &n);
    if (!cubin)
        return kb_bind_fail(L, KB_ENODEV);
    char *text = lua_newuserdatauv(L, SASS_BYTES, 0);   /* [.. text] */
    kb_status st = kb_sass_text(tool, cubin, n, text, SASS_BYTES, &used);
    if (st)
        return kb_bind_fail(L, st);
    lua_pushlstring(L, text, used);
    return 1;
}

static int nvrtc_new(lua_State *L)
{
    char exe[KB_HOST_PATH_BYTES];
    const char *why = "";
    if (kb_host_exe(exe, sizeof exe))
        return kb_bind_fail(L, KB_ESYS);
    kb_nvrtc **slot = kb_bind_new(L, &kb_class_nvrtc, 0);
    kb_status st = kb_nvrtc_open(exe, slot, &why);
    return st ? kb_bind_fail_text(L, st, st == KB_ENODEV ? why : "") : 1;
}

static int nvrtc_make(lua_State *L)
{
    char text[KB_NVRTC_LOG_BYTES];
    unsigned char *cubin;
    size_t n;
    kb_nvrtc *compiler = kb_bind_self(L, 1, &kb_class_nvrtc);
    struct kb_nvrtc_build b = { .timeout_ns = timeout_ns };
    b.source = luaL_checklstring(L, 2, &b.bytes);
    b.arch = luaL_checkstring(L, 3);
    kb_cubin **held = kb_bind_new(L, &kb_class_cubin, 0);
    kb_status st = kb_nvrtc_make(compiler, &b, text, sizeof text, &cubin, &n);
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

void kb_bind_compile(lua_State *L)
{
    static const luaL_Reg methods[] = {
        { "make", nvrtc_make }, { NULL, NULL }
    };
    static const luaL_Reg functions[] = {
        { "adopt", adopt }, { "sass", sass }, { NULL, NULL }
    };
    kb_bind_class(L, &kb_class_cubin, NULL, read_cubin);
    kb_bind_class(L, &kb_class_nvrtc, methods, nvrtc_new);
    luaL_setfuncs(L, functions, 0);
}
