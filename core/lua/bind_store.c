/* Lua face of store.h.
 *
 *   local db, why, code = core.store(path)   -- nil, text, "ESTORE" on failure
 *   core.store(path, "read")                 -- an existing file, never changed
 *   db:exec(sql, ...)  -> rows changed | nil, text, code
 *   db:rows(sql, ...)  -> { { column = value, .. }, .. } | nil, text, code
 *   db:last_id()       -> the number of the row inserted last
 *   db:close()
 *
 * "?" in sql takes the next argument: nil, boolean (1 or 0), integer, number,
 * string (text), { blob = string }. Without arguments exec runs a whole script
 * of statements; with arguments exactly one. Integers come back as integers,
 * NULL as an absent field. A wrong number or type of arguments is a bug of the
 * script and raises; everything SQLite refuses is returned.
 */
#include <stdbool.h>

#include "bind.h"

#include "system/store.h"

KB_CLASS(store, kb_store_close);
KB_CLASS(query, kb_query_free);

enum { WHY_BYTES = 512 };

static kb_store *self(lua_State *L)
{
    return kb_bind_self(L, 1, &kb_class_store);
}

static int fail(lua_State *L, kb_store *store, kb_status st)
{
    return st == KB_ESTORE ? kb_bind_fail_text(L, st, kb_store_error(store))
                           : kb_bind_fail(L, st);
}

static int store_new(lua_State *L)
{
    static const char *const modes[] = { "write", "read", NULL };
    const char *path = luaL_checkstring(L, 1);
    bool read = luaL_checkoption(L, 2, "write", modes) == 1;
    char why[WHY_BYTES];
    kb_store **slot = kb_bind_new(L, &kb_class_store, 0);
    kb_status st = kb_store_open(path, read, why, sizeof why, slot);
    if (st == KB_ESTORE) {
        lua_pushfstring(L, "%s: %s", path, why);
        return kb_bind_fail_text(L, st, lua_tostring(L, -1));
    }
    return st ? kb_bind_fail(L, st) : 1;
}

/* [.. v] -> [.. v]; the value at idx, which lives as long as it. */
static struct kb_value value_at(lua_State *L, int idx)
{
    struct kb_value v = { .type = KB_STORE_NULL };
    switch (lua_type(L, idx)) {
    case LUA_TNIL:
        break;
    case LUA_TBOOLEAN:
        v.type = KB_STORE_INTEGER;
        v.integer = lua_toboolean(L, idx);
        break;
    case LUA_TNUMBER:
        v.type = lua_isinteger(L, idx) ? KB_STORE_INTEGER : KB_STORE_REAL;
        v.integer = lua_tointeger(L, idx);
        v.real = lua_tonumber(L, idx);
        break;
    case LUA_TSTRING:
        v.type = KB_STORE_TEXT;
        v.bytes = lua_tolstring(L, idx, &v.n);
        break;
    default:
        if (lua_istable(L, idx)
            && lua_getfield(L, idx, "blob") == LUA_TSTRING) {   /* [.. blob] */
            v.type = KB_STORE_BLOB;
            v.bytes = lua_tolstring(L, -1, &v.n);
            lua_replace(L, idx);
            break;
        }
        luaL_argerror(L, idx, "nil, boolean, number, string or { blob = string } "
                      "expected");
    }
    return v;
}

/* [store sql args..] -> [store sql args.. query]. *out is NULL with a status
 * when SQLite refuses. */
static kb_status prepare(lua_State *L, kb_store *store, kb_query **out)
{
    const char *sql = luaL_checkstring(L, 2);
    int args = lua_gettop(L) - 2;
    kb_query **slot = kb_bind_new(L, &kb_class_query, 0);
    kb_status st = kb_query_new(store, sql, slot);
    if (st == KB_EINVAL)
        luaL_argerror(L, 2, "exactly one statement expected");
    if (st)
        return st;
    size_t want = kb_query_parameters(*slot);
    if ((size_t)args != want)
        luaL_error(L, "the statement has %d parameters, %d values were given",
                   (int)want, args);
    for (int i = 0; i < args && !st; i++) {
        struct kb_value v = value_at(L, i + 3);
        self(L);                        /* a metamethod may have closed it */
        st = kb_query_bind(*slot, (size_t)i, &v);
    }
    *out = *slot;
    return st;
}

static int store_exec(lua_State *L)
{
    kb_store *store = self(L);
    kb_status st;
    if (lua_gettop(L) == 2) {
        st = kb_store_exec(store, luaL_checkstring(L, 2));
    } else {
        kb_query *query = NULL;
        st = prepare(L, store, &query);                 /* [.. query] */
        bool row = true;
        while (!st && row)
            st = kb_query_step(query, &row);
        kb_query_free(kb_bind_take(L, -1, &kb_class_query));
    }
    if (st)
        return fail(L, store, st);
    return kb_bind_push_integer(L, (lua_Integer)kb_store_changes(store));
}

static int store_last_id(lua_State *L)
{
    return kb_bind_push_integer(L, (lua_Integer)kb_store_last_id(self(L)));
}

static void push_row(lua_State *L, kb_query *query)
{
    struct kb_value v;
    const char *name;
    lua_newtable(L);                                    /* [.. row] */
    for (size_t c = 0; (name = kb_query_column(query, c, &v)); c++)
        if (v.type == KB_STORE_INTEGER)
            kb_bind_set_integer(L, name, (lua_Integer)v.integer);
        else if (v.type == KB_STORE_REAL)
            kb_bind_set_number(L, name, v.real);
        else if (v.type != KB_STORE_NULL)
            kb_bind_set_bytes(L, name, v.bytes, v.n);
}

static int store_rows(lua_State *L)
{
    kb_store *store = self(L);
    kb_query *query = NULL;
    kb_status st = prepare(L, store, &query);           /* [.. query] */
    lua_replace(L, 2);
    lua_settop(L, 2);                                   /* [store query] */
    lua_newtable(L);                                    /* [store query rows] */
    bool row = false;
    if (!st)
        st = kb_query_step(query, &row);
    for (lua_Integer n = 1; !st && row; n++) {
        push_row(L, query);
        lua_rawseti(L, 3, n);
        st = kb_query_step(query, &row);
    }
    kb_query_free(kb_bind_take(L, 2, &kb_class_query));
    return st ? fail(L, store, st) : 1;
}

void kb_bind_store(lua_State *L)
{
    static const luaL_Reg methods[] = {
        { "exec", store_exec }, { "last_id", store_last_id },
        { "rows", store_rows }, { NULL, NULL }
    };
    kb_bind_class(L, &kb_class_store, methods, store_new);
    kb_bind_class(L, &kb_class_query, NULL, NULL);
}
