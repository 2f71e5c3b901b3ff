/* core.system - clocks, files, this machine. Files fail with nil, text, code,
 * where code is errno's name ("ENOENT", "ENOSPC") or a kb_status name. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <lualib.h>
#include <sqlite3.h>

#include "bind.h"
#include "clock.h"
#include "cpu/perf.h"
#include "system/files.h"
#include "system/host.h"
#include "system/interrupt.h"
#include "system/jail.h"

enum { MAX_RANDOM_BYTES = 64 };
static const size_t max_file_bytes = (size_t)256 << 20;

static int done_path(lua_State *L, kb_status st, const char *path)
{
    return st ? kb_bind_fail_about(L, st, path) : kb_bind_done(L, KB_OK);
}

KB_GETTER(now_ns, lua_pushinteger, kb_clock_now_ns())
KB_GETTER(wall_s, lua_pushnumber, (double)kb_clock_wall_ns() / 1e9)

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
    if (getentropy(bytes, sizeof bytes))
        return kb_bind_fail(L, KB_ESYS);
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

KB_CLASS(folder, closedir, NULL, NULL, KB_NO_METHODS);

/* Names in byte order, without "." and "..". */
static int list(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    DIR **slot = kb_bind_new(L, &kb_class_folder, 0);
    *slot = opendir(path);
    if (!*slot)
        return kb_bind_fail_about(L, KB_ESYS, path);
    luaL_requiref(L, LUA_TABLIBNAME, luaopen_table, 0);
    lua_getfield(L, -1, "sort");
    lua_newtable(L);                        /* [.. slot table sort list] */
    lua_Integer n = 0;
    for (struct dirent *e; (e = readdir(*slot)); )
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) {
            lua_pushstring(L, e->d_name);
            lua_rawseti(L, -2, ++n);
        }
    lua_pushvalue(L, -1);
    lua_insert(L, -3);                      /* [.. table list sort list] */
    lua_call(L, 1, 0);
    closedir(kb_bind_take(L, 2, &kb_class_folder));
    return 1;
}

KB_GETTER(exists, lua_pushstring, kb_files_kind(luaL_checkstring(L, 1)))

static int real_path(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    char real[PATH_MAX];
    if (!realpath(path, real))
        return kb_bind_fail_about(L, KB_ESYS, path);
    lua_pushstring(L, real);
    return 1;
}

static int read_file(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    size_t n = 0;
    char **slot = kb_bind_block(L);
    kb_status st = kb_files_read(path, max_file_bytes, slot, &n);
    return st ? kb_bind_fail_about(L, st, path)
              : kb_bind_push_block(L, slot, n);
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

KB_CLASS(lock, fclose, NULL, NULL, KB_NO_METHODS);

static int lock(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    FILE **slot = kb_bind_new(L, &kb_class_lock, 0);
    kb_status st = kb_files_lock(path, slot);
    return st ? kb_bind_fail_about(L, st, path) : 1;
}

/* Defines a function that returns the path that find gives. */
#define PATH(function, find, what)                                           \
    static int function(lua_State *L)                                        \
    {                                                                        \
        char path[KB_HOST_PATH_BYTES];                                       \
        kb_status st = find(path, sizeof path);                              \
        if (st)                                                              \
            return kb_bind_fail_about(L, st, what);                          \
        lua_pushstring(L, path);                                             \
        return 1;                                                            \
    }

PATH(temp_dir, kb_files_temp_dir, "temporary folder")
PATH(exe, kb_host_exe, "/proc/self/exe")
PATH(lib_dir, kb_host_lib_dir, "lua/kernelband/init.lua")

static int disk_free(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    struct statvfs fs;
    if (statvfs(path, &fs))
        return kb_bind_fail_about(L, KB_ESYS, path);
    return kb_bind_push_integer(L, (lua_Integer)(fs.f_bavail * fs.f_frsize));
}

static int is_tty(lua_State *L)
{
    lua_Integer fd = luaL_checkinteger(L, 1);
    luaL_argcheck(L, fd >= 0 && fd <= 2, 1, "must be 0, 1 or 2");
    lua_pushboolean(L, isatty((int)fd));
    return 1;
}

/* Of the terminal behind stderr, else $COLUMNS, else 80. */
static int columns(lua_State *L)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return kb_bind_push_integer(L, size.ws_col);
    const char *text = getenv("COLUMNS");
    long n = text ? strtol(text, NULL, 10) : 0;
    return kb_bind_push_integer(L, n > 0 && n < 10000 ? n : 80);
}

/* Processors this process may run on: one at least. In a cpuset they need not
 * start at 0, nor follow one another. */
static cpu_set_t usable_cpus(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) || CPU_COUNT(&set) < 1) {
        CPU_ZERO(&set);
        CPU_SET(0, &set);
    }
    return set;
}

static int cpus(lua_State *L)
{
    cpu_set_t set = usable_cpus();
    lua_Integer n = 0;
    lua_newtable(L);                                    /* [ids] */
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET((size_t)i, &set)) {
            lua_pushinteger(L, i);
            lua_rawseti(L, -2, ++n);
        }
    return 1;
}

/* [host] -> [host] */
static void set_cpu_name(lua_State *L)
{
    char line[512], name[256] = "unknown";
    FILE *f = fopen("/proc/cpuinfo", "re");
    while (f && fgets(line, sizeof line, f)
           && sscanf(line, "model name : %255[^\n]", name) != 1)
        ;
    if (f)
        fclose(f);
    KB_SET(L, "cpu", lua_pushstring, name);
}

static int host(lua_State *L)
{
    struct utsname u = { .sysname = "unknown" };
    struct kb_perf perf;
    cpu_set_t set = usable_cpus();
    uname(&u);
    lua_newtable(L);                                    /* [host] */
    set_cpu_name(L);
    lua_pushfstring(L, "%s %s %s", u.sysname, u.release, u.machine);
    lua_setfield(L, -2, "kernel");
    lua_pushfstring(L, "glibc %s", gnu_get_libc_version());
    lua_setfield(L, -2, "libc");
    KB_SET(L, "compiler", lua_pushstring, __VERSION__);
    KB_SET(L, "sqlite", lua_pushstring, sqlite3_libversion());
    KB_SET(L, "cores", lua_pushinteger, sysconf(_SC_NPROCESSORS_ONLN));
    KB_SET(L, "usable_cores", lua_pushinteger, CPU_COUNT(&set));
    KB_SET(L, "landlock_abi", lua_pushinteger, kb_jail_landlock_abi());
    bool seccomp = prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0;
    KB_SET(L, "seccomp", lua_pushboolean, seccomp);
    KB_SET(L, "root", lua_pushboolean, geteuid() == 0);
    bool counts = kb_perf_open(0, &perf) == KB_OK;
    KB_SET(L, "perf", lua_pushboolean, counts);
    if (!counts)
        KB_SET(L, "perf_error", lua_pushstring, strerror(errno));
    kb_perf_close(&perf);
    return 1;
}

static int has_library(lua_State *L)
{
    void *library = dlopen(luaL_checkstring(L, 1), RTLD_LAZY | RTLD_LOCAL);
    if (library)
        dlclose(library);
    lua_pushboolean(L, library != NULL);
    return 1;
}

KB_GETTER(interrupts, lua_pushinteger, kb_interrupt_count())

const luaL_Reg kb_module_system[] = {
    { "now_ns", now_ns }, { "wall_s", wall_s }, { "sleep_ns", sleep_ns },
    { "random_hex", random_hex }, { "hash", hash }, { "mkdir_p", mkdir_p },
    { "list", list }, { "exists", exists }, { "realpath", real_path },
    { "read_file", read_file }, { "write_file", write_file },
    { "temp_dir", temp_dir }, { "disk_free", disk_free }, { "is_tty", is_tty },
    { "columns", columns }, { "cpus", cpus },
    { "host", host }, { "exe", exe }, { "has_library", has_library },
    { "lib_dir", lib_dir }, { "interrupts", interrupts },
    { "chdir", chdir_to }, { "lock", lock }, { NULL, NULL }
};
