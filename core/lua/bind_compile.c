/* Lua face of cubin.h and nvrtc.h.
 *
 *   core.cubin(bytes, sm)    -> { { name =, registers =, shared_bytes =,
 *                                   local_bytes =, params = } .. } | nil, why, code
 *   n = core.nvrtc()              -> compiler | nil, text, "ENODEV": for
 *                                    compiling where there is no GPU
 *     n:make(source, arch)        -> the cubin's bytes | nil, text, code
 *                                    (EBUILD: log; EDENIED: its PTX)
 */
#include "bind_arg.h"

#include "cuda/compile/cubin.h"
#include "cuda/compile/nvrtc.h"
#include "system/host.h"

static const int64_t timeout_ns = 60000000000;

KB_PUSHER(push_entry, struct kb_cubin_entry, F(name), F(registers),
          F(shared_bytes), F(local_bytes), F(params))

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
    for (size_t i = 0; i < (*slot)->entries; i++) {
        push_entry(L, &(*slot)->entry[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
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
    char log[KB_NVRTC_LOG_BYTES];
    size_t n;
    kb_nvrtc *compiler = kb_bind_self(L, 1, &kb_class_nvrtc);
    struct kb_nvrtc_build b = { .timeout_ns = timeout_ns };
    b.source = luaL_checklstring(L, 2, &b.bytes);
    b.arch = luaL_checkstring(L, 3);
    char **slot = kb_bind_block(L);
    kb_status st = kb_nvrtc_make(compiler, &b, log, sizeof log, slot, &n);
    return st ? kb_bind_fail_text(L, st, log) : kb_bind_push_block(L, slot, n);
}

KB_CLASS(cubin, kb_cubin_close, read_cubin, NULL, KB_NO_METHODS);
KB_CLASS(nvrtc, kb_nvrtc_close, nvrtc_new, NULL, { "make", nvrtc_make });
