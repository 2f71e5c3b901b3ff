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
#include <string.h>

#include <sqlite3.h>

#include "bind.h"
#include "system/store.h"

enum { WHY_BYTES = 512 };

KB_SELF(self, sqlite3, store)

static int fail(lua_State *L, sqlite3 *store)
{
    return (sqlite3_errcode(store) & 0xff) == SQLITE_NOMEM
         ? kb_bind_fail(L, KB_ENOMEM)
         : kb_bind_fail_text(L, KB_ESTORE, kb_store_error(store));
}

static int store_new(lua_State *L)
{
    static const char *const modes[] = { "write", "read", NULL };
    const char *path = luaL_checkstring(L, 1);
    bool read = luaL_checkoption(L, 2, "write", modes) == 1;
    char why[WHY_BYTES];
    sqlite3 **slot = kb_bind_new(L, &kb_class_store, 0);
    kb_status st = kb_store_open(path, read, why, sizeof why, slot);
    if (st == KB_ESTORE)
        return kb_bind_fail_text(L, st,
                                 lua_pushfstring(L, "%s: %s", path, why));
    return st ? kb_bind_fail(L, st) : 1;
}

/* Binds the value at idx, which SQLite copies, to a parameter; its code. */
static int bind_value(lua_State *L, sqlite3_stmt *q, int parameter, int idx)
{
    size_t n = 0;
    const char *bytes;
    switch (lua_type(L, idx)) {
    case LUA_TNIL:
        return sqlite3_bind_null(q, parameter);
    case LUA_TBOOLEAN:
        return sqlite3_bind_int(q, parameter, lua_toboolean(L, idx));
    case LUA_TNUMBER:
        if (lua_isinteger(L, idx))
            return sqlite3_bind_int64(q, parameter, lua_tointeger(L, idx));
        return sqlite3_bind_double(q, parameter, lua_tonumber(L, idx));
    case LUA_TSTRING:
        bytes = lua_tolstring(L, idx, &n);
        return sqlite3_bind_text64(q, parameter, bytes, n, SQLITE_TRANSIENT,
                                   SQLITE_UTF8);
    case LUA_TTABLE:
        lua_pushliteral(L, "blob");
        if (lua_rawget(L, idx) == LUA_TSTRING) {        /* [.. blob] */
            bytes = lua_tolstring(L, -1, &n);
            return sqlite3_bind_blob64(q, parameter, bytes, n,
                                       SQLITE_TRANSIENT);
        }
    }
    return luaL_argerror(L, idx, "nil, boolean, number, string or "
                         "{ blob = string } expected");
}

/* [store sql args..] -> [.. query ..]. NULL when SQLite refuses. */
static sqlite3_stmt *prepare(lua_State *L, sqlite3 *store)
{
    const char *tail, *sql = luaL_checkstring(L, 2);
    int args = lua_gettop(L) - 2, code = SQLITE_OK;
    sqlite3_stmt **slot = kb_bind_new(L, &kb_class_query, 0);
    lua_insert(L, 3);                           /* [store sql query args..] */
    if (sqlite3_prepare_v2(store, sql, -1, slot, &tail))
        return NULL;
    luaL_argcheck(L, *slot && !tail[strspn(tail, " \t\r\n;")], 2,
                  "exactly one statement expected");
    int want = sqlite3_bind_parameter_count(*slot);
    if (args != want)
        luaL_error(L, "the statement has %d parameters, %d values were given",
                   want, args);
    for (int i = 1; i <= args && !code; i++)
        code = bind_value(L, *slot, i, i + 3);
    return code ? NULL : *slot;
}

/* Frees the statement that prepare made. */
static void end_query(lua_State *L)
{
    sqlite3_finalize(kb_bind_take(L, 3, &kb_class_query));
}

static int store_exec(lua_State *L)
{
    sqlite3 *store = self(L);
    int code = SQLITE_ERROR;
    if (lua_gettop(L) == 2) {
        code = sqlite3_exec(store, luaL_checkstring(L, 2), NULL, NULL, NULL);
    } else {
        sqlite3_stmt *q = prepare(L, store);
        while (q && (code = sqlite3_step(q)) == SQLITE_ROW)
            ;
        end_query(L);
    }
    if (code != SQLITE_OK && code != SQLITE_DONE)
        return fail(L, store);
    return kb_bind_push_integer(L, sqlite3_changes64(store));
}

KB_GETTER(store_last_id, lua_pushinteger,
          sqlite3_last_insert_rowid(self(L)))

static void push_row(lua_State *L, sqlite3_stmt *q)
{
    lua_newtable(L);                                    /* [.. row] */
    for (int c = 0; c < sqlite3_column_count(q); c++) {
        const char *name = sqlite3_column_name(q, c);
        name = name ? name : "";
        switch (sqlite3_column_type(q, c)) {
        case SQLITE_NULL:
            break;
        case SQLITE_INTEGER:
            KB_SET(L, name, lua_pushinteger, sqlite3_column_int64(q, c));
            break;
        case SQLITE_FLOAT:
            KB_SET(L, name, lua_pushnumber, sqlite3_column_double(q, c));
            break;
        default:
            KB_SET(L, name, lua_pushlstring, sqlite3_column_blob(q, c),
                              (size_t)sqlite3_column_bytes(q, c));
        }
    }
}

static int store_rows(lua_State *L)
{
    sqlite3 *store = self(L);
    int code = SQLITE_ERROR;
    sqlite3_stmt *q = prepare(L, store);
    lua_settop(L, 3);                                   /* [store sql query] */
    lua_newtable(L);                                    /* [.. rows] */
    for (lua_Integer n = 1; q && (code = sqlite3_step(q)) == SQLITE_ROW; n++) {
        push_row(L, q);
        lua_rawseti(L, 4, n);
    }
    end_query(L);
    return code == SQLITE_DONE ? 1 : fail(L, store);
}

KB_CLASS(query, sqlite3_finalize, NULL, NULL, KB_NO_METHODS);
KB_CLASS(store, sqlite3_close_v2, store_new, NULL,
    { "exec", store_exec }, { "last_id", store_last_id },
    { "rows", store_rows });
