/* Lua face of device.h. Arguments and slots are 1-based here and nowhere below.
 *
 *   d = core.device(name)            -> device | nil, text, "ENODEV"
 *   core.language(name)              -> "c" | "cuda" | nil for no device's name
 *   core.gpus()                      -> how many GPUs there are
 *     d:describe()                   -> table, see struct kb_device_info
 *     d:roofline()                   -> table, see roofline.h
 *     d:lost()                       -> why it can do no more | nil
 *     d:state()                      -> { sm_mhz = .. } | nil, text, "ENODEV"
 *     d:claim(on)                    -> true; waits until other engines let go
 *     d:build { source =, entry =, args =, timeout_ns =, sanitized = }
 *                                    -> object | nil, log, code
 *     d:buffers(args, slots)         -> buffers, see bind_buffers.c
 *     d:load(object, buffers [, plan])   -> program | nil, why, code
 *   o:text()                         -> objdump's text | nil, text, code
 *   o:remarks()                      -> the compiler's own on vectorisation | nil
 *   o:facts(kernel)                  -> { registers = .. } | nil, text, code
 *   p:launch(iterations, timeout_ns) -> elapsed_ns | nil, why, code
 *   p:run(timeout_ns)                -> true | nil, why, code: once, not timed
 *   p:profile([set])                 -> { metric = value } | nil, why, code
 *   p:occupancy(launch)              -> share | nil, text, code
 *
 * args is a list of { mode = "in"|"out"|"inout"|"scalar", dtype =, count = of
 * an array, value = of a scalar }.
 */
#include "bind_device.h"

#include <string.h>

#include "system/host.h"

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

static int device_language(lua_State *L)
{
    lua_pushstring(L, kb_device_language(luaL_checkstring(L, 1)));
    return 1;
}

static int device_gpus(lua_State *L)
{
    lua_pushinteger(L, kb_device_gpus());
    return 1;
}

static int device_close(lua_State *L)                   /* __gc and __close */
{
    kb_device **slot = luaL_checkudata(L, 1, DEVICE);
    kb_device_close(*slot);
    *slot = NULL;
    return 0;
}

static void set_integer(lua_State *L, const char *key, uint64_t value)
{
    lua_pushinteger(L, (lua_Integer)value);
    lua_setfield(L, -2, key);
}

static void set_text(lua_State *L, const char *key, const char *value)
{
    lua_pushstring(L, value);
    lua_setfield(L, -2, key);
}

static int device_describe(lua_State *L)
{
    const struct kb_device_info *i = kb_device_about(check_device(L, 1));
    lua_newtable(L);                                    /* [d t] */
    lua_pushboolean(L, i->fresh_outputs);
    lua_setfield(L, -2, "fresh_outputs");
    set_text(L, "name", i->name);
    set_text(L, "language", i->language);
    set_text(L, "compiler", i->compiler);
    set_text(L, "flags", i->flags);
    set_text(L, "driver", i->driver);
    set_text(L, "target", i->target);
    set_integer(L, "sm_count", (uint64_t)i->sm_count);
    set_integer(L, "sm_threads", (uint64_t)i->sm_threads);
    set_integer(L, "sm_registers", (uint64_t)i->sm_registers);
    set_integer(L, "sm_blocks", (uint64_t)i->sm_blocks);
    set_integer(L, "sm_shared_bytes", i->sm_shared_bytes);
    set_integer(L, "block_shared_bytes", i->block_shared_bytes);
    set_integer(L, "l2_bytes", i->l2_bytes);
    set_integer(L, "memory_bytes", i->memory_bytes);
    set_integer(L, "arch", (uint64_t)i->arch);
    return 1;
}

static int device_claim(lua_State *L)
{
    kb_status st = kb_device_claim(check_device(L, 1), lua_toboolean(L, 2));
    if (st)
        return kb_bind_fail(L, st);
    lua_pushboolean(L, 1);
    return 1;
}

static int device_state(lua_State *L)
{
    struct kb_device_state s;
    kb_status st = kb_device_read_state(check_device(L, 1), &s);
    if (st)
        return kb_bind_fail(L, st);
    lua_newtable(L);                                    /* [d t] */
    set_integer(L, "sm_mhz", s.sm_mhz);
    set_integer(L, "memory_mhz", s.memory_mhz);
    set_integer(L, "temperature_c", s.temperature_c);
    set_integer(L, "held_back", s.held_back);
    return 1;
}

static int device_lost(lua_State *L)
{
    lua_pushstring(L, kb_device_lost(check_device(L, 1)));
    return 1;
}

static int device_roofline(lua_State *L)
{
    struct kb_roofline r;
    kb_status st = kb_device_roofline(check_device(L, 1), &r);
    return st ? kb_bind_fail(L, st) : kb_bind_push_roofline(L, &r);
}

static int device_build(lua_State *L)
{
    struct kb_arg args[KB_DEVICE_ARGS];
    struct kb_build b = { .arg = args };
    char log[LOG_BYTES] = "";
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
    lua_getfield(L, 2, "sanitized");                    /* [.. sanitized] */
    b.sanitized = lua_toboolean(L, -1);

    kb_object **slot = kb_bind_slot_of(L, OBJECT, 1);
    kb_status st = kb_device_build(d, &b, log, sizeof log, slot);
    if (log[0] && (st == KB_EBUILD || st == KB_EDENIED))
        return kb_bind_fail_text(L, st, log);
    return st ? kb_bind_fail(L, st) : 1;
}

static int device_buffers(lua_State *L)
{
    return kb_bind_new_buffers(L, check_device(L, 1));
}

static int device_load(lua_State *L)
{
    char why[KB_DEVICE_WHY];
    kb_device *d = check_device(L, 1);
    kb_object *o = check_object(L, 2);
    kb_buffers *b = kb_bind_check_buffers(L, 3);
    lua_settop(L, 4);
    struct kb_plan plan, *given = NULL;
    if (!lua_isnil(L, 4)) {
        kb_bind_check_plan(L, 4, &plan);                /* [.. keeper] */
        given = &plan;
    }
    kb_program **slot = kb_bind_slot_of(L, PROGRAM, 3);
    kb_status st = kb_program_start(d, o, b, given, slot, why, sizeof why);
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

static int object_remarks(lua_State *L)
{
    lua_pushstring(L, kb_object_remarks(check_object(L, 1)));
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

static int program_run(lua_State *L)
{
    kb_program *p = check_program(L, 1);
    lua_Integer timeout_ns = luaL_checkinteger(L, 2);
    luaL_argcheck(L, timeout_ns >= 1, 2, "a positive time");
    kb_status st = kb_program_launch(p, 1, timeout_ns, NULL);
    if (st)
        return kb_bind_fail_text(L, st, kb_program_why(p));
    lua_pushboolean(L, 1);
    return 1;
}

static int object_facts(lua_State *L)
{
    struct kb_facts f;
    kb_status st = kb_object_facts(check_object(L, 1), luaL_checkstring(L, 2),
                                   &f);
    if (st)
        return kb_bind_fail(L, st);
    lua_newtable(L);                                    /* [o entry t] */
    set_integer(L, "registers", f.registers);
    set_integer(L, "shared_bytes", f.shared_bytes);
    set_integer(L, "local_bytes", f.local_bytes);
    set_integer(L, "max_threads", f.max_threads);
    return 1;
}

static int program_profile(lua_State *L)
{
    struct kb_metric metric[KB_DEVICE_METRICS];
    char why[KB_DEVICE_WHY];
    size_t n = 0;
    kb_program *p = check_program(L, 1);
    const char *set = luaL_optstring(L, 2, "search");
    kb_status st = kb_program_profile(p, set, metric, &n, why, sizeof why);
    if (st && *why)
        return kb_bind_fail_text(L, st, why);
    if (st)
        return kb_bind_fail(L, st);
    lua_newtable(L);                                    /* [p set t] */
    for (size_t i = 0; i < n; i++) {
        if (!metric[i].present)
            continue;
        lua_pushnumber(L, metric[i].value);
        lua_setfield(L, -2, metric[i].name);
    }
    return 1;
}

static int program_occupancy(lua_State *L)
{
    kb_program *p = check_program(L, 1);
    lua_Integer i = luaL_checkinteger(L, 2);
    luaL_argcheck(L, i >= 1, 2, "launches count from 1");
    double share;
    kb_status st = kb_program_occupancy(p, (size_t)i - 1, &share);
    if (st)
        return kb_bind_fail(L, st);
    lua_pushnumber(L, share);
    return 1;
}

static const luaL_Reg device_meta[] = {
    { "__gc", device_close }, { "__close", device_close }, { NULL, NULL }
};
static const luaL_Reg device_methods[] = {
    { "close",    device_close    },
    { "describe", device_describe },
    { "roofline", device_roofline },
    { "lost",     device_lost     },
    { "claim",    device_claim    },
    { "state",    device_state    },
    { "build",    device_build    },
    { "buffers",  device_buffers  },
    { "load",     device_load     },
    { NULL, NULL }
};
static const luaL_Reg object_meta[] = {
    { "__gc", object_close }, { "__close", object_close }, { NULL, NULL }
};
static const luaL_Reg object_methods[] = {
    { "close", object_close }, { "text", object_text },
    { "remarks", object_remarks },
    { "facts", object_facts }, { NULL, NULL }
};
static const luaL_Reg program_meta[] = {
    { "__gc", program_stop }, { "__close", program_stop }, { NULL, NULL }
};
static const luaL_Reg program_methods[] = {
    { "close",     program_stop      },
    { "launch",    program_launch    },
    { "run",       program_run       },
    { "profile",   program_profile   },
    { "occupancy", program_occupancy },
    { NULL, NULL }
};

void kb_bind_device(lua_State *L)
{
    kb_bind_type(L, DEVICE, device_meta, device_methods);
    kb_bind_type(L, OBJECT, object_meta, object_methods);
    kb_bind_type(L, PROGRAM, program_meta, program_methods);
    kb_bind_buffers(L);
    static const luaL_Reg functions[] = {
        { "device",   device_new      },
        { "language", device_language },
        { "gpus",     device_gpus     },
        { NULL, NULL }
    };
    luaL_setfuncs(L, functions, 0);
}
