/* core.system - clocks, files, this machine. Files fail with nil, text, code,
 * where code is errno's name ("ENOENT", "ENOSPC") or a kb_status name. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "bind.h"
#include "clock.h"
#include "system/files.h"
#include "system/host.h"
#include "system/interrupt.h"

enum { MAX_RANDOM_BYTES = 64 };
static const size_t max_file_bytes = (size_t)256 << 20;

static int done_path(lua_State *L, kb_status st, const char *path)
{
    return st ? kb_bind_fail_about(L, st, path) : kb_bind_done(L, KB_OK);
}

static int push_path(lua_State *L, kb_status st, const char *path,
                     const char *what)
{
    if (st)
        return kb_bind_fail_about(L, st, what);
    lua_pushstring(L, path);
    return 1;
}

static int now_ns(lua_State *L)
{
    return kb_bind_push_integer(L, kb_clock_now_ns());
}

static int wall_s(lua_State *L)
{
    return kb_bind_push_number(L, kb_host_wall_s());
}

static int sleep_ns(lua_State *L)
{
    lua_Integer ns = luaL_checkinteger(L, 1);
    luaL_argcheck(L, ns >= 0, 1, "must be >= 0");
    return kb_bind_done(L, kb_clock_sleep_ns(ns));
}

static int random_hex(lua_State *L)
{
    unsigned char bytes[MAX_RANDOM_BYTES];
    char text[2 * MAX_RANDOM_BYTES + 1];
    lua_Integer n = luaL_checkinteger(L, 1);
    luaL_argcheck(L, n >= 1 && n <= MAX_RANDOM_BYTES, 1, "must be 1 to 64");
    kb_status st = kb_host_random(bytes, (size_t)n);
    if (st)
        return kb_bind_fail(L, st);
    for (lua_Integer i = 0; i < n; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    lua_pushlstring(L, text, 2 * (size_t)n);
    return 1;
}

/* FNV-1a, 64 bits: http://www.isthe.com/chongo/tech/comp/fnv/ */
static int hash(lua_State *L)
{
    size_t n = 0;
    const char *text = luaL_checklstring(L, 1, &n);
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < n; i++) {
        h ^= (unsigned char)text[i];
        h *= UINT64_C(0x100000001b3);
    }
    char hex[17];
    snprintf(hex, sizeof hex, "%016" PRIx64, h);
    lua_pushstring(L, hex);
    return 1;
}

static int mkdir_p(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    return done_path(L, kb_files_mkdir_p(path), path);
}

static int list(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    size_t count = 0;
    char **slot = kb_bind_block(L);
    kb_status st = kb_files_list(path, slot, &count);
    if (st)
        return kb_bind_fail_about(L, st, path);
    lua_newtable(L);                                    /* [path block list] */
    const char *at = *slot;
    for (size_t i = 1; i <= count; i++) {
        lua_pushstring(L, at);
        lua_rawseti(L, -2, (lua_Integer)i);
        at += strlen(at) + 1;
    }
    free(*slot);
    *slot = NULL;
    return 1;
}

static int exists(lua_State *L)
{
    static const char *const names[] = {
        [KB_FILES_FILE] = "file", [KB_FILES_DIR] = "dir",
        [KB_FILES_OTHER] = "other",
    };
    enum kb_files_kind kind = kb_files_kind(luaL_checkstring(L, 1));
    if (kind == KB_FILES_NONE)
        luaL_pushfail(L);
    else
        lua_pushstring(L, names[kind]);
    return 1;
}

static int real_path(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    char **slot = kb_bind_block(L);
    *slot = realpath(path, NULL);
    if (!*slot)
        return kb_bind_fail_about(L, KB_ESYS, path);
    return kb_bind_push_block(L, slot, strlen(*slot));
}

static int read_file(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    size_t n = 0;
    char **slot = kb_bind_block(L);
    kb_status st = kb_files_read(path, max_file_bytes, slot, &n);
    if (st)
        return kb_bind_fail_about(L, st, path);
    return kb_bind_push_block(L, slot, n);
}

static int write_file(lua_State *L)
{
    size_t n = 0;
    const char *path = luaL_checkstring(L, 1);
    const char *text = luaL_checklstring(L, 2, &n);
    kb_status st = kb_files_write(path, text, n);
    if (st == KB_EINVAL)
        return kb_bind_fail_text(L, st,
            lua_pushfstring(L, "%s: not a regular file", path));
    return done_path(L, st, path);
}

/* The folder relative paths start from: a run is gone on with from its own. */
static int chdir_to(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    return done_path(L, chdir(path) ? KB_ESYS : KB_OK, path);
}

static void lock_free(FILE *f)
{
    if (f)
        fclose(f);
}

KB_CLASS(lock, lock_free);

static int lock(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    FILE **slot = kb_bind_new(L, &kb_class_lock, 0);
    kb_status st = kb_files_lock(path, slot);
    return st ? kb_bind_fail_about(L, st, path) : 1;
}

static int temp_dir(lua_State *L)
{
    char path[KB_HOST_PATH_BYTES];
    return push_path(L, kb_files_temp_dir(path, sizeof path), path,
                     "temporary folder");
}

static int disk_free(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    uint64_t bytes = 0;
    kb_status st = kb_host_disk_free_bytes(path, &bytes);
    if (st)
        return kb_bind_fail_about(L, st, path);
    return kb_bind_push_integer(L, bytes > INT64_MAX ? INT64_MAX
                                                     : (lua_Integer)bytes);
}

static int is_tty(lua_State *L)
{
    lua_Integer fd = luaL_checkinteger(L, 1);
    luaL_argcheck(L, fd >= 0 && fd <= 2, 1, "must be 0, 1 or 2");
    lua_pushboolean(L, isatty((int)fd));
    return 1;
}

static int columns(lua_State *L)
{
    return kb_bind_push_integer(L, kb_host_columns());
}

static int cpu_count(lua_State *L)
{
    return kb_bind_push_integer(L, kb_host_usable_cores());
}

static int cpus(lua_State *L)
{
    int id[KB_HOST_CPUS];
    size_t n = kb_host_cpus(id, KB_HOST_CPUS);
    lua_createtable(L, (int)n, 0);                      /* [ids] */
    for (size_t i = 0; i < n; i++) {
        lua_pushinteger(L, id[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

static int host(lua_State *L)
{
    struct kb_host h;
    kb_host_describe(&h);
    lua_newtable(L);                                    /* [host] */
    kb_bind_set_text(L, "cpu", h.cpu);
    kb_bind_set_text(L, "kernel", h.kernel);
    kb_bind_set_text(L, "libc", h.libc);
    kb_bind_set_text(L, "compiler", __VERSION__);
    kb_bind_set_text(L, "sqlite", sqlite3_libversion());
    kb_bind_set_integer(L, "cores", h.cores);
    kb_bind_set_integer(L, "usable_cores", h.usable_cores);
    kb_bind_set_integer(L, "landlock_abi", h.landlock_abi);
    kb_bind_set_flag(L, "seccomp", h.seccomp);
    kb_bind_set_flag(L, "root", h.root);
    kb_bind_set_flag(L, "perf", h.perf_errno == 0);
    if (h.perf_errno)
        kb_bind_set_text(L, "perf_error", strerror(h.perf_errno));
    return 1;
}

static int has_library(lua_State *L)
{
    lua_pushboolean(L, kb_host_has_library(luaL_checkstring(L, 1)));
    return 1;
}

static int exe(lua_State *L)
{
    char path[KB_HOST_PATH_BYTES];
    return push_path(L, kb_host_exe(path, sizeof path), path,
                     "/proc/self/exe");
}

static int lib_dir(lua_State *L)
{
    char path[KB_HOST_PATH_BYTES];
    return push_path(L, kb_host_lib_dir(path, sizeof path), path,
                     "lua/kernelband/init.lua");
}

static int interrupts(lua_State *L)
{
    return kb_bind_push_integer(L, kb_interrupt_count());
}

void kb_bind_system(lua_State *L)                       /* [core] -> [core] */
{
    static const luaL_Reg functions[] = {
        { "now_ns",      now_ns      }, { "wall_s",     wall_s     },
        { "sleep_ns",    sleep_ns    }, { "random_hex", random_hex },
        { "hash",        hash        }, { "mkdir_p",    mkdir_p    },
        { "list",        list        }, { "exists",     exists     },
        { "realpath",    real_path   }, { "read_file",  read_file  },
        { "write_file",  write_file  }, { "temp_dir",   temp_dir   },
        { "disk_free",   disk_free   }, { "is_tty",     is_tty     },
        { "columns",     columns     }, { "cpu_count",  cpu_count  },
        { "cpus",        cpus        },
        { "host",        host        }, { "exe",        exe        },
        { "has_library", has_library }, { "lib_dir",    lib_dir    },
        { "interrupts",  interrupts  }, { "chdir",      chdir_to   },
        { "lock",        lock        }, { NULL,         NULL       },
    };
    kb_bind_class(L, &kb_class_lock, NULL, NULL);
    luaL_newlib(L, functions);                          /* [core system] */
    lua_setfield(L, -2, "system");
}
