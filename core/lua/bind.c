#include "bind.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "system/files.h"

static const char *name_of(const struct kb_class *c)
{
    return strchr(c->type, '.') + 1;
}

/* Its only upvalue is the class. */
static int close_any(lua_State *L)      /* close, __close and __gc */
{
    const struct kb_class *c = lua_touserdata(L, lua_upvalueindex(1));
    void *object = kb_bind_take(L, 1, c);
    if (object)
        c->free(object);
    return 0;
}

static void set_close(lua_State *L, const struct kb_class *c, const char *name)
{
    lua_pushlightuserdata(L, (void *)(uintptr_t)c);
    lua_pushcclosure(L, close_any, 1);
    lua_setfield(L, -2, name);
}

void kb_bind_class(lua_State *L, const struct kb_class *c)
{
    luaL_newmetatable(L, c->type);                      /* [core mt] */
    set_close(L, c, "__gc");
    set_close(L, c, "__close");
    lua_newtable(L);                                    /* [core mt index] */
    set_close(L, c, "close");
    for (const luaL_Reg *m = c->methods; m->name; m++) {
        lua_pushcfunction(L, m->func);
        lua_setfield(L, m->name[0] == '_' ? -3 : -2, m->name);
    }
    lua_setfield(L, -2, "__index");                     /* [core mt] */
    lua_pushliteral(L, "locked");
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 1);
    if (c->make)
        KB_SET(L, name_of(c), lua_pushcfunction, c->make);
}

/* What an object's userdata holds. */
struct box {
    void *object;                       /* NULL once closed */
    const struct kb_class *class;
};

void *kb_bind_new(lua_State *L, const struct kb_class *c, int owner)
{
    struct box *box = lua_newuserdatauv(L, sizeof *box, 1);
    *box = (struct box){ NULL, c };
    luaL_setmetatable(L, c->type);
    if (owner) {
        lua_pushvalue(L, owner);
        lua_setiuservalue(L, -2, 1);
    }
    return &box->object;
}

void *kb_bind_self(lua_State *L, int idx, const struct kb_class *c)
{
    /* By address: of a method's cost its type's name would be the most. */
    const struct box *box = lua_touserdata(L, idx);
    if (!box || lua_rawlen(L, idx) != sizeof *box || box->class != c)
        box = luaL_checkudata(L, idx, c->type);             /* raises */
    if (!box->object)
        kb_bind_refuse(L, idx, "closed %s", name_of(c));
    if (c->owner) {
        lua_getiuservalue(L, idx, 1);                   /* [.. owner] */
        kb_bind_self(L, lua_gettop(L), c->owner);
        lua_pop(L, 1);
    }
    return box->object;
}

void *kb_bind_take(lua_State *L, int idx, const struct kb_class *c)
{
    void **slot = luaL_checkudata(L, idx, c->type), *object = *slot;
    *slot = NULL;
    return object;
}

KB_CLASS(block, free, NULL, NULL, KB_NO_METHODS);

char **kb_bind_block(lua_State *L)
{
    return kb_bind_new(L, &kb_class_block, 0);
}

int kb_bind_push_block(lua_State *L, char **slot, size_t n)
{
    lua_pushlstring(L, *slot ? *slot : "", n);
    free(*slot);
    *slot = NULL;
    return 1;
}

int kb_bind_refuse(lua_State *L, int arg, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    const char *text = lua_pushvfstring(L, format, values);
    va_end(values);
    return luaL_argerror(L, arg, text);
}

int kb_bind_fail_text(lua_State *L, kb_status status, const char *text)
{
    if (!*text)
        return kb_bind_fail(L, status);
    assert(status < 0);
    luaL_pushfail(L);
    lua_pushstring(L, text);
    lua_pushstring(L, kb_status_name(status));
    return 3;
}

int kb_bind_fail(lua_State *L, kb_status status)
{
    return kb_bind_fail_text(L, status, status == KB_ESYS && errno
                             ? strerror(errno) : kb_status_text(status));
}

int kb_bind_fail_about(lua_State *L, kb_status status, const char *what)
{
    int error = errno;
    bool by_errno = status == KB_ESYS;
    luaL_pushfail(L);
    lua_pushfstring(L, "%s: %s", what, by_errno ? strerror(error)
                                                : kb_status_text(status));
    lua_pushstring(L, by_errno ? kb_files_errno_name(error)
                               : kb_status_name(status));
    return 3;
}

int kb_bind_done(lua_State *L, kb_status status)
{
    if (status)
        return kb_bind_fail(L, status);
    lua_pushboolean(L, 1);
    return 1;
}

int kb_bind_push_integer(lua_State *L, lua_Integer x)
{
    lua_pushinteger(L, x);
    return 1;
}

int kb_bind_push_number(lua_State *L, double x)
{
    lua_pushnumber(L, x);
    return 1;
}

int kb_bind_push_fields(lua_State *L, const struct kb_field *f,
                        const void *object)
{
    lua_newtable(L);                                    /* [t] */
    for (; f->name; f++) {
        const void *at = (const char *)object + f->at;
        switch (f->type) {
        case KB_FIELD_FLAG:  lua_pushboolean(L, *(const bool *)at); break;
        case KB_FIELD_INT:   lua_pushinteger(L, *(const int *)at); break;
        case KB_FIELD_U32:   lua_pushinteger(L, *(const uint32_t *)at); break;
        case KB_FIELD_U64:   lua_pushinteger(L, *(const lua_Integer *)at); break;
        case KB_FIELD_REAL:  lua_pushnumber(L, *(const double *)at); break;
        case KB_FIELD_TEXT:  lua_pushstring(L, *(const char *const *)at); break;
        case KB_FIELD_CHARS: lua_pushstring(L, at); break;
        }
        lua_setfield(L, -2, f->name);
    }
    return 1;
}

int luaopen_kernelband_core(lua_State *L)
{
    static const struct kb_class *const classes[] = {
#define X(name) &kb_class_##name,
        KB_CLASS_MAP(X)
#undef X
    };
    lua_newtable(L);                                    /* [core] */
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        kb_bind_class(L, classes[i]);
#define X(name) KB_SET(L, #name, lua_pushcfunction, kb_bind_##name);
    KB_FUNCTION_MAP(X)
#undef X
#define X(name)                                                             \
    lua_newtable(L);                                                        \
    luaL_setfuncs(L, kb_module_##name, 0);                                  \
    lua_setfield(L, -2, #name);
    KB_MODULE_MAP(X)
#undef X
    return 1;
}
