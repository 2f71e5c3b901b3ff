/* bind.h - the seam between core and Lua. lua.h is included in core/lua only.
 *
 * Two kinds of failure cross it:
 *   a bug in the script (wrong type, closed object, index out of range) raises;
 *   the world failing (no device, dead worker, timeout) returns
 *   nil, text, name.
 *
 * Stack comments read bottom to top:  [a b] -> [c]
 */
#pragma once

#include <lua.h>
#include <lauxlib.h>

#include "kb.h"

/* [] -> [core]; the table that require "kernelband.core" returns. */
int luaopen_kernelband_core(lua_State *L);

/* A kind of userdata: one pointer to what C made, NULL until it is made and
 * once it is closed. All that is common to them is here: __gc, __close, close,
 * and the check of self. */
struct kb_class {
    const char *type;                   /* "kernelband.NAME", its metatable's */
    void (*free)(void *object);         /* never of NULL */
    lua_CFunction make;                 /* core.NAME; NULL: there is none */
    const struct kb_class *owner;       /* must be open too; NULL: need not */
    const luaL_Reg *methods;            /* those whose names begin with __ go
                                         * into the metatable, the others into
                                         * its __index; ended by one without */
};

/* What core holds: the classes, kb_class_NAME; tables of functions, core.NAME,
 * kb_module_NAME; and functions, kb_bind_NAME. */
#define KB_CLASS_MAP(X)                                                     \
    X(rng) X(ucb) X(cluster) X(logit) X(gp) X(device) X(object) X(program)  \
    X(buffers) X(cubin) X(nvrtc) X(store) X(query) X(command) X(channel)    \
    X(lock) X(folder) X(http) X(serve) X(markdown) X(block)
#define KB_MODULE_MAP(X) X(overtime) X(system)
#define KB_FUNCTION_MAP(X)                                                  \
    X(language) X(gpus) X(bound) X(wait) X(gunzip) X(code_blocks)

#define X(name) extern const struct kb_class kb_class_##name;
KB_CLASS_MAP(X)
#undef X
#define X(name) extern const luaL_Reg kb_module_##name[];
KB_MODULE_MAP(X)
#undef X
#define X(name) int kb_bind_##name(lua_State *L);
KB_FUNCTION_MAP(X)
#undef X

/* Defines kb_class_NAME, whose objects release frees; methods: { name, function }
 * each. */
#define KB_CLASS(name, release, make, owner, ...)                           \
    static void name##_free_any(void *object) { release(object); }          \
    static const luaL_Reg name##_methods[] = { __VA_ARGS__, { NULL, NULL } }; \
    const struct kb_class kb_class_##name = {                               \
        "kernelband." #name, name##_free_any, make, owner, name##_methods   \
    }
#define KB_NO_METHODS { NULL, NULL }

/* Defines a function that gives the open object of kb_class_NAME at index 1. */
#define KB_SELF(function, type, name)                                       \
    static type *function(lua_State *L)                                     \
    {                                                                       \
        return kb_bind_self(L, 1, &kb_class_##name);                        \
    }

/* [core] -> [core]; registers the class. __metatable is locked. */
void kb_bind_class(lua_State *L, const struct kb_class *c);

/* [..] -> [.. userdata]; a slot, NULL still, so that __gc is safe from the
 * first instant: store the real object last. It keeps the value at owner, if
 * that is not 0, alive for as long as it lives. */
void *kb_bind_new(lua_State *L, const struct kb_class *c, int owner);

/* The open object at idx; raises when it is of another class or closed. */
void *kb_bind_self(lua_State *L, int idx, const struct kb_class *c);

/* The object at idx or NULL, which is the caller's from now on: it is closed. */
void *kb_bind_take(lua_State *L, int idx, const struct kb_class *c);

/* [..] -> [.. userdata]; a slot for malloc'd bytes, whatever is raised before
 * they are free again. */
char **kb_bind_block(lua_State *L);

/* [] -> [string]; the n bytes of slot, which are freed. Returns 1. */
int kb_bind_push_block(lua_State *L, char **slot, size_t n);

/* Raises luaL_argerror's sentence about arg; format as lua_pushfstring has it:
 * %I is a lua_Integer. */
int kb_bind_refuse(lua_State *L, int arg, const char *format, ...);

/* Pushes nil, text, name and returns 3. status < 0. The second form says more
 * than the status alone can, unless text is "". */
int kb_bind_fail(lua_State *L, kb_status status);
int kb_bind_fail_text(lua_State *L, kb_status status, const char *text);

/* The same with "what: why" and, of an ESYS, the name of errno. */
int kb_bind_fail_about(lua_State *L, kb_status status, const char *what);

/* Pushes true and returns 1, or fails with status. */
int kb_bind_done(lua_State *L, kb_status status);

/* [] -> [x]; returns 1. */
int kb_bind_push_integer(lua_State *L, lua_Integer x);
int kb_bind_push_number(lua_State *L, double x);

/* Defines a function for Lua that pushes x, an expression in which L may be, by
 * lua_pushinteger or another. */
#define KB_GETTER(function, push, x)                                        \
    static int function(lua_State *L) { push(L, x); return 1; }

/* [t] -> [t]; t[key] = what push, lua_pushinteger or another, makes of the rest. */
#define KB_SET(L, key, push, ...)                                           \
    (push(L, __VA_ARGS__), lua_setfield(L, -2, key))

/* A member of a structure of C, of one of the types below. */
struct kb_field {
    const char *name;
    enum kb_field_type {
        KB_FIELD_FLAG, KB_FIELD_INT, KB_FIELD_U32, KB_FIELD_U64, KB_FIELD_REAL,
        KB_FIELD_TEXT, KB_FIELD_CHARS
    } type;
    size_t at;
};

/* Defines a function that pushes a table of the fields listed, F(member) each,
 * of such a structure. Returns 1. */
#define KB_PUSHER(function, structure, ...)                                 \
    static int function(lua_State *L, const structure *object)              \
    {                                                                       \
        typedef structure fields_of;                                        \
        static const struct kb_field fields[] = { __VA_ARGS__, { 0 } };     \
        return kb_bind_push_fields(L, fields, object);                      \
    }
#define F(member)                                                           \
    { #member, _Generic(&((fields_of *)0)->member,                          \
        bool *: KB_FIELD_FLAG, int *: KB_FIELD_INT,                         \
        uint32_t *: KB_FIELD_U32, uint64_t *: KB_FIELD_U64,                 \
        int64_t *: KB_FIELD_U64,                                            \
        double *: KB_FIELD_REAL, const char **: KB_FIELD_TEXT,              \
        default: KB_FIELD_CHARS), offsetof(fields_of, member) }

/* [] -> [t]; t[name] = value for each of the fields, ended by one without name.
 * Returns 1. */
int kb_bind_push_fields(lua_State *L, const struct kb_field *fields,
                        const void *object);
