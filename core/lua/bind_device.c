/* Lua face of device.h. Arguments and slots are 1-based here and nowhere below.
 *
 *   d = core.device(name)            -> device | nil, text, "ENODEV"
 *     d:describe()                   -> { compiler =, flags = }
 *     d:build { source =, entry =, args =, timeout_ns = }
 *                                    -> object | nil, log, code
 *     d:buffers(args, slots)         -> buffers, see bind_buffers.c
 *     d:load(object, buffers)        -> program | nil, why, code
 *   o:text()                         -> objdump's text | nil, text, code
 *   p:launch(iterations, timeout_ns) -> elapsed_ns | nil, why, code
 *   p:counters()                     -> { cycles = .. } | nil
 *
 * args is a list of { mode = "in"|"out"|"inout"|"scalar", dtype =, count = of
 * an array, value = of a scalar }.
 */
#include "bind_device.h"

#include <string.h>

#include "host.h"

#define DEVICE  "kernelband.device"
#define OBJECT  "kernelband.object"
#define PROGRAM "kernelband.program"

enum { LOG_BYTES = 4096, TEXT_BYTES = 4 << 20 };

static kb_device *check_device(lua_State *L, int idx)
{
    kb_device **slot = luaL_checkudata(L, idx, DEVICE);
    luaL_argcheck(L, *slot, idx, "closed device");
    return *slot;
}

/* The open object at idx, whose device is open too. */
static kb_object *check_object(lua_State *L, int idx)
{
    kb_object **slot = luaL_checkudata(L, idx, OBJECT);
    luaL_argcheck(L, *slot, idx, "closed object");
    lua_getiuservalue(L, idx, 1);                       /* [.. device] */
    check_device(L, lua_gettop(L));
    lua_pop(L, 1);
    return *slot;
}

/* The program at idx, started and its buffers open. */
static kb_program *check_program(lua_State *L, int idx)
{
    kb_program **slot = luaL_checkudata(L, idx, PROGRAM);
    luaL_argcheck(L, *slot, idx, "stopped program");
    lua_getiuservalue(L, idx, 1);                       /* [.. buffers] */
    kb_bind_check_buffers(L, lua_gettop(L));
    lua_pop(L, 1);
    return *slot;
}

void *kb_bind_slot_of(lua_State *L, const char *type, int owner)
{
    void **slot = lua_newuserdatauv(L, sizeof *slot, 1);
    *slot = NULL;
    luaL_setmetatable(L, type);
    lua_pushvalue(L, owner);
    lua_setiuservalue(L, -2, 1);
    return slot;
}

static int device_new(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1), *why = "";
    char exe[KB_HOST_PATH_BYTES];
    if (kb_host_exe(exe, sizeof exe))
        return kb_bind_fail(L, KB_ESYS);
    kb_device **slot = kb_bind_slot(L, DEVICE);         /* [name slot] */
    kb_status st = kb_device_open(name, exe, slot, &why);
    if (st && *why)
        return kb_bind_fail_text(L, st, why);
    return st ? kb_bind_fail(L, st) : 1;
}

static int device_close(lua_State *L)                   /* __gc and __close */
{
    kb_device **slot = luaL_checkudata(L, 1, DEVICE);
    kb_device_close(*slot);
    *slot = NULL;
    return 0;
}

static int device_describe(lua_State *L)
{
    kb_device *d = check_device(L, 1);
    lua_newtable(L);                                    /* [d t] */
    lua_pushstring(L, kb_device_compiler(d));
    lua_setfield(L, -2, "compiler");
    lua_pushstring(L, kb_device_flags(d));
    lua_setfield(L, -2, "flags");
    return 1;
}

static int device_build(lua_State *L)
{
    struct kb_arg args[KB_DEVICE_ARGS];
    struct kb_build b = { .arg = args };
    char log[LOG_BYTES];
    kb_device *d = check_device(L, 1);
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    lua_getfield(L, 2, "source");                       /* [d t source] */
    lua_getfield(L, 2, "entry");                        /* [.. entry] */
    lua_getfield(L, 2, "timeout_ns");                   /* [.. timeout] */
    lua_getfield(L, 2, "args");                         /* [.. args] */
    size_t n;
    b.source = luaL_checklstring(L, 3, &n);
    if (strlen(b.source) != n)
        return kb_bind_fail_text(L, KB_EBUILD, "the source holds a NUL byte");
    b.entry = luaL_checkstring(L, 4);
    b.timeout_ns = luaL_checkinteger(L, 5);
    b.args = kb_bind_check_args(L, 6, args);

    kb_object **slot = kb_bind_slot_of(L, OBJECT, 1);
    kb_status st = kb_device_build(d, &b, log, sizeof log, slot);
    if (st == KB_EBUILD)
        return kb_bind_fail_text(L, st, log);
    return st ? kb_bind_fail(L, st) : 1;
}

static int device_buffers(lua_State *L)
{
    return kb_bind_new_buffers(L, check_device(L, 1));
}

static int device_load(lua_State *L)
{
    char why[256];
    kb_device *d = check_device(L, 1);
    kb_object *o = check_object(L, 2);
    kb_buffers *b = kb_bind_check_buffers(L, 3);
    kb_program **slot = kb_bind_slot_of(L, PROGRAM, 3);
    kb_status st = kb_program_start(d, o, b, slot, why, sizeof why);
    if (st && *why)
        return kb_bind_fail_text(L, st, why);
    return st ? kb_bind_fail(L, st) : 1;
}

static int object_close(lua_State *L)
{
    kb_object **slot = luaL_checkudata(L, 1, OBJECT);
    kb_object_free(*slot);
    *slot = NULL;
    return 0;
}

static int object_text(lua_State *L)
{
    kb_object *o = check_object(L, 1);
    size_t used;
    char *text = lua_newuserdatauv(L, TEXT_BYTES, 0);   /* [o text] */
    kb_status st = kb_object_text(o, text, TEXT_BYTES, &used);
    if (st)
        return kb_bind_fail(L, st);
    lua_pushlstring(L, text, used);
    return 1;
}

static int program_stop(lua_State *L)
{
    kb_program **slot = luaL_checkudata(L, 1, PROGRAM);
    kb_program_stop(*slot);
    *slot = NULL;
    return 0;
}

static int program_launch(lua_State *L)
{
    kb_program *p = check_program(L, 1);
    lua_Integer n = luaL_checkinteger(L, 2);
    lua_Integer timeout_ns = luaL_checkinteger(L, 3);
    luaL_argcheck(L, n >= 1, 2, "at least one iteration");
    luaL_argcheck(L, timeout_ns >= 1, 3, "a positive time");
    int64_t elapsed_ns;
    kb_status st = kb_program_launch(p, (uint64_t)n, timeout_ns, &elapsed_ns);
    if (st)
        return kb_bind_fail_text(L, st, kb_program_why(p));
    lua_pushinteger(L, elapsed_ns);
    return 1;
}

static int program_counters(lua_State *L)
{
    struct kb_counters c;
    kb_program_counters(check_program(L, 1), &c);
    if (!c.present) {
        luaL_pushfail(L);
        return 1;
    }
    const struct { const char *name; uint64_t value; } all[] = {
        { "cycles", c.cycles }, { "instructions", c.instructions },
        { "cache_refs", c.cache_refs }, { "cache_misses", c.cache_misses },
    };
    lua_newtable(L);                                    /* [p t] */
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        lua_pushinteger(L, (lua_Integer)all[i].value);
        lua_setfield(L, -2, all[i].name);
    }
    return 1;
}

static const luaL_Reg device_meta[] = {
    { "__gc", device_close }, { "__close", device_close }, { NULL, NULL }
};
static const luaL_Reg device_methods[] = {
    { "close",    device_close    },
    { "describe", device_describe },
    { "build",    device_build    },
    { "buffers",  device_buffers  },
    { "load",     device_load     },
    { NULL, NULL }
};
static const luaL_Reg object_meta[] = {
    { "__gc", object_close }, { "__close", object_close }, { NULL, NULL }
};
static const luaL_Reg object_methods[] = {
    { "close", object_close }, { "text", object_text }, { NULL, NULL }
};
static const luaL_Reg program_meta[] = {
    { "__gc", program_stop }, { "__close", program_stop }, { NULL, NULL }
};
static const luaL_Reg program_methods[] = {
    { "close",    program_stop     },
    { "launch",   program_launch   },
    { "counters", program_counters },
    { NULL, NULL }
};

void kb_bind_device(lua_State *L)
{
    kb_bind_type(L, DEVICE, device_meta, device_methods);
    kb_bind_type(L, OBJECT, object_meta, object_methods);
    kb_bind_type(L, PROGRAM, program_meta, program_methods);
    kb_bind_buffers(L);
    lua_pushcfunction(L, device_new);
    lua_setfield(L, -2, "device");
}
