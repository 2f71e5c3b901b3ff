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
 *     d:build { cubin = }            -> object | nil, log, code
 *     d:buffers(args, slots)         -> buffers, see bind_buffers.c
 *     d:load(object, buffers [, plan])   -> program | nil, why, code
 *   o:text([nvdisasm])               -> objdump's text, or what that program
 *                                       prints of a GPU's | nil, text, code
 *   o:remarks()                      -> the compiler's own on vectorisation | nil
 *   o:facts(kernel)                  -> { registers = .. } | nil, text, code
 *   p:renew()                        -> true | nil, text, code
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

#include "cuda/compile/sass.h"
#include "system/host.h"

enum { LOG_BYTES = 4096, TEXT_BYTES = 4 << 20 };

KB_SELF(check_device, kb_device, device)
KB_SELF(check_program, kb_program, program)
KB_SELF(check_object, kb_object, object)

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

int kb_bind_language(lua_State *L)
{
    lua_pushstring(L, kb_device_language(luaL_checkstring(L, 1)));
    return 1;
}

int kb_bind_gpus(lua_State *L)
{
    return kb_bind_push_integer(L, kb_cuda_count());
}

KB_PUSHER(push_info, struct kb_device_info, F(fresh_outputs), F(name),
          F(language), F(compiler), F(flags), F(driver), F(target),
          F(sm_count), F(sm_threads), F(sm_registers), F(sm_blocks),
          F(sm_shared_bytes), F(block_shared_bytes), F(l2_bytes),
          F(memory_bytes), F(arch))
KB_PUSHER(push_state, struct kb_device_state, F(sm_mhz), F(memory_mhz),
          F(temperature_c), F(held_back))
KB_PUSHER(push_roofline, struct kb_roofline, F(f32_flops_per_s),
          F(f64_flops_per_s), F(bf16_flops_per_s), F(l1_bytes_per_s),
          F(l2_bytes_per_s), F(dram_bytes_per_s), F(dram_copy_bytes_per_s),
          F(clock_hz), F(vector_bytes), F(l1d_bytes), F(l2_bytes),
          F(l3_bytes), F(isa))
KB_PUSHER(push_facts, struct kb_facts, F(registers), F(shared_bytes),
          F(local_bytes))

static int device_describe(lua_State *L)
{
    return push_info(L, &check_device(L)->info);
}

static int device_claim(lua_State *L)
{
    kb_device *d = check_device(L);
    bool on = lua_toboolean(L, 2);
    return kb_bind_done(L, d->ops->claim ? d->ops->claim(d, on) : KB_OK);
}

static int device_state(lua_State *L)
{
    struct kb_device_state s;
    kb_device *d = check_device(L);
    kb_status st = d->ops->state ? d->ops->state(d, &s) : KB_ENODEV;
    return st ? kb_bind_fail(L, st) : push_state(L, &s);
}

static int device_lost(lua_State *L)
{
    const char *why = check_device(L)->lost;
    lua_pushstring(L, *why ? why : NULL);
    return 1;
}

static int device_roofline(lua_State *L)
{
    struct kb_roofline r;
    kb_device *d = check_device(L);
    kb_status st = d->ops->roofline(d, &r);
    return st ? kb_bind_fail(L, st) : push_roofline(L, &r);
}

static int device_build(lua_State *L)
{
    struct kb_arg args[KB_DEVICE_ARGS];
    struct kb_build b = { .arg = args };
    char log[LOG_BYTES] = "";
    kb_device *d = check_device(L);
    size_t n = 0;
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    kb_bind_options(L, 2, (const struct kb_option[]) {
        { .name = "source", .text = &b.source, .bytes = &n },
        { .name = "args" }, { .name = "entry", .text = &b.entry },
        { .name = "timeout_ns", .integer = &b.timeout_ns },
        { .name = "sanitized", .flag = &b.sanitized },
        { .name = "cubin", .text = &b.cubin, .bytes = &b.cubin_bytes }, { 0 }
    });
    luaL_argcheck(L, b.cubin || (b.source && b.entry && b.timeout_ns), 2,
                  "source, entry and timeout_ns are needed");
    if (b.source && strlen(b.source) != n)
        return kb_bind_fail_text(L, KB_EBUILD, "the source holds a NUL byte");
    if (!b.cubin) {
        lua_getfield(L, 2, "args");                     /* [d t args] */
        b.args = kb_bind_check_args(L, 3, args);
    }
    kb_object **slot = kb_bind_new(L, &kb_class_object, 1);
    kb_status st = kb_device_build(d, &b, log, sizeof log, slot);
    bool told = st == KB_EBUILD || st == KB_EDENIED;
    return st ? kb_bind_fail_text(L, st, told ? log : "") : 1;
}

static int device_load(lua_State *L)
{
    char why[KB_DEVICE_WHY];
    kb_device *d = check_device(L);
    kb_object *o = kb_bind_self(L, 2, &kb_class_object);
    kb_buffers *b = kb_bind_self(L, 3, &kb_class_buffers);
    lua_settop(L, 4);
    const struct kb_plan *plan = lua_isnil(L, 4) ? NULL
                               : kb_bind_check_plan(L, 4);  /* [.. keeper] */
    kb_program **slot = kb_bind_new(L, &kb_class_program, 3);
    kb_status st = kb_program_start(d, o, b, plan, slot, why, sizeof why);
    return st ? kb_bind_fail_text(L, st, why) : 1;
}

static int object_text(lua_State *L)
{
    kb_object *o = check_object(L);
    const char *tool = luaL_optstring(L, 2, NULL);
    size_t used;
    char *text = lua_newuserdatauv(L, TEXT_BYTES, 0);   /* [o tool text] */
    kb_status st = KB_ENODEV;
    if (tool && o->cubin)
        st = kb_sass_text(tool, o->cubin, o->cubin_bytes, text, TEXT_BYTES,
                          &used);
    else if (!tool && o->ops->text)
        st = o->ops->text(o, text, TEXT_BYTES, &used);
    if (st)
        return kb_bind_fail(L, st);
    lua_pushlstring(L, text, used);
    return 1;
}

KB_GETTER(object_remarks, lua_pushstring, check_object(L)->remarks)

static int object_facts(lua_State *L)
{
    struct kb_facts f;
    kb_object *o = check_object(L);
    const char *entry = luaL_checkstring(L, 2);
    kb_status st = o->ops->facts ? o->ops->facts(o, entry, &f) : KB_ENODEV;
    return st ? kb_bind_fail(L, st) : push_facts(L, &f);
}

static lua_Integer check_timeout(lua_State *L, int idx)
{
    return kb_bind_integer(L, idx, "timeout_ns", 1, LUA_MAXINTEGER);
}

static int program_renew(lua_State *L)
{
    kb_program *p = check_program(L);
    kb_status st = p->ops->renew ? p->ops->renew(p) : KB_ENODEV;
    return st ? kb_bind_fail(L, st) : kb_bind_done(L, KB_OK);
}

static int program_launch(lua_State *L)
{
    kb_program *p = check_program(L);
    lua_Integer n = kb_bind_integer(L, 2, "iterations", 1, LUA_MAXINTEGER);
    lua_Integer timeout_ns = check_timeout(L, 3);
    int64_t elapsed_ns;
    kb_status st = p->ops->launch(p, (uint64_t)n, timeout_ns, &elapsed_ns);
    return st ? kb_bind_fail_text(L, st, p->why)
              : kb_bind_push_integer(L, elapsed_ns);
}

static int program_run(lua_State *L)
{
    kb_program *p = check_program(L);
    kb_status st = p->ops->launch(p, 1, check_timeout(L, 2), NULL);
    return st ? kb_bind_fail_text(L, st, p->why) : kb_bind_done(L, KB_OK);
}

static int program_profile(lua_State *L)
{
    struct kb_metric metric[KB_DEVICE_METRICS];
    char why[KB_DEVICE_WHY] = "";
    size_t n = 0;
    kb_program *p = check_program(L);
    const char *set = luaL_optstring(L, 2, "search");
    kb_status st = p->ops->profile(p, set, metric, &n, why, sizeof why);
    if (st)
        return kb_bind_fail_text(L, st, why);
    lua_newtable(L);                                    /* [p set t] */
    for (size_t i = 0; i < n; i++)
        if (metric[i].present)
            KB_SET(L, metric[i].name, lua_pushnumber, metric[i].value);
    return 1;
}

static int program_occupancy(lua_State *L)
{
    kb_program *p = check_program(L);
    lua_Integer i = kb_bind_integer(L, 2, "launch", 1, LUA_MAXINTEGER);
    double share;
    kb_status st = p->ops->occupancy
                 ? p->ops->occupancy(p, (size_t)i - 1, &share) : KB_ENODEV;
    return st ? kb_bind_fail(L, st) : kb_bind_push_number(L, share);
}

KB_CLASS(device, kb_device_close, device_new, NULL,
    { "describe", device_describe }, { "roofline", device_roofline },
    { "lost", device_lost }, { "claim", device_claim },
    { "state", device_state }, { "build", device_build },
    { "buffers", kb_bind_new_buffers }, { "load", device_load });
KB_CLASS(object, kb_object_free, NULL, &kb_class_device,
    { "text", object_text }, { "remarks", object_remarks },
    { "facts", object_facts });
KB_CLASS(program, kb_program_stop, NULL, &kb_class_buffers,
    { "renew", program_renew }, { "launch", program_launch },
    { "run", program_run },
    { "profile", program_profile }, { "occupancy", program_occupancy });
