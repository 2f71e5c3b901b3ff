#include "jail.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ABI 4 and 6 additions, absent from Debian 12's header. */
struct ruleset_attr {
    uint64_t handled_access_fs;
    uint64_t handled_access_net;        /* ABI 4 */
    uint64_t scoped;                    /* ABI 6 */
};

enum {
    FS_READ  = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR
             | LANDLOCK_ACCESS_FS_EXECUTE,
    FS_WRITE = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE
             | LANDLOCK_ACCESS_FS_MAKE_REG,
    FS_ABI1  = (1 << 13) - 1,
    FS_REFER = 1 << 13,                 /* ABI 2 */
    FS_TRUNC = 1 << 14,                 /* ABI 3 */
    NET_TCP  = 3,                       /* bind and connect */
    SCOPES   = 3                        /* abstract sockets, signals */
};

static kb_status set_limit(__rlimit_resource_t which, uint64_t value)
{
    struct rlimit r = { value, value }, old;
    if (getrlimit(which, &old))
        return KB_ESYS;
    if (old.rlim_max != RLIM_INFINITY && r.rlim_cur > old.rlim_max)
        r.rlim_cur = r.rlim_max = old.rlim_max;
    return setrlimit(which, &r) ? KB_ESYS : KB_OK;
}

uint64_t kb_jail_mapped_bytes(void)
{
    unsigned long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%llu", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

kb_status kb_jail_limit(const struct kb_jail_limits *l)
{
    kb_status st = set_limit(RLIMIT_CORE, 0);
    if (!st)
        st = set_limit(RLIMIT_FSIZE, l->file_bytes);
    if (!st && l->memory_bytes)
        st = set_limit(RLIMIT_AS, l->memory_bytes);
    if (!st && l->stack_bytes)
        st = set_limit(RLIMIT_STACK, l->stack_bytes);
    if (!st && l->cpu_s)
        st = set_limit(RLIMIT_CPU, l->cpu_s);
    if (!st && l->open_files)
        st = set_limit(RLIMIT_NOFILE, l->open_files);
    return st;
}

kb_status kb_jail_user(void)
{
    if (geteuid() != 0)
        return KB_OK;
    for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
        prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
    gid_t g = KB_JAIL_NOBODY;
    uid_t u = KB_JAIL_NOBODY;
    if (setgroups(0, NULL) || setresgid(g, g, g) || setresuid(u, u, u))
        return KB_ESYS;
    /* A change of user clears this; the parent's death must still end us. */
    return prctl(PR_SET_PDEATHSIG, SIGKILL) ? KB_ESYS : KB_OK;
}

int kb_jail_landlock_abi(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
                       LANDLOCK_CREATE_RULESET_VERSION);
    return abi > 0 ? (int)abi : 0;
}

static kb_status allow(int ruleset, const char *path, uint64_t access)
{
    struct landlock_path_beneath_attr rule = { .allowed_access = access };
    rule.parent_fd = open(path, O_PATH | O_CLOEXEC);
    if (rule.parent_fd < 0)
        return errno == ENOENT ? KB_OK : KB_ESYS;
    long rc = syscall(SYS_landlock_add_rule, ruleset,
                      LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    if (rc && errno == EINVAL) {        /* a plain file takes no folder rights */
        rule.allowed_access &= (uint64_t)(LANDLOCK_ACCESS_FS_READ_FILE
            | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_EXECUTE
            | FS_TRUNC);
        rc = syscall(SYS_landlock_add_rule, ruleset,
                     LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    }
    int saved = errno;
    close(rule.parent_fd);
    errno = saved;
    return rc ? KB_ESYS : KB_OK;
}

kb_status kb_jail_files(const char *const *read, const char *const *write)
{
    int abi = kb_jail_landlock_abi();
    if (abi < 1)
        return KB_ENODEV;
    struct ruleset_attr attr = { .handled_access_fs = FS_ABI1 };
    uint64_t rw = FS_READ | FS_WRITE;
    if (abi >= 2)
        attr.handled_access_fs |= FS_REFER;
    if (abi >= 3) {
        attr.handled_access_fs |= FS_TRUNC;
        rw |= FS_TRUNC;
    }
    if (abi >= 4)
        attr.handled_access_net = NET_TCP;
    if (abi >= 6)
        attr.scoped = SCOPES;
    size_t bytes = abi >= 6 ? sizeof attr
                 : abi >= 4 ? offsetof(struct ruleset_attr, scoped)
                 : offsetof(struct ruleset_attr, handled_access_net);

    int set = (int)syscall(SYS_landlock_create_ruleset, &attr, bytes, 0);
    if (set < 0)
        return KB_ESYS;
    kb_status st = KB_OK;
    for (; !st && read && *read; read++)
        st = allow(set, *read, FS_READ);
    for (; !st && write && *write; write++)
        st = allow(set, *write, rw);
    if (!st && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
                || syscall(SYS_landlock_restrict_self, set, 0)))
        st = KB_ESYS;
    int saved = errno;
    close(set);
    errno = saved;
    return st;
}

/* What a candidate may do: this table and nothing else. A call may be listed
 * more than once; every line allows it. One that this architecture lacks is
 * skipped, so one table serves them all. */
enum { LOAD = KB_JAIL_IN_LOAD, RUN = KB_JAIL_IN_RUN, BOTH = LOAD | RUN };

static const struct kb_jail_rule rules[] = {
    /* to end, to wait, to know the time and itself */
    { "exit", BOTH, 0, { { 0 } } },          { "exit_group", BOTH, 0, { { 0 } } },
    { "rt_sigreturn", BOTH, 0, { { 0 } } },  { "rt_sigprocmask", BOTH, 0, { { 0 } } },
    { "futex", BOTH, 0, { { 0 } } },         { "sched_yield", BOTH, 0, { { 0 } } },
    { "clock_gettime", BOTH, 0, { { 0 } } }, { "restart_syscall", BOTH, 0, { { 0 } } },
    { "getpid", BOTH, 0, { { 0 } } },        { "gettid", BOTH, 0, { { 0 } } },
    { "getrandom", BOTH, 0, { { 0 } } },
    /* signals, to itself */
    { "tgkill", BOTH, 1, { { 0, UINT64_MAX, KB_JAIL_SELF } } },
    /* memory; once it runs anonymous and never to execute */
    { "brk", BOTH, 0, { { 0 } } },           { "munmap", BOTH, 0, { { 0 } } },
    { "mremap", BOTH, 0, { { 0 } } },        { "madvise", BOTH, 0, { { 0 } } },
    { "mmap", LOAD, 0, { { 0 } } },          { "mprotect", LOAD, 0, { { 0 } } },
    { "mmap", RUN, 2, { { 2, PROT_EXEC, 0 },
                        { 3, MAP_ANONYMOUS, MAP_ANONYMOUS } } },
    { "mprotect", RUN, 1, { { 2, PROT_EXEC, 0 } } },
    /* what the dynamic linker needs, and the second filter */
    { "openat", LOAD, 1, { { 2, O_ACCMODE, O_RDONLY } } },
    { "read", LOAD, 0, { { 0 } } },          { "pread64", LOAD, 0, { { 0 } } },
    { "fstat", LOAD, 0, { { 0 } } },         { "newfstatat", LOAD, 0, { { 0 } } },
    { "statx", LOAD, 0, { { 0 } } },         { "lseek", LOAD, 0, { { 0 } } },
    { "close", LOAD, 0, { { 0 } } },         { "readlink", LOAD, 0, { { 0 } } },
    { "readlinkat", LOAD, 0, { { 0 } } },    { "access", LOAD, 0, { { 0 } } },
    { "faccessat", LOAD, 0, { { 0 } } },     { "faccessat2", LOAD, 0, { { 0 } } },
    { "getcwd", LOAD, 0, { { 0 } } },        { "seccomp", LOAD, 0, { { 0 } } },
    { "prctl", LOAD, 1, { { 0, UINT64_MAX, PR_SET_NO_NEW_PRIVS } } },
#if KB_SANITIZED
    { "sigaltstack", BOTH, 0, { { 0 } } },  /* its longjmp asks where that is */
#endif
};

/* What a compiler may not, of all there is. */
static const char *const build_denied[] = {
    "socket", "socketpair", "connect", "bind", "ptrace", "process_vm_readv",
    "process_vm_writev", "bpf", "perf_event_open", "keyctl", "add_key",
    "request_key", "mount", "umount2", "unshare", "setns", "pivot_root",
    "kexec_load", "init_module", "finit_module", "userfaultfd",
    "io_uring_setup", "open_by_handle_at", "memfd_create"
};

const struct kb_jail_rule *kb_jail_rules(size_t *n)
{
    *n = sizeof rules / sizeof *rules;
    return rules;
}

static kb_status add_rule(scmp_filter_ctx f, const struct kb_jail_rule *r)
{
    struct scmp_arg_cmp cmp[KB_JAIL_CONDITIONS];
    int nr = seccomp_syscall_resolve_name(r->call);
    if (nr == __NR_SCMP_ERROR || nr < 0)
        return KB_OK;
    for (uint32_t i = 0; i < r->conditions; i++) {
        uint64_t want = r->condition[i].value == KB_JAIL_SELF
                      ? (uint64_t)getpid() : r->condition[i].value;
        cmp[i] = SCMP_CMP64(r->condition[i].arg, SCMP_CMP_MASKED_EQ,
                            r->condition[i].mask, want);
    }
    return seccomp_rule_add_array(f, SCMP_ACT_ALLOW, nr, r->conditions, cmp)
         ? KB_ESYS : KB_OK;
}

static kb_status add_rules(scmp_filter_ctx f, unsigned in)
{
    kb_status st = KB_OK;
    for (size_t i = 0; i < sizeof rules / sizeof *rules && !st; i++)
        if (rules[i].in & in)
            st = add_rule(f, &rules[i]);
    return st;
}

static kb_status deny_build(scmp_filter_ctx f)
{
    for (size_t i = 0; i < sizeof build_denied / sizeof *build_denied; i++) {
        int nr = seccomp_syscall_resolve_name(build_denied[i]);
        if (nr != __NR_SCMP_ERROR && nr >= 0
            && seccomp_rule_add_exact(f, SCMP_ACT_ERRNO(EPERM), nr, 0))
            return KB_ESYS;
    }
    return KB_OK;
}

kb_status kb_jail_calls(enum kb_jail_calls which)
{
    bool build = which == KB_JAIL_BUILD;
    scmp_filter_ctx f = seccomp_init(build ? SCMP_ACT_ALLOW : SCMP_ACT_TRAP);
    if (!f)
        return KB_ENOMEM;
    kb_status st = build ? deny_build(f)
                 : add_rules(f, which == KB_JAIL_LOAD ? LOAD : RUN);
    if (!st) {
        int rc = seccomp_load(f);
        if (rc) {
            errno = -rc;
            st = KB_ESYS;
        }
    }
    seccomp_release(f);
    return st;
}

char *kb_jail_call_name(int number)
{
    return seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
}
