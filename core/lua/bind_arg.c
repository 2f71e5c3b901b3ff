#include "bind_arg.h"

#include <math.h>
#include <string.h>

size_t kb_bind_length(lua_State *L, int arg, size_t most)
{
    luaL_checktype(L, arg, LUA_TTABLE);
    lua_Integer n = luaL_len(L, arg);
    if (n < 0 || (lua_Unsigned)n > most)
        luaL_argerror(L, arg, lua_pushfstring(L,
            "expected at most %I elements, got %I", (LUAI_UACINT)most,
            (LUAI_UACINT)n));
    return (size_t)n;
}

void kb_bind_vector(lua_State *L, int arg, size_t n, double limit, double *out)
{
    luaL_checktype(L, arg, LUA_TTABLE);
    lua_Integer length = luaL_len(L, arg);
    if (length < 0 || (lua_Unsigned)length != n)
        luaL_argerror(L, arg, lua_pushfstring(L,
            "expected %I numbers, got %I", (LUAI_UACINT)n,
            (LUAI_UACINT)length));
    for (size_t i = 0; i < n; i++) {
        int type = lua_geti(L, arg, (lua_Integer)i + 1);    /* [.. x] */
        double x = lua_tonumber(L, -1);
        if (type != LUA_TNUMBER)
            luaL_argerror(L, arg, lua_pushfstring(L,
                "element %I: expected a number, got %s",
                (LUAI_UACINT)(i + 1), lua_typename(L, type)));
        if (!(fabs(x) <= limit))
            luaL_argerror(L, arg, lua_pushfstring(L,
                "element %I is %f; it must be finite and at most %f in "
                "magnitude", (LUAI_UACINT)(i + 1), x, limit));
        lua_pop(L, 1);
        out[i] = x;
    }
}

static int is_known(const char *key, const char *const *known)
{
    while (*known && strcmp(*known, key) != 0)
        known++;
    return *known != NULL;
}

/* Of several unknown keys the first in alphabetical order is named, so that
 * the message does not depend on how a table happens to be laid out. */
void kb_bind_options(lua_State *L, int arg, const char *const *known)
{
    if (lua_isnoneornil(L, arg))
        return;
    luaL_checktype(L, arg, LUA_TTABLE);
    const char *worst = NULL;           /* lives as long as the table's key */
    lua_pushnil(L);
    while (lua_next(L, arg)) {                              /* [.. key value] */
        lua_pop(L, 1);
        if (lua_type(L, -1) != LUA_TSTRING)
            luaL_argerror(L, arg, "options are written name = value");
        const char *key = lua_tostring(L, -1);
        if (!is_known(key, known) && (!worst || strcmp(key, worst) < 0))
            worst = key;
    }
    if (!worst)
        return;
    luaL_Buffer text;
    luaL_buffinit(L, &text);
    for (const char *sep = ""; *known; known++, sep = ", ") {
        luaL_addstring(&text, sep);
        luaL_addstring(&text, *known);
    }
    luaL_pushresult(&text);
    luaL_argerror(L, arg, lua_pushfstring(L, "unknown option '%s' (known: %s)",
                                          worst, lua_tostring(L, -1)));
}

static int push_option(lua_State *L, int arg, const char *key)
{
    if (lua_isnoneornil(L, arg)) {
        lua_pushnil(L);
        return LUA_TNIL;
    }
    return lua_getfield(L, arg, key);
}

double kb_bind_number_option(lua_State *L, int arg, const char *key,
                             double fallback)
{
    int type = push_option(L, arg, key);                    /* [.. value] */
    if (type != LUA_TNIL && type != LUA_TNUMBER)
        luaL_argerror(L, arg, lua_pushfstring(L,
            "option '%s': expected a number, got %s", key,
            lua_typename(L, type)));
    double x = type == LUA_TNIL ? fallback : lua_tonumber(L, -1);
    lua_pop(L, 1);
    return x;
}

lua_Integer kb_bind_integer_option(lua_State *L, int arg, const char *key,
                                   lua_Integer fallback)
{
    int type = push_option(L, arg, key);                    /* [.. value] */
    int whole = 0;
    lua_Integer x = lua_tointegerx(L, -1, &whole);
    if (type != LUA_TNIL && (type != LUA_TNUMBER || !whole))
        luaL_argerror(L, arg, lua_pushfstring(L,
            "option '%s': expected an integer, got %s", key,
            luaL_tolstring(L, -1, NULL)));
    lua_pop(L, 1);
    return type == LUA_TNIL ? fallback : x;
}

lua_Integer kb_bind_integer(lua_State *L, int arg, const char *what,
                            lua_Integer least, lua_Integer most)
{
    luaL_checktype(L, arg, LUA_TNUMBER);
    lua_Integer x = luaL_checkinteger(L, arg);
    if (x < least || x > most)
        luaL_argerror(L, arg, lua_pushfstring(L,
            "%s must be an integer in %I .. %I, got %I", what,
            (LUAI_UACINT)least, (LUAI_UACINT)most, (LUAI_UACINT)x));
    return x;
}
