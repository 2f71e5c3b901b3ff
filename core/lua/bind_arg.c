#include "bind_arg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

size_t kb_bind_length(lua_State *L, int arg, size_t most)
{
    luaL_checktype(L, arg, LUA_TTABLE);
    lua_Integer n = luaL_len(L, arg);
    if (n < 0 || (lua_Unsigned)n > most)
        kb_bind_refuse(L, arg, "expected at most %I elements, got %I",
                       (lua_Integer)most, n);
    return (size_t)n;
}

void kb_bind_vector(lua_State *L, int arg, size_t n, double limit, double *out)
{
    luaL_checktype(L, arg, LUA_TTABLE);
    lua_Integer length = luaL_len(L, arg);
    if (length < 0 || (lua_Unsigned)length != n)
        kb_bind_refuse(L, arg, "expected %I numbers, got %I", (lua_Integer)n,
                       length);
    luaL_checkstack(L, (int)n, NULL);
    for (lua_Integer i = 1; i <= length; i++) {
        int type = lua_geti(L, arg, i);                     /* [.. x] */
        double x = lua_tonumber(L, -1);
        if (type != LUA_TNUMBER)
            kb_bind_refuse(L, arg, "element %I: expected a number, got %s", i,
                           lua_typename(L, type));
        if (!(fabs(x) <= limit))
            kb_bind_refuse(L, arg, "element %I is %f; it must be finite and "
                           "at most %f in magnitude", i, x, limit);
        out[i - 1] = x;
    }
    lua_pop(L, (int)n);
}

/* Of several unknown keys the first in alphabetical order is named, so that
 * the message does not depend on how a table happens to be laid out. */
static void refuse_unknown(lua_State *L, int arg, const struct kb_option *o)
{
    const char *worst = NULL;           /* lives as long as the table's key */
    lua_pushnil(L);
    while (lua_next(L, arg)) {                              /* [.. key value] */
        lua_pop(L, 1);
        if (lua_type(L, -1) != LUA_TSTRING)
            luaL_argerror(L, arg, "options are written name = value");
        const char *key = lua_tostring(L, -1);
        const struct kb_option *known = o;
        while (known->name && strcmp(known->name, key) != 0)
            known++;
        if (!known->name && (!worst || strcmp(key, worst) < 0))
            worst = key;
    }
    if (!worst)
        return;
    luaL_Buffer text;
    luaL_buffinit(L, &text);
    for (const char *sep = ""; o->name; o++) {
        if (o->now)
            continue;
        luaL_addstring(&text, sep);
        luaL_addstring(&text, o->name);
        sep = ", ";
    }
    luaL_pushresult(&text);
    kb_bind_refuse(L, arg, "unknown option '%s' (known: %s)", worst,
                   lua_tostring(L, -1));
}

static void refuse_option(lua_State *L, int arg, const char *name,
                          const char *expected)
{
    kb_bind_refuse(L, arg, "option '%s': expected %s, got %s", name, expected,
                   luaL_tolstring(L, -1, NULL));
}

static void read_integer(lua_State *L, int arg, const struct kb_option *o)
{
    int whole = 0;
    lua_Integer x = lua_tointegerx(L, -1, &whole);
    if (lua_type(L, -1) != LUA_TNUMBER || !whole)
        refuse_option(L, arg, o->name, "an integer");
    if (o->least < o->most && (x < o->least || x > o->most))
        kb_bind_refuse(L, arg, "option '%s' must be in %I .. %I", o->name,
                       (lua_Integer)o->least, (lua_Integer)o->most);
    if (o->size)
        *o->size = (size_t)x;
    else
        *o->integer = x;
}

/* The value at the top, of option o. */
static void read_option(lua_State *L, int arg, const struct kb_option *o)
{
    int type = lua_type(L, -1);
    size_t n = 0;
    if (o->integer || o->size) {
        read_integer(L, arg, o);
    } else if (o->number) {
        if (type != LUA_TNUMBER)
            refuse_option(L, arg, o->name, "a number");
        *o->number = lua_tonumber(L, -1);
    } else if (o->text) {
        if (type != LUA_TSTRING)
            kb_bind_refuse(L, arg, "'%s' must be a string", o->name);
        *o->text = lua_tolstring(L, -1, &n);
        if (o->bytes)
            *o->bytes = n;
        else if (strlen(*o->text) != n)
            kb_bind_refuse(L, arg, "'%s' holds a NUL", o->name);
    } else if (o->flag) {
        *o->flag = lua_toboolean(L, -1);
    }
}

/* An option of the version before is taken for one version more. */
static void tell_once(lua_State *L, const char *text)
{
    if (!luaL_getsubtable(L, LUA_REGISTRYINDEX, text))
        fprintf(stderr, "kernelband: %s\n", text);
    lua_pop(L, 1);
}

void kb_bind_options(lua_State *L, int arg, const struct kb_option *o)
{
    if (lua_isnoneornil(L, arg))
        return;
    luaL_checktype(L, arg, LUA_TTABLE);
    refuse_unknown(L, arg, o);
    for (; o->name; o++) {
        if (lua_getfield(L, arg, o->name) != LUA_TNIL) {    /* [.. value] */
            read_option(L, arg, o);
            if (o->now)
                tell_once(L, o->now);
        }
        lua_pop(L, 1);
    }
}

size_t kb_bind_words(lua_State *L, int idx, const char *what,
                     const char **out, size_t least, size_t most)
{
    lua_Integer n = lua_istable(L, idx) ? luaL_len(L, idx) : -1;
    if (n < 0 || (size_t)n < least || (size_t)n > most)
        luaL_error(L, "%s must be a list of %I to %I strings", what,
                   (lua_Integer)least, (lua_Integer)most);
    for (lua_Integer i = 0; i < n; i++) {
        size_t bytes = 0;
        bool good = lua_geti(L, idx, i + 1) == LUA_TSTRING; /* [.. word] */
        out[i] = good ? lua_tolstring(L, -1, &bytes) : "";
        if (!good || strlen(out[i]) != bytes)
            luaL_error(L, "%s must be a list of strings without NUL; element "
                       "%I is not", what, i + 1);
        lua_pop(L, 1);
    }
    out[n] = NULL;
    return (size_t)n;
}

lua_Integer kb_bind_integer(lua_State *L, int arg, const char *what,
                            lua_Integer least, lua_Integer most)
{
    luaL_checktype(L, arg, LUA_TNUMBER);
    lua_Integer x = luaL_checkinteger(L, arg);
    if (x < least || x > most)
        kb_bind_refuse(L, arg, "%s must be an integer in %I .. %I, got %I",
                       what, least, most, x);
    return x;
}

lua_Integer kb_bind_opt_integer(lua_State *L, int arg, const char *what,
                                lua_Integer least, lua_Integer most,
                                lua_Integer fallback)
{
    return lua_isnoneornil(L, arg) ? fallback
         : kb_bind_integer(L, arg, what, least, most);
}

int kb_bind_push_numbers(lua_State *L, const double *x, size_t n)
{
    lua_createtable(L, (int)n, 0);                          /* [.. list] */
    for (size_t i = 0; i < n; i++) {
        lua_pushnumber(L, x[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}
