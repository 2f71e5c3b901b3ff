/* bind_device.h - what bind_device.c and bind_buffers.c share. */
#pragma once

#include "bind.h"
#include "device.h"

/* Reads a list of argument descriptions at idx into arg[KB_DEVICE_ARGS] and
 * returns how many. Raises on anything else. */
size_t kb_bind_check_args(lua_State *L, int idx, struct kb_arg *arg);

/* [..] -> [.. keeper]; the resolved plan at idx, which lives in keeper.
 * Raises. */
const struct kb_plan *kb_bind_check_plan(lua_State *L, int idx);

/* d:buffers(args, slots). */
int kb_bind_new_buffers(lua_State *L);
