/* Lua face of child.h and, on a worker's side, of frame.h.
 *
 *   c = core.command(request)  -> command | nil, text, code
 *     request = { argv = { .. }, input =, timeout_ns =, max_bytes =,
 *                 directory =, environment = { "K=V", .. }, worker = }
 *     c:result()               -> false: it runs
 *                               | { status =, signal =, output =, errors = } and,
 *                                 of one that was killed, code = "ETIME" | "EFULL"
 *     c:close()                -> the same of what it has said so far; what runs
 *                                 is killed
 *   one that is a worker answers frames until its stdin ends:
 *     c:send(text)             -> true | nil, text, code
 *     c:receive()              -> text | false: nothing yet
 *                               | nil, text, "EWORKER": it is dead
 *     c:log()                  -> the last it wrote to stderr
 *     c:quit(timeout_ns)       -- lets an idle one end by itself
 *   core.wait(sources, timeout_ns)     -> indices of those that have something
 *                                       | nil, text, "ETIME" | "EINTR" | ..
 *     a source is a command or a core.http
 *   ch = core.channel()                -- this process's own stdin and stdout
 *     ch:read()                        -> text | nil, text, "EEMPTY" at the end
 *     ch:write(text)                   -> true | nil, text, code
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "bind_arg.h"
#include "clock.h"
#include "net/http.h"
#include "system/child.h"
#include "system/frame.h"
#include "system/wait.h"

enum { MAX_ENVIRONMENT = 4096, MAX_SOURCES = 4096 };

struct channel {
    int out;
    struct kb_bytes frames;
};

KB_SELF(self, kb_child, command)

static int fail_start(lua_State *L, kb_status st,
                      const struct kb_child_request *r)
{
    int error = errno;
    lua_pushfstring(L, "%s cannot be started%s%s", r->argv[0],
                    r->dir ? " in " : "", r->dir ? r->dir : "");
    errno = error;
    return kb_bind_fail_about(L, st, lua_tostring(L, -1));
}

static int command_new(lua_State *L)
{
    const char *argv[KB_CHILD_WORDS + 1];
    const char *input = NULL;
    struct kb_child_request r = {
        .argv = argv, .max_bytes = 16 << 20, .timeout_ns = 600000000000
    };
    luaL_checktype(L, 1, LUA_TTABLE);
    kb_bind_options(L, 1, (const struct kb_option[]) {
        { .name = "argv" }, { .name = "environment" },
        { .name = "directory", .text = &r.dir },
        { .name = "input", .text = &input, .bytes = &r.input_bytes },
        { .name = "max_bytes", .size = &r.max_bytes, .most = 1 << 30 },
        { .name = "timeout_ns", .integer = &r.timeout_ns,
          .most = INT64_MAX / 4 },
        { .name = "worker", .flag = &r.worker }, { 0 }
    });
    r.input = input;
    lua_getfield(L, 1, "argv");                         /* [t argv] */
    kb_bind_words(L, 2, "'argv'", argv, 1, KB_CHILD_WORDS);
    if (lua_getfield(L, 1, "environment") != LUA_TNIL) {    /* [t argv env] */
        const char **env
            = lua_newuserdatauv(L, (MAX_ENVIRONMENT + 1) * sizeof *env, 0);
        kb_bind_words(L, 3, "'environment'", env, 0, MAX_ENVIRONMENT);
        r.env = env;
    }
    kb_child **slot = kb_bind_new(L, &kb_class_command, 0);
    kb_status st = kb_child_start(&r, slot);
    return st ? fail_start(L, st, &r) : 1;
}

static int push_result(lua_State *L, const struct kb_child_result *r)
{
    lua_newtable(L);                                    /* [result] */
    KB_SET(L, "status", lua_pushinteger, r->status);
    if (r->signal)
        KB_SET(L, "signal", lua_pushinteger, r->signal);
    KB_SET(L, "output", lua_pushlstring, r->output.at, r->output.used);
    KB_SET(L, "errors", lua_pushlstring, r->errors.at, r->errors.used);
    if (r->result)
        KB_SET(L, "code", lua_pushstring, kb_status_name(r->result));
    return 1;
}

static int command_result(lua_State *L)
{
    const struct kb_child_result *r = kb_child_look(self(L));
    if (r->done)
        return push_result(L, r);
    lua_pushboolean(L, 0);
    return 1;
}

static int command_close(lua_State *L)
{
    push_result(L, kb_child_look(self(L)));
    kb_child_free(kb_bind_take(L, 1, &kb_class_command));
    return 1;
}

static int command_quit(lua_State *L)
{
    lua_Integer ns = kb_bind_integer(L, 2, "timeout_ns", 0, INT64_MAX / 2);
    kb_child_quit(kb_bind_take(L, 1, &kb_class_command),
                  kb_clock_now_ns() + ns);
    return 0;
}

static int command_send(lua_State *L)
{
    size_t n;
    kb_child *c = self(L);
    const char *text = luaL_checklstring(L, 2, &n);
    return kb_bind_done(L, kb_child_send(c, text, n));
}

KB_GETTER(command_log, lua_pushstring, kb_child_look(self(L))->errors.at)

static int command_receive(lua_State *L)
{
    kb_child *c = self(L);
    size_t n;
    kb_status st = kb_child_listen(c);
    if (st == KB_EEMPTY) {
        lua_pushboolean(L, 0);
        return 1;
    }
    if (st)
        return kb_bind_fail(L, st);
    const char *reply = kb_child_reply(c, &n);
    lua_pushlstring(L, reply, n);
    kb_child_next(c);
    return 1;
}

/* The source at the top of the stack; raises when it is none. */
static void read_source(lua_State *L, struct kb_source *s)
{
    bool command = luaL_testudata(L, -1, kb_class_command.type) != NULL;
    luaL_argcheck(L, command || luaL_testudata(L, -1, kb_class_http.type), 1,
                  "each must be a command or a core.http");
    s->kind = command ? &kb_child_source : &kb_http_source;
    s->object = kb_bind_self(L, lua_gettop(L), command ? &kb_class_command
                                                       : &kb_class_http);
}

int kb_bind_wait(lua_State *L)
{
    size_t count = kb_bind_length(L, 1, MAX_SOURCES);
    lua_Integer timeout_ns = luaL_checkinteger(L, 2);
    struct kb_source *sources
        = lua_newuserdatauv(L, (count + 1) * sizeof *sources, 0);
    struct pollfd *scratch
        = lua_newuserdatauv(L, (count + 1) * KB_SOURCE_FDS * sizeof *scratch, 0);
    for (size_t i = 0; i < count; i++) {
        lua_geti(L, 1, (lua_Integer)i + 1);             /* [t timeout s p w] */
        read_source(L, &sources[i]);
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
    kb_bytes_free(&c->frames);
    close(c->out);
    free(c);
}

KB_SELF(self_channel, struct channel, channel)

/* Frames leave by a private copy of stdout; descriptor 1 becomes stderr, so
 * that a stray print is a line in the log and not a broken frame. */
static int channel_new(lua_State *L)
{
    struct channel **slot = kb_bind_new(L, &kb_class_channel, 0);
    struct channel *c = calloc(1, sizeof *c);
    if (!c)
        return kb_bind_fail(L, KB_ENOMEM);
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
    struct channel *c = self_channel(L);
    kb_status st = kb_frame_read(STDIN_FILENO, &c->frames);
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
    struct channel *c = self_channel(L);
    const char *text = luaL_checklstring(L, 2, &n);
    int64_t by_ns = kb_clock_now_ns() + 10000000000;
    return kb_bind_done(L, kb_frame_write(c->out, text, n, by_ns));
}

KB_CLASS(command, kb_child_free, command_new, NULL,
    { "result", command_result }, { "close", command_close },
    { "send", command_send }, { "receive", command_receive },
    { "log", command_log }, { "quit", command_quit });
KB_CLASS(channel, channel_free, channel_new, NULL,
    { "read", channel_read }, { "write", channel_write });
