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

/* Names are looked up at run time: one list serves every architecture, and a
 * name that this one lacks is skipped. */
static const char *const build_denied[] = {
    "socket", "socketpair", "connect", "bind", "ptrace", "process_vm_readv",
    "process_vm_writev", "bpf", "perf_event_open", "keyctl", "add_key",
    "request_key", "mount", "umount2", "unshare", "setns", "pivot_root",
    "kexec_load", "init_module", "finit_module", "userfaultfd",
    "io_uring_setup", "open_by_handle_at", "memfd_create", NULL
};

static const char *const run_allowed[] = {
    "exit", "exit_group", "rt_sigreturn", "rt_sigprocmask", "futex", "brk",
    "munmap", "mremap", "madvise", "sched_yield", "clock_gettime", "getpid",
    "gettid", "getrandom", "restart_syscall", NULL
};

static const char *const load_allowed[] = {
    "read", "pread64", "fstat", "newfstatat", "statx", "lseek", "close",
    "readlink", "readlinkat", "access", "faccessat", "faccessat2", "seccomp",
    "getcwd", "mmap", "mprotect", NULL
};

static kb_status add(scmp_filter_ctx f, uint32_t act, const char *const *names)
{
    for (; *names; names++) {
        int nr = seccomp_syscall_resolve_name(*names);
        if (nr != __NR_SCMP_ERROR && nr >= 0
            && seccomp_rule_add_exact(f, act, nr, 0))
            return KB_ESYS;
    }
    return KB_OK;
}

/* Memory without execute rights, and signals to oneself. */
static kb_status add_run_rules(scmp_filter_ctx f)
{
    int bad = 0;
    bad |= seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2,
               SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
               SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, MAP_ANONYMOUS));
    bad |= seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
               SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
    bad |= seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
               SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid(), 0));
    return bad ? KB_ESYS : KB_OK;
}

static kb_status add_load_rules(scmp_filter_ctx f)
{
    int bad = 0;
    bad |= seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
               SCMP_A2(SCMP_CMP_MASKED_EQ, O_ACCMODE, O_RDONLY));
    bad |= seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1,
               SCMP_A0(SCMP_CMP_EQ, PR_SET_NO_NEW_PRIVS, 0));
    bad |= seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
               SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid(), 0));
    return bad ? KB_ESYS : add(f, SCMP_ACT_ALLOW, load_allowed);
}

kb_status kb_jail_calls(enum kb_jail_calls which)
{
    bool build = which == KB_JAIL_BUILD;
    scmp_filter_ctx f = seccomp_init(build ? SCMP_ACT_ALLOW : SCMP_ACT_TRAP);
    if (!f)
        return KB_ENOMEM;
    kb_status st;
    if (build)
        st = add(f, SCMP_ACT_ERRNO(EPERM), build_denied);
    else
        st = add(f, SCMP_ACT_ALLOW, run_allowed);
    if (!st && which == KB_JAIL_LOAD)
        st = add_load_rules(f);
    if (!st && which == KB_JAIL_RUN)
        st = add_run_rules(f);
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
