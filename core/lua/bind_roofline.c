/* Lua face of device.h's roofline: a table with the fields of struct kb_roofline. */
#include "bind_device.h"

int kb_bind_push_roofline(lua_State *L, const struct kb_roofline *roof)
{
    struct kb_roofline r = *roof;
    const struct { const char *name; double value; } all[] = {
        { "f32_flops_per_s", r.f32_flops_per_s },
        { "f64_flops_per_s", r.f64_flops_per_s },
        { "bf16_flops_per_s", r.bf16_flops_per_s },
        { "l1_bytes_per_s", r.l1_bytes_per_s },
        { "l2_bytes_per_s", r.l2_bytes_per_s },
        { "dram_bytes_per_s", r.dram_bytes_per_s },
        { "dram_copy_bytes_per_s", r.dram_copy_bytes_per_s },
        { "clock_hz", r.clock_hz },
        { "vector_bytes", (double)r.vector_bytes },
        { "l1d_bytes", (double)r.l1d_bytes },
        { "l2_bytes", (double)r.l2_bytes },
        { "l3_bytes", (double)r.l3_bytes },
    };
    lua_newtable(L);                                    /* [t] */
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        lua_pushnumber(L, all[i].value);
        lua_setfield(L, -2, all[i].name);
    }
    lua_pushstring(L, r.isa);
    lua_setfield(L, -2, "isa");
    return 1;
}
