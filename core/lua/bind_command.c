/* Lua face of child.h's commands.
 *
 *   c = core.command(request)  -> command | nil, text, code
 *     request = { argv = { .. }, input =, timeout_ns =, max_bytes =,
 *                 directory =, environment = { "K=V", .. } }
 *     c:result()               -> false: it runs
 *                               | { status =, signal =, output =, errors = } and,
 *                                 of one that was killed, code = "ETIME" | "EFULL"
 *     c:close()                -> the same of what it has said so far; what runs
 *                                 is killed
 */
#include <errno.h>

#include "bind_arg.h"
#include "system/child.h"

KB_CLASS(command, kb_child_free);

enum { MAX_ENVIRONMENT = 4096 };

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
          .most = INT64_MAX / 4 }, { 0 }
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

static int push_result(lua_State *L, const kb_child *c)
{
    struct kb_child_result r = kb_child_look(c);
    lua_newtable(L);                                    /* [result] */
    kb_bind_set_integer(L, "status", r.status);
    if (r.signal)
        kb_bind_set_integer(L, "signal", r.signal);
    kb_bind_set_bytes(L, "output", r.output, r.output_bytes);
    kb_bind_set_bytes(L, "errors", r.errors, r.errors_bytes);
    if (r.result)
        kb_bind_set_text(L, "code", kb_status_name(r.result));
    return 1;
}

static int command_result(lua_State *L)
{
    kb_child *c = kb_bind_self(L, 1, &kb_class_command);
    if (kb_child_done(c))
        return push_result(L, c);
    lua_pushboolean(L, 0);
    return 1;
}

static int command_close(lua_State *L)
{
    push_result(L, kb_bind_self(L, 1, &kb_class_command));
    kb_child_free(kb_bind_take(L, 1, &kb_class_command));
    return 1;
}

void kb_bind_command(lua_State *L)
{
    static const luaL_Reg methods[] = {
        { "result", command_result }, { "close", command_close },
        { NULL, NULL }
    };
    kb_bind_class(L, &kb_class_command, methods, command_new);
}
