/* Lua face of child.h's workers and, on a worker's side, of frame.h.
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
#include "bind_arg.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "clock.h"
#include "net/http.h"
#include "system/child.h"
#include "system/frame.h"
#include "system/wait.h"

enum { MAX_ARGS = 64, MAX_SOURCES = 4096 };

struct channel {
    int in, out;
    struct kb_bytes frames;
};

KB_CLASS(worker, kb_child_free);

static kb_child *check_worker(lua_State *L)
{
    return kb_bind_self(L, 1, &kb_class_worker);
}

static int worker_new(lua_State *L)
{
    const char *argv[MAX_ARGS + 1] = { NULL };
    struct kb_child_request request = { .argv = argv, .worker = true };
    kb_bind_words(L, 1, "argv", argv, 1, MAX_ARGS);
    kb_child **slot = kb_bind_new(L, &kb_class_worker, 0);
    kb_status st = kb_child_start(&request, slot);
    return st ? kb_bind_fail(L, st) : 1;
}

static int worker_quit(lua_State *L)
{
    lua_Integer ns = kb_bind_integer(L, 2, "timeout_ns", 0, INT64_MAX / 2);
    kb_child_quit(kb_bind_take(L, 1, &kb_class_worker),
                   kb_clock_now_ns() + ns);
    return 0;
}

static int worker_send(lua_State *L)
{
    size_t n;
    kb_child *w = check_worker(L);
    const char *text = luaL_checklstring(L, 2, &n);
    return kb_bind_done(L, kb_child_send(w, text, n));
}

static int worker_log(lua_State *L)
{
    lua_pushstring(L, kb_child_look(check_worker(L)).errors);
    return 1;
}

static int worker_pid(lua_State *L)
{
    return kb_bind_push_integer(L, kb_child_pid(check_worker(L)));
}

static int worker_receive(lua_State *L)
{
    kb_child *w = check_worker(L);
    size_t n;
    kb_status st = kb_child_listen(w);
    if (st == KB_EEMPTY) {
        lua_pushboolean(L, 0);
        return 1;
    }
    if (st)
        return kb_bind_fail(L, st);
    const char *reply = kb_child_reply(w, &n);
    lua_pushlstring(L, reply, n);
    kb_child_next(w);
    return 1;
}

/* The source at the top of the stack, or NULL when it is none. */
static const struct kb_source_kind *kind_of(lua_State *L, void **object)
{
    static const struct {
        const struct kb_class *c;
        const struct kb_source_kind *kind;
    } speakers[] = {
        { &kb_class_worker, &kb_child_source },
        { &kb_class_http, &kb_http_source },
        { &kb_class_command, &kb_child_source },
    };
    for (size_t i = 0; i < sizeof speakers / sizeof *speakers; i++)
        if (luaL_testudata(L, -1, speakers[i].c->type)) {
            *object = kb_bind_self(L, lua_gettop(L), speakers[i].c);
            return speakers[i].kind;
        }
    return NULL;
}

static int wait_any(lua_State *L)
{
    size_t count = kb_bind_length(L, 1, MAX_SOURCES);
    lua_Integer timeout_ns = luaL_checkinteger(L, 2);
    struct kb_source *sources
        = lua_newuserdatauv(L, (count + 1) * sizeof *sources, 0);
    struct pollfd *scratch
        = lua_newuserdatauv(L, (count + 1) * KB_SOURCE_FDS * sizeof *scratch, 0);
    for (size_t i = 0; i < count; i++) {
        lua_geti(L, 1, (lua_Integer)i + 1);             /* [t timeout s p w] */
        sources[i].kind = kind_of(L, &sources[i].object);
        luaL_argcheck(L, sources[i].kind, 1, "each must be able to speak");
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

static void channel_free(struct channel *c)
{
    if (!c)
        return;
    kb_bytes_free(&c->frames);
    close(c->out);
    free(c);
}

KB_CLASS(channel, channel_free);

/* Frames leave by a private copy of stdout; descriptor 1 becomes stderr, so
 * that a stray print is a line in the log and not a broken frame. */
static int channel_new(lua_State *L)
{
    struct channel **slot = kb_bind_new(L, &kb_class_channel, 0);
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
    struct channel *c = kb_bind_self(L, 1, &kb_class_channel);
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
    struct channel *c = kb_bind_self(L, 1, &kb_class_channel);
    const char *text = luaL_checklstring(L, 2, &n);
    kb_status st = kb_frame_write(c->out, text, n,
                                  kb_clock_now_ns() + 10000000000);
    return kb_bind_done(L, st);
}

void kb_bind_process(lua_State *L)
{
    static const luaL_Reg worker_methods[] = {
        { "quit", worker_quit }, { "send", worker_send },
        { "receive", worker_receive },
        { "log", worker_log }, { "pid", worker_pid }, { NULL, NULL }
    };
    static const luaL_Reg channel_methods[] = {
        { "read", channel_read }, { "write", channel_write }, { NULL, NULL }
    };
    kb_bind_class(L, &kb_class_worker, worker_methods, worker_new);
    kb_bind_class(L, &kb_class_channel, channel_methods, channel_new);
    lua_pushcfunction(L, wait_any);
    lua_setfield(L, -2, "wait");
}
