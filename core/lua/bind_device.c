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
#include "bind_arg.h"
#include "bind_device.h"

#include <string.h>

#include "system/host.h"

enum { LOG_BYTES = 4096, TEXT_BYTES = 4 << 20 };

KB_CLASS(device, kb_device_close);
KB_CLASS_OF(object, kb_object_free, &kb_class_device);
KB_CLASS_OF(program, kb_program_stop, &kb_class_buffers);

static kb_device *check_device(lua_State *L)
{
    return kb_bind_self(L, 1, &kb_class_device);
}

static kb_object *check_object(lua_State *L, int idx)
{
    return kb_bind_self(L, idx, &kb_class_object);
}

static kb_program *check_program(lua_State *L)
{
    return kb_bind_self(L, 1, &kb_class_program);
}

static int device_new(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1), *why = "";
    char exe[KB_HOST_PATH_BYTES];
    if (kb_host_exe(exe, sizeof exe))
        return kb_bind_fail(L, KB_ESYS);
    kb_device **slot = kb_bind_new(L, &kb_class_device, 0);
    kb_status st = kb_device_open(name, exe, slot, &why);
    return st ? kb_bind_fail_text(L, st, why) : 1;
}

static int device_language(lua_State *L)
{
    lua_pushstring(L, kb_device_language(luaL_checkstring(L, 1)));
    return 1;
}

static int device_gpus(lua_State *L)
{
    return kb_bind_push_integer(L, kb_cuda_count());
}

static void set_size(lua_State *L, const char *key, uint64_t value)
{
    kb_bind_set_integer(L, key, (lua_Integer)value);
}

static int device_describe(lua_State *L)
{
    const struct kb_device_info *i = &check_device(L)->info;
    lua_newtable(L);                                    /* [d t] */
    kb_bind_set_flag(L, "fresh_outputs", i->fresh_outputs);
    kb_bind_set_text(L, "name", i->name);
    kb_bind_set_text(L, "language", i->language);
    kb_bind_set_text(L, "compiler", i->compiler);
    kb_bind_set_text(L, "flags", i->flags);
    kb_bind_set_text(L, "driver", i->driver);
    kb_bind_set_text(L, "target", i->target);
    kb_bind_set_integer(L, "sm_count", i->sm_count);
    kb_bind_set_integer(L, "sm_threads", i->sm_threads);
    kb_bind_set_integer(L, "sm_registers", i->sm_registers);
    kb_bind_set_integer(L, "sm_blocks", i->sm_blocks);
    set_size(L, "sm_shared_bytes", i->sm_shared_bytes);
    set_size(L, "block_shared_bytes", i->block_shared_bytes);
    set_size(L, "l2_bytes", i->l2_bytes);
    set_size(L, "memory_bytes", i->memory_bytes);
    kb_bind_set_integer(L, "arch", i->arch);
    return 1;
}

static int device_claim(lua_State *L)
{
    bool on = lua_toboolean(L, 2);
    return kb_bind_done(L, kb_device_claim(check_device(L), on));
}

static int device_state(lua_State *L)
{
    struct kb_device_state s;
    kb_status st = kb_device_read_state(check_device(L), &s);
    if (st)
        return kb_bind_fail(L, st);
    lua_newtable(L);                                    /* [d t] */
    kb_bind_set_integer(L, "sm_mhz", s.sm_mhz);
    kb_bind_set_integer(L, "memory_mhz", s.memory_mhz);
    kb_bind_set_integer(L, "temperature_c", s.temperature_c);
    set_size(L, "held_back", s.held_back);
    return 1;
}

static int device_lost(lua_State *L)
{
    lua_pushstring(L, kb_device_lost(check_device(L)));
    return 1;
}

static int device_roofline(lua_State *L)
{
    struct kb_roofline r;
    kb_status st = kb_device_roofline(check_device(L), &r);
    if (st)
        return kb_bind_fail(L, st);
    lua_newtable(L);                                    /* [d t] */
    kb_bind_set_number(L, "f32_flops_per_s", r.f32_flops_per_s);
    kb_bind_set_number(L, "f64_flops_per_s", r.f64_flops_per_s);
    kb_bind_set_number(L, "bf16_flops_per_s", r.bf16_flops_per_s);
    kb_bind_set_number(L, "l1_bytes_per_s", r.l1_bytes_per_s);
    kb_bind_set_number(L, "l2_bytes_per_s", r.l2_bytes_per_s);
    kb_bind_set_number(L, "dram_bytes_per_s", r.dram_bytes_per_s);
    kb_bind_set_number(L, "dram_copy_bytes_per_s", r.dram_copy_bytes_per_s);
    kb_bind_set_number(L, "clock_hz", r.clock_hz);
    kb_bind_set_number(L, "vector_bytes", (double)r.vector_bytes);
    kb_bind_set_number(L, "l1d_bytes", (double)r.l1d_bytes);
    kb_bind_set_number(L, "l2_bytes", (double)r.l2_bytes);
    kb_bind_set_number(L, "l3_bytes", (double)r.l3_bytes);
    kb_bind_set_text(L, "isa", r.isa);
    return 1;
}

static int device_build(lua_State *L)
{
    struct kb_arg args[KB_DEVICE_ARGS];
    struct kb_build b = { .arg = args };
    char log[LOG_BYTES] = "";
    kb_device *d = check_device(L);
    size_t n;
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    kb_bind_options(L, 2, (const struct kb_option[]) {
        { .name = "source", .text = &b.source, .bytes = &n },
        { .name = "args" }, { .name = "entry", .text = &b.entry },
        { .name = "timeout_ns", .integer = &b.timeout_ns },
        { .name = "sanitized", .flag = &b.sanitized }, { 0 }
    });
    luaL_argcheck(L, b.source && b.entry && b.timeout_ns, 2,
                  "source, entry and timeout_ns are needed");
    if (strlen(b.source) != n)
        return kb_bind_fail_text(L, KB_EBUILD, "the source holds a NUL byte");
    lua_getfield(L, 2, "args");                         /* [d t args] */
    b.args = kb_bind_check_args(L, 3, args);

    kb_object **slot = kb_bind_new(L, &kb_class_object, 1);
    kb_status st = kb_device_build(d, &b, log, sizeof log, slot);
    bool told = st == KB_EBUILD || st == KB_EDENIED;
    return st ? kb_bind_fail_text(L, st, told ? log : "") : 1;
}

static int device_buffers(lua_State *L)
{
    return kb_bind_new_buffers(L, check_device(L));
}

static int device_load(lua_State *L)
{
    char why[KB_DEVICE_WHY];
    kb_device *d = check_device(L);
    kb_object *o = check_object(L, 2);
    kb_buffers *b = kb_bind_self(L, 3, &kb_class_buffers);
    lua_settop(L, 4);
    struct kb_plan plan, *given = NULL;
    if (!lua_isnil(L, 4)) {
        kb_bind_check_plan(L, 4, &plan);                /* [.. keeper] */
        given = &plan;
    }
    kb_program **slot = kb_bind_new(L, &kb_class_program, 3);
    kb_status st = kb_program_start(d, o, b, given, slot, why, sizeof why);
    return st ? kb_bind_fail_text(L, st, why) : 1;
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

static lua_Integer check_timeout(lua_State *L, int idx)
{
    return kb_bind_integer(L, idx, "timeout_ns", 1, LUA_MAXINTEGER);
}

static int program_launch(lua_State *L)
{
    kb_program *p = check_program(L);
    lua_Integer n = kb_bind_integer(L, 2, "iterations", 1, LUA_MAXINTEGER);
    lua_Integer timeout_ns = check_timeout(L, 3);
    int64_t elapsed_ns;
    kb_status st = kb_program_launch(p, (uint64_t)n, timeout_ns, &elapsed_ns);
    if (st)
        return kb_bind_fail_text(L, st, p->why);
    return kb_bind_push_integer(L, elapsed_ns);
}

static int program_run(lua_State *L)
{
    kb_program *p = check_program(L);
    kb_status st = kb_program_launch(p, 1, check_timeout(L, 2), NULL);
    if (st)
        return kb_bind_fail_text(L, st, p->why);
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
    kb_bind_set_integer(L, "registers", f.registers);
    kb_bind_set_integer(L, "shared_bytes", f.shared_bytes);
    kb_bind_set_integer(L, "local_bytes", f.local_bytes);
    kb_bind_set_integer(L, "max_threads", f.max_threads);
    return 1;
}

static int program_profile(lua_State *L)
{
    struct kb_metric metric[KB_DEVICE_METRICS];
    char why[KB_DEVICE_WHY];
    size_t n = 0;
    kb_program *p = check_program(L);
    const char *set = luaL_optstring(L, 2, "search");
    kb_status st = kb_program_profile(p, set, metric, &n, why, sizeof why);
    if (st)
        return kb_bind_fail_text(L, st, why);
    lua_newtable(L);                                    /* [p set t] */
    for (size_t i = 0; i < n; i++)
        if (metric[i].present)
            kb_bind_set_number(L, metric[i].name, metric[i].value);
    return 1;
}

static int program_occupancy(lua_State *L)
{
    kb_program *p = check_program(L);
    lua_Integer i = kb_bind_integer(L, 2, "launch", 1, LUA_MAXINTEGER);
    double share;
    kb_status st = kb_program_occupancy(p, (size_t)i - 1, &share);
    if (st)
        return kb_bind_fail(L, st);
    return kb_bind_push_number(L, share);
}

static const luaL_Reg device_methods[] = {
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
static const luaL_Reg object_methods[] = {
    { "text", object_text }, { "remarks", object_remarks },
    { "facts", object_facts }, { NULL, NULL }
};
static const luaL_Reg program_methods[] = {
    { "launch",    program_launch    },
    { "run",       program_run       },
    { "profile",   program_profile   },
    { "occupancy", program_occupancy },
    { NULL, NULL }
};

void kb_bind_device(lua_State *L)
{
    static const luaL_Reg functions[] = {
        { "language", device_language }, { "gpus", device_gpus }, { NULL, NULL }
    };
    kb_bind_class(L, &kb_class_device, device_methods, device_new);
    kb_bind_class(L, &kb_class_object, object_methods, NULL);
    kb_bind_class(L, &kb_class_program, program_methods, NULL);
    kb_bind_buffers(L);
    luaL_setfuncs(L, functions, 0);
}
