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
void kb_bind_http(lua_State *L);
void kb_bind_gzip(lua_State *L);
void kb_bind_compile(lua_State *L);
void kb_bind_process(lua_State *L);
void kb_bind_serve(lua_State *L);
void kb_bind_store(lua_State *L);
void kb_bind_system(lua_State *L);

/* A kind of userdata: one pointer to what C made, NULL until it is made and
 * once it is closed. All that is common to them is here: __gc, __close, close,
 * and the check of self. */
struct kb_class {
    const char *type;                   /* "kernelband.NAME", its metatable's */
    void (*free)(void *object);         /* also of NULL */
    const struct kb_class *owner;       /* must be open too; NULL: need not */
};

/* Those that more than one file knows. */
extern const struct kb_class kb_class_buffers, kb_class_device, kb_class_http;

/* Defines kb_class_NAME, whose objects are freed by release. */
#define KB_CLASS(name, release) KB_CLASS_OF(name, release, NULL)
#define KB_CLASS_OF(name, release, owner)                                   \
    static void name##_free_any(void *object) { release(object); }          \
    const struct kb_class kb_class_##name = {                               \
        "kernelband." #name, name##_free_any, owner                         \
    }

/* [core] -> [core]; registers the class, and make, if any, as core.NAME. Methods
 * whose names begin with __ go into the metatable, the others into its __index;
 * methods may be NULL. __metatable is locked. */
void kb_bind_class(lua_State *L, const struct kb_class *c,
                   const luaL_Reg *methods, lua_CFunction make);

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
#define KB_FIELD(structure, member)                                         \
    { #member, _Generic(&((structure *)0)->member,                          \
        bool *: KB_FIELD_FLAG, int *: KB_FIELD_INT,                         \
        uint32_t *: KB_FIELD_U32, uint64_t *: KB_FIELD_U64,                 \
        double *: KB_FIELD_REAL, const char **: KB_FIELD_TEXT,              \
        default: KB_FIELD_CHARS), offsetof(structure, member) }

/* [] -> [t]; t[name] = value for each of the fields, ended by one without name.
 * Returns 1. */
int kb_bind_push_fields(lua_State *L, const struct kb_field *fields,
                        const void *object);
