/* Lua face of events.h.
 *
 *   e = core.events([most = 8 MiB])
 *     e:feed(chunk)        -> true | nil, text, code   "\n\n" at the end of a stream
 *     e:next()             -> said, data, name
 *                           | nil, text, code      "EFULL": an event beyond most
 *       said: what usual events before this one said, as JSON writes it, "": nothing;
 *       data: nil when there is no other event yet; name: nil when it has none
 *     e:usual([before, after [, tail]])            what usual events are; nothing: none is
 */
#include "bind.h"

#include <stdbool.h>

#include "bind_arg.h"
#include "net/events.h"

KB_CLASS(events, kb_events_free);

static const lua_Integer default_most = 8 << 20;

static kb_events *check_events(lua_State *L)
{
    return kb_bind_self(L, 1, &kb_class_events);
}

static int events_new(lua_State *L)
{
    lua_Integer most = luaL_optinteger(L, 1, default_most);
    luaL_argcheck(L, most >= 1 && most <= 1 << 30, 1, "1 to 2^30 bytes");
    kb_events **slot = kb_bind_new(L, &kb_class_events, 0);
    kb_status st = kb_events_new((size_t)most, slot);
    return st ? kb_bind_fail(L, st) : 1;
}

static int fail(lua_State *L, const kb_events *e, kb_status st)
{
    if (st != KB_EFULL)
        return kb_bind_fail(L, st);
    lua_pushfstring(L, "an event of the stream is larger than %I bytes",
                    (LUAI_UACINT)kb_events_most(e));
    return kb_bind_fail_text(L, st, lua_tostring(L, -1));
}

static int events_feed(lua_State *L)
{
    size_t n;
    kb_events *e = check_events(L);
    const char *chunk = luaL_checklstring(L, 2, &n);
    kb_status st = kb_events_feed(e, chunk, n);
    if (st)
        return fail(L, e, st);
    lua_pushboolean(L, true);
    return 1;
}

static int events_next(lua_State *L)
{
    kb_events *e = check_events(L);
    struct kb_event event;
    kb_status st = kb_events_next(e, &event);
    if (st && st != KB_EEMPTY)
        return fail(L, e, st);
    size_t n;
    const char *said = kb_events_text(e, &n);
    lua_pushlstring(L, n ? said : "", n);
    kb_events_taken(e);
    if (st == KB_EEMPTY)
        return 1;
    lua_pushlstring(L, event.data, event.data_n);
    if (!event.name_n)
        return 2;
    lua_pushlstring(L, event.name, event.name_n);
    return 3;
}

static int events_usual(lua_State *L)
{
    size_t before_n = 0, after_n = 0, tail_n = 0;
    const char *before = luaL_optlstring(L, 2, "", &before_n);
    const char *after = luaL_optlstring(L, 3, "", &after_n);
    const char *tail = luaL_optlstring(L, 4, "", &tail_n);
    luaL_argcheck(L, !before_n || (after_n && *after == '"'), 3,
                  "must begin with the closing quote");
    kb_events *e = check_events(L);
    kb_status st = kb_events_usual(e, before, before_n, after, after_n, tail, tail_n);
    if (st)
        return fail(L, e, st);
    lua_pushboolean(L, true);
    return 1;
}

void kb_bind_events(lua_State *L)
{
    static const luaL_Reg methods[] = {
        { "feed", events_feed }, { "next", events_next }, { "usual", events_usual },
        { NULL, NULL }
    };
    kb_bind_class(L, &kb_class_events, methods, events_new);
}
