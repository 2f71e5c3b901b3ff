/* bind.h - the seam between core and Lua. lua.h is included in core/lua only.
 *
 * Two kinds of failure cross it:
 *   a bug in the script (wrong type, closed object, index out of range) raises;
 *   the world failing (no device, dead worker, timeout) returns
 *   nil, text, name.
 *
 * Stack comments read bottom to top:  [a b] -> [c]
 */
#ifndef KB_BIND_H
#define KB_BIND_H

#include <stddef.h>

#include <lua.h>
#include <lauxlib.h>

#include "kb.h"

/* [] -> [core]; the table that require "kernelband.core" returns. */
int luaopen_kernelband_core(lua_State *L);

/* [core] -> [core]; each adds its constructors or functions to core. */
void kb_bind_rng(lua_State *L);
void kb_bind_ucb(lua_State *L);
void kb_bind_cluster(lua_State *L);
void kb_bind_logit(lua_State *L);
void kb_bind_markdown(lua_State *L);
void kb_bind_gp(lua_State *L);
void kb_bind_stats(lua_State *L);
void kb_bind_overtime(lua_State *L);
void kb_bind_device(lua_State *L);
void kb_bind_command(lua_State *L);
void kb_bind_events(lua_State *L);
void kb_bind_http(lua_State *L);
void kb_bind_gzip(lua_State *L);
void kb_bind_nvrtc(lua_State *L);
void kb_bind_cubin(lua_State *L);
void kb_bind_process(lua_State *L);
void kb_bind_serve(lua_State *L);
void kb_bind_source(lua_State *L);
void kb_bind_store(lua_State *L);
void kb_bind_system(lua_State *L);

/* [] -> [userdata]; one NULL pointer wearing metatable type, so that __gc is
 * safe from the first instant. Store the real object last. */
void *kb_bind_slot(lua_State *L, const char *type);

/* [] -> []; registers metatable type: meta holds metamethods (NULL for none),
 * methods becomes __index, __metatable is locked. */
void kb_bind_type(lua_State *L, const char *type, const luaL_Reg *meta,
                  const luaL_Reg *methods);

/* Pushes nil, text, name and returns 3. status < 0. The second form says more
 * than the status alone can. */
int kb_bind_fail(lua_State *L, kb_status status);
int kb_bind_fail_text(lua_State *L, kb_status status, const char *text);

#endif
