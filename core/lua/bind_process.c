/* Lua face of worker.h and, on a worker's side, of frame.h.
 *
 *   w = core.worker(argv)              -> worker | nil, text, code
 *     w:send(text)                     -> true | nil, text, code
 *     w:log()  w:pid()
 *     w:quit(timeout_ns)               -- lets an idle one end by itself
 *     w:receive()                      -> text | false: nothing yet
 *                                       | nil, text, "EWORKER": it is dead
 *   core.wait(sources, timeout_ns)     -> indices of those that have something
 *                                       | nil, text, "ETIME" | "EINTR" | ..
 *     a source is a worker, a core.http or a core.command
 *   ch = core.channel()                -- this process's own stdin and stdout
 *     ch:read()                        -> text | nil, text, "EEMPTY" at the end
 *     ch:write(text)                   -> true | nil, text, code
 */
#include "bind.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "clock.h"
#include "net/http.h"
#include "system/command.h"
#include "system/frame.h"
#include "system/wait.h"
#include "system/worker.h"

#define WORKER  "kernelband.worker"
#define CHANNEL "kernelband.channel"

enum { MAX_ARGS = 64, MAX_SOURCES = 4096 };

struct channel {
    int in, out;
    struct kb_frame_buffer frames;
};

static kb_worker *check_worker(lua_State *L, int idx)
{
    kb_worker **slot = luaL_checkudata(L, idx, WORKER);
    luaL_argcheck(L, *slot, idx, "closed worker");
    return *slot;
}

static int worker_new(lua_State *L)
{
    const char *argv[MAX_ARGS + 1] = { NULL };
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_Integer n = luaL_len(L, 1);
    luaL_argcheck(L, n >= 1 && n <= MAX_ARGS, 1, "1 to 64 words");
    luaL_checkstack(L, MAX_ARGS + 4, NULL);
    for (lua_Integer i = 0; i < n; i++) {
        lua_geti(L, 1, i + 1);                          /* [t .. word] */
        argv[i] = luaL_checkstring(L, -1);
    }
    kb_worker **slot = kb_bind_slot(L, WORKER);
    kb_status st = kb_worker_start(argv, slot);
    return st ? kb_bind_fail(L, st) : 1;
}

static int worker_close(lua_State *L)                   /* __gc and __close */
{
    kb_worker **slot = luaL_checkudata(L, 1, WORKER);
    kb_worker_stop(*slot);
    *slot = NULL;
    return 0;
}

static int worker_quit(lua_State *L)
{
    kb_worker **slot = luaL_checkudata(L, 1, WORKER);
    lua_Integer timeout_ns = luaL_checkinteger(L, 2);
    luaL_argcheck(L, timeout_ns >= 0 && timeout_ns <= INT64_MAX / 2, 2,
                  "a time in nanoseconds");
    kb_worker_quit(*slot, kb_clock_now_ns() + timeout_ns);
    *slot = NULL;
    return 0;
}

static int worker_send(lua_State *L)
{
    size_t n;
    kb_worker *w = check_worker(L, 1);
    const char *text = luaL_checklstring(L, 2, &n);
    kb_status st = kb_worker_send(w, text, n);
    if (st)
        return kb_bind_fail(L, st);
    lua_pushboolean(L, 1);
    return 1;
}

static int worker_log(lua_State *L)
{
    lua_pushstring(L, kb_worker_log(check_worker(L, 1)));
    return 1;
}

static int worker_pid(lua_State *L)
{
    lua_pushinteger(L, kb_worker_pid(check_worker(L, 1)));
    return 1;
}

static int worker_receive(lua_State *L)
{
    kb_worker *w = check_worker(L, 1);
    size_t n;
    kb_status st = kb_worker_listen(w);
    if (st == KB_EEMPTY) {
        lua_pushboolean(L, 0);
        return 1;
    }
    if (st)
        return kb_bind_fail(L, st);
    const char *reply = kb_worker_reply(w, &n);
    lua_pushlstring(L, reply, n);
    kb_worker_next(w);
    return 1;
}

static const struct { const char *type; const struct kb_source_kind *kind; }
speakers[] = {
    { WORKER, &kb_worker_source }, { "kernelband.http", &kb_http_source },
    { "kernelband.command", &kb_command_source },
};

/* The source at the top of the stack, or NULL when it is none. */
static const struct kb_source_kind *kind_of(lua_State *L, void **object)
{
    for (size_t i = 0; i < sizeof speakers / sizeof *speakers; i++) {
        void **slot = luaL_testudata(L, -1, speakers[i].type);
        if (slot && *slot) {
            *object = *slot;
            return speakers[i].kind;
        }
    }
    return NULL;
}

static int wait_any(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_Integer timeout_ns = luaL_checkinteger(L, 2);
    lua_Integer n = luaL_len(L, 1);
    luaL_argcheck(L, n >= 0 && n <= MAX_SOURCES, 1, "0 to 4096 sources");
    size_t count = (size_t)n;
    struct kb_source *sources
        = lua_newuserdatauv(L, (count + 1) * sizeof *sources, 0);
    struct pollfd *scratch
        = lua_newuserdatauv(L, (count + 1) * KB_SOURCE_FDS * sizeof *scratch, 0);
    for (size_t i = 0; i < count; i++) {
        lua_geti(L, 1, (lua_Integer)i + 1);             /* [t timeout s p w] */
        sources[i].kind = kind_of(L, &sources[i].object);
        luaL_argcheck(L, sources[i].kind, 1, "each must be open and able to speak");
        lua_pop(L, 1);
    }
    if (timeout_ns > INT64_MAX / 2)
        timeout_ns = INT64_MAX / 2;
    kb_status st = kb_wait(sources, count, scratch,
                           kb_clock_now_ns() + timeout_ns);
    if (st)
        return kb_bind_fail(L, st);
    lua_newtable(L);
    for (size_t i = 0; i < count; i++)
        if (sources[i].ready) {
            lua_pushinteger(L, (lua_Integer)i + 1);
            lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
        }
    return 1;
}

static struct channel *check_channel(lua_State *L)
{
    struct channel **slot = luaL_checkudata(L, 1, CHANNEL);
    luaL_argcheck(L, *slot, 1, "closed channel");
    return *slot;
}

static int channel_close(lua_State *L)                  /* __gc and __close */
{
    struct channel **slot = luaL_checkudata(L, 1, CHANNEL);
    if (*slot) {
        kb_frame_free(&(*slot)->frames);
        close((*slot)->out);
        free(*slot);
    }
    *slot = NULL;
    return 0;
}

/* Frames leave by a private copy of stdout; descriptor 1 becomes stderr, so
 * that a stray print is a line in the log and not a broken frame. */
static int channel_new(lua_State *L)
{
    struct channel **slot = kb_bind_slot(L, CHANNEL);
    struct channel *c = calloc(1, sizeof *c);
    if (!c)
        return kb_bind_fail(L, KB_ENOMEM);
    c->in = STDIN_FILENO;
    c->out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
    if (c->out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
        free(c);
        return kb_bind_fail(L, KB_ESYS);
    }
    *slot = c;
    return 1;
}

static int channel_read(lua_State *L)
{
    struct channel *c = check_channel(L);
    kb_status st = kb_frame_read(c->in, &c->frames);
    if (st)
        return kb_bind_fail(L, st);
    size_t n;
    const unsigned char *text = kb_frame_first(&c->frames, &n);
    lua_pushlstring(L, (const char *)text, n);
    kb_frame_drop(&c->frames);
    return 1;
}

static int channel_write(lua_State *L)
{
    size_t n;
    struct channel *c = check_channel(L);
    const char *text = luaL_checklstring(L, 2, &n);
    kb_status st = kb_frame_write(c->out, text, n,
                                  kb_clock_now_ns() + 10000000000);
    if (st)
        return kb_bind_fail(L, st);
    lua_pushboolean(L, 1);
    return 1;
}

static const luaL_Reg worker_meta[] = {
    { "__gc", worker_close }, { "__close", worker_close }, { NULL, NULL }
};
static const luaL_Reg worker_methods[] = {
    { "close", worker_close },
    { "quit",  worker_quit  },
    { "send",  worker_send  },
    { "receive", worker_receive },
    { "log",   worker_log   },
    { "pid",   worker_pid   },
    { NULL, NULL }
};
static const luaL_Reg channel_meta[] = {
    { "__gc", channel_close }, { "__close", channel_close }, { NULL, NULL }
};
static const luaL_Reg channel_methods[] = {
    { "close", channel_close },
    { "read",  channel_read  },
    { "write", channel_write },
    { NULL, NULL }
};
static const luaL_Reg functions[] = {
    { "worker",  worker_new  },
    { "wait",    wait_any    },
    { "channel", channel_new },
    { NULL, NULL }
};

void kb_bind_process(lua_State *L)
{
    kb_bind_type(L, WORKER, worker_meta, worker_methods);
    kb_bind_type(L, CHANNEL, channel_meta, channel_methods);
    luaL_setfuncs(L, functions, 0);
}
