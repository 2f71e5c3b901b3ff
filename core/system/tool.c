#include "tool.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "jail.h"
#include "process.h"

static const struct kb_jail_limits limits = {
    .memory_bytes = (uint64_t)2 << 30, .file_bytes = 64 << 20, .cpu_s = 20,
    .open_files = 64
};

/* What a tool has to read. The rest of the file system, /proc and /etc
 * with it, stays out of reach of #include, #embed and .incbin. */
static const char *const reads[] = {
    "/usr/bin", "/bin", "/usr/lib/gcc", "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu", "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/usr/libexec/gcc",
    "/usr/lib/bfd-plugins", "/usr/lib/clang", "/usr/include",
    "/usr/local/include", "/etc/ld.so.cache"
};
enum { READS = sizeof reads / sizeof *reads };

struct room {                   /* what its jail is made of */
    const char *dir, *own;
};

static int enter(void *arg)
{
    const struct room *room = arg;
    const char *const write[] = { room->dir, "/dev/null", NULL };
    const char *read[READS + 2];
    memcpy(read, reads, sizeof reads);
    read[READS] = room->own[0] ? room->own : NULL;
    read[READS + 1] = NULL;
    kb_status st = kb_jail_user();
    KB_THEN(st, kb_jail_files(read, write));
    KB_THEN(st, kb_jail_calls(KB_JAIL_BUILD));
    if (!st)        /* last: a sanitized build cannot allocate after this */
        st = kb_jail_limit(&limits);
    return st ? errno ? errno : EPERM : 0;
}

kb_status kb_tool_run(const char *dir, const char *own,
                      const char *const *argv, int64_t deadline_ns,
                      char *text, size_t cap, size_t *used, int *wstatus)
{
    char tmp[4200];
    int n = snprintf(tmp, sizeof tmp, "TMPDIR=%s", dir);
    if (n < 0 || (size_t)n >= sizeof tmp)
        return KB_EINVAL;
    const char *const env[] = { "PATH=/usr/bin:/bin", "LC_ALL=C", tmp, NULL };
    struct room room = { dir, own };
    struct kb_process_spec spec = {
        .argv = argv, .env = env, .dir = dir, .enter = enter, .arg = &room
    };
    int own_status = 0, *to = wstatus ? wstatus : &own_status;
    kb_status st = kb_process_run(&spec, deadline_ns, text, cap, used, to);
    return st ? st : own_status ? KB_EWORKER : KB_OK;
}
