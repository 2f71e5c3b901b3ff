/* bind_device.h - what bind_device.c and bind_buffers.c share. */
#ifndef KB_BIND_DEVICE_H
#define KB_BIND_DEVICE_H

#include "bind.h"
#include "device.h"

/* [..] -> [.. userdata]; like kb_bind_slot, and it keeps the value at owner
 * alive for as long as it lives, as its first user value. */
void *kb_bind_slot_of(lua_State *L, const char *type, int owner);

/* Reads a list of argument descriptions at idx into arg[KB_DEVICE_ARGS] and
 * returns how many. Raises on anything else. */
size_t kb_bind_check_args(lua_State *L, int idx, struct kb_arg *arg);

/* The open buffers at idx; raises. */
kb_buffers *kb_bind_check_buffers(lua_State *L, int idx);

/* [..] -> [.. keeper]; reads the resolved plan at idx; what *plan points to
 * lives in keeper. Raises. */
void kb_bind_check_plan(lua_State *L, int idx, struct kb_plan *plan);

/* [] -> [table]; returns 1. */
int kb_bind_push_roofline(lua_State *L, const struct kb_roofline *r);

/* d:buffers(args, slots), the device at index 1. */
int kb_bind_new_buffers(lua_State *L, kb_device *d);

/* [] -> []; registers the type. */
void kb_bind_buffers(lua_State *L);

#endif
