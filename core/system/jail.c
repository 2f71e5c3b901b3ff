#include "jail.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io.h"

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
    FS_USE   = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR
             | LANDLOCK_ACCESS_FS_WRITE_FILE,
    FS_ABI1  = (1 << 13) - 1,
    /* No link out of it, which whoever trusts the folder might follow, and no
     * device in it. */
    FS_OWN   = FS_ABI1 & ~(LANDLOCK_ACCESS_FS_MAKE_SYM
                           | LANDLOCK_ACCESS_FS_MAKE_CHAR
                           | LANDLOCK_ACCESS_FS_MAKE_BLOCK),
    FS_REFER = 1 << 13,                 /* ABI 2 */
    FS_TRUNC = 1 << 14,                 /* ABI 3 */
    FS_OF_FILE = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE
               | LANDLOCK_ACCESS_FS_EXECUTE | FS_TRUNC,
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
    const struct { __rlimit_resource_t which; uint64_t value; } some[] = {
        { RLIMIT_AS, l->memory_bytes }, { RLIMIT_STACK, l->stack_bytes },
        { RLIMIT_CPU, l->cpu_s }, { RLIMIT_NOFILE, l->open_files },
    };
    kb_status st = set_limit(RLIMIT_CORE, 0);
    KB_THEN(st, set_limit(RLIMIT_FSIZE, l->file_bytes));
    for (size_t i = 0; i < sizeof some / sizeof *some && !st; i++)
        if (some[i].value)
            st = set_limit(some[i].which, some[i].value);
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
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? KB_OK : KB_ESYS;
    struct stat s;
    if (!fstat(fd, &s) && !S_ISDIR(s.st_mode))
        access &= FS_OF_FILE;
    struct landlock_path_beneath_attr rule = { .allowed_access = access,
                                               .parent_fd = fd };
    long rc = syscall(SYS_landlock_add_rule, ruleset,
                      LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    kb_io_close(&fd);
    return rc ? KB_ESYS : KB_OK;
}

struct trees {
    const char *const *path;
    uint64_t access;
};

static kb_status restrict_to(const struct trees *trees, size_t n)
{
    int abi = kb_jail_landlock_abi();
    if (abi < 1)
        return KB_ENODEV;
    struct ruleset_attr attr = {        /* an older kernel takes zeros */
        .handled_access_fs = FS_ABI1 | (abi >= 2 ? (uint64_t)FS_REFER : 0)
                           | (abi >= 3 ? (uint64_t)FS_TRUNC : 0),
        .handled_access_net = abi >= 4 ? NET_TCP : 0,
        .scoped = abi >= 6 ? SCOPES : 0
    };
    int set = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
    if (set < 0)
        return KB_ESYS;
    kb_status st = KB_OK;
    for (size_t i = 0; i < n; i++)
        for (const char *const *p = trees[i].path; !st && p && *p; p++)
            st = allow(set, *p, trees[i].access & attr.handled_access_fs);
    if (!st && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
                || syscall(SYS_landlock_restrict_self, set, 0)))
        st = KB_ESYS;
    kb_io_close(&set);
    return st;
}

kb_status kb_jail_files(const char *const *read, const char *const *write)
{
    struct trees trees[] = { { read, FS_READ },
                             { write, FS_READ | FS_WRITE | FS_TRUNC } };
    return restrict_to(trees, 2);
}

kb_status kb_jail_trees(const char *const *read, const char *const *use,
                        const char *const *own)
{
    struct trees trees[] = { { read, FS_READ }, { use, FS_USE | FS_TRUNC },
                             { own, FS_OWN | FS_REFER | FS_TRUNC } };
    return restrict_to(trees, 3);
}

/* What a candidate may do: these calls, with any arguments, and those of
 * allow_kernel. A call that this architecture lacks is skipped, so one table
 * serves them all. */
static const char *const always[] = {
    /* to end, to wait, to know itself */
    "exit", "exit_group", "rt_sigreturn", "sched_yield", "restart_syscall",
    "getpid", "gettid", "brk",
#if KB_SANITIZED
    "sigaltstack",                      /* its longjmp asks where that is */
#endif
    NULL
};

/* What the dynamic linker needs, the second filter, and what makes copies. */
static const char *const loading[] = {
    "mprotect", "read", "pread64", "fstat", "newfstatat", "statx", "lseek",
    "close", "readlink", "readlinkat", "access", "faccessat", "faccessat2",
    "getcwd", "seccomp", "getppid", "rt_sigprocmask", "futex", "clock_gettime",
    "getrandom", "munmap", "mremap", "madvise",
    /* A copy's number is not known yet. Code of a candidate that runs here is
     * refused by admission.lua. */
    "tgkill", NULL
};

/* What a compiler may not, of all there is. */
static const char *const build_denied[] = {
    "socket", "socketpair", "connect", "bind", "ptrace", "process_vm_readv",
    "process_vm_writev", "bpf", "perf_event_open", "keyctl", "add_key",
    "request_key", "mount", "umount2", "unshare", "setns", "pivot_root",
    "kexec_load", "init_module", "finit_module", "userfaultfd",
    "io_uring_setup", "open_by_handle_at", "memfd_create", NULL
};

/* What an interpreter may not. */
static const char *const group_denied[] = {
    "setsid", "setpgid", "tkill", "pidfd_send_signal", "pidfd_getfd", "ptrace",
    "unshare", "setns", "mount", "bpf", NULL
};

static bool add_rule(scmp_filter_ctx f, uint32_t action, const char *call,
                     unsigned conditions, const struct scmp_arg_cmp *only)
{
    int number = seccomp_syscall_resolve_name(call);
    return number < 0
        || !seccomp_rule_add_array(f, action, number, conditions, only);
}

static bool add_calls(scmp_filter_ctx f, uint32_t action,
                      const char *const *calls)
{
    while (*calls && add_rule(f, action, *calls, 0, NULL))
        calls++;
    return !*calls;
}

/* above: of addresses that a running kernel gives to the system none is lower,
 * so that it can neither change nor learn what is mapped below. */
static bool allow_kernel(scmp_filter_ctx f, bool load, uint64_t above)
{
#define ONLY(arg, mask, value) SCMP_CMP64(arg, SCMP_CMP_MASKED_EQ, mask, value)
#define NONE(arg) SCMP_CMP64(arg, SCMP_CMP_EQ, 0, 0)
#define ABOVE(arg) SCMP_CMP64(arg, SCMP_CMP_GE, above, 0)
#define BELOW(arg) SCMP_CMP64(arg, SCMP_CMP_LT, above, 0)
#define HEAP ONLY(2, PROT_EXEC, 0), \
             ONLY(3, MAP_ANONYMOUS | MAP_TYPE, MAP_ANONYMOUS | MAP_PRIVATE)
    uint32_t pass = SCMP_ACT_ALLOW, fails = SCMP_ACT_ERRNO(EACCES);
    const struct {
        enum { LOAD, RUN } in;
        const char *call;
        uint32_t action;
        unsigned conditions;
        struct scmp_arg_cmp only[3];
    } rules[] = {
        /* once it runs memory is anonymous and never to execute */
        { RUN, "mmap", pass, 3, { HEAP, NONE(0) } },
        { RUN, "mmap", pass, 3, { HEAP, ABOVE(0) } },
        { RUN, "mprotect", pass, 2, { ONLY(2, PROT_EXEC, 0), ABOVE(0) } },
        { RUN, "mprotect", fails, 2, { ONLY(2, PROT_EXEC, 0), BELOW(0) } },
        { RUN, "munmap", pass, 1, { ABOVE(0) } },
        { RUN, "madvise", pass, 1, { ABOVE(0) } },
        { RUN, "madvise", fails, 1, { BELOW(0) } },
        { RUN, "mremap", pass, 2, { ABOVE(0), ONLY(3, MREMAP_FIXED, 0) } },
        { RUN, "futex", pass, 1, { ABOVE(0) } },
        { RUN, "getrandom", pass, 1, { ABOVE(0) } },
        { RUN, "clock_gettime", pass, 1, { ABOVE(1) } },
        { RUN, "rt_sigprocmask", pass, 2, { NONE(1), NONE(2) } },
        { RUN, "rt_sigprocmask", pass, 2, { NONE(1), ABOVE(2) } },
        { RUN, "rt_sigprocmask", pass, 2, { ABOVE(1), NONE(2) } },
        { RUN, "rt_sigprocmask", pass, 2, { ABOVE(1), ABOVE(2) } },
        /* signals, to itself */
        { RUN, "tgkill", pass, 1,
          { ONLY(0, UINT64_MAX, (uint64_t)getpid()) } },
        /* no copy shares memory that its candidate has mapped */
        { LOAD, "mmap", pass, 1, { ONLY(3, MAP_TYPE, MAP_PRIVATE) } },
        { LOAD, "openat", pass, 1, { ONLY(2, O_ACCMODE, O_RDONLY) } },
        { LOAD, "prctl", pass, 1,
          { ONLY(0, UINT64_MAX, PR_SET_NO_NEW_PRIVS) } },
        /* copies, which are the parent's children and end with it */
        { LOAD, "prctl", pass, 1, { ONLY(0, UINT64_MAX, PR_SET_PDEATHSIG) } },
        { LOAD, "clone", pass, 1,
          { ONLY(0, UINT64_MAX, CLONE_PARENT | SIGCHLD) } },
    };
#undef ONLY
#undef NONE
#undef ABOVE
#undef BELOW
#undef HEAP
    bool good = add_calls(f, SCMP_ACT_ALLOW, always)
             && (!load || add_calls(f, SCMP_ACT_ALLOW, loading));
    for (size_t i = 0; i < sizeof rules / sizeof *rules && good; i++)
        if (rules[i].in == (load ? LOAD : RUN))
            good = add_rule(f, rules[i].action, rules[i].call,
                            rules[i].conditions, rules[i].only);
    return good;
}

/* Nor what its first or second argument says is done to another process. */
static bool deny_group(scmp_filter_ctx f)
{
#define OTHER(arg, self) SCMP_CMP64(arg, SCMP_CMP_NE, self, 0)
    uint64_t own = (uint64_t)getpid();
    uint32_t fails = SCMP_ACT_ERRNO(EPERM), ends = SCMP_ACT_KILL_PROCESS;
    const struct {
        const char *call;
        uint32_t action;
        struct scmp_arg_cmp only;
    } rules[] = {
        { "kill", fails, OTHER(0, own) },   { "tgkill", fails, OTHER(0, own) },
        { "rt_sigqueueinfo", fails, OTHER(0, own) },
        { "rt_tgsigqueueinfo", fails, OTHER(0, own) },
        { "process_vm_readv", fails, OTHER(0, own) },
        { "process_vm_writev", fails, OTHER(0, own) },
        { "prlimit64", fails, OTHER(0, 0) },
        { "ioprio_set", fails, OTHER(1, 0) },
        { "sched_setaffinity", fails, OTHER(0, 0) },
        { "sched_setattr", ends, OTHER(0, 0) },
        { "sched_setparam", ends, OTHER(0, 0) },
        { "sched_setscheduler", ends, OTHER(0, 0) },
        { "setpriority", ends, OTHER(1, 0) },
    };
#undef OTHER
    bool good = add_calls(f, fails, group_denied)
             /* what it computes with is as fast as outside */
             && !seccomp_attr_set(f, SCMP_FLTATR_CTL_SSB, 1);
    for (size_t i = 0; i < sizeof rules / sizeof *rules && good; i++)
        good = add_rule(f, rules[i].action, rules[i].call, 1, &rules[i].only);
    return good;
}

static kb_status enter(enum kb_jail_calls which, uint64_t above)
{
    bool build = which == KB_JAIL_BUILD, group = which == KB_JAIL_GROUP;
    scmp_filter_ctx f = seccomp_init(build || group ? SCMP_ACT_ALLOW
                                                    : SCMP_ACT_TRAP);
    if (!f)
        return KB_ENOMEM;
    int rc = 0;
    bool good = build ? add_calls(f, SCMP_ACT_ERRNO(EPERM), build_denied)
              : group ? deny_group(f)
              : allow_kernel(f, which == KB_JAIL_LOAD, above);
    if (good && (rc = seccomp_load(f)))
        errno = -rc;
    seccomp_release(f);
    return good && !rc ? KB_OK : KB_ESYS;
}

kb_status kb_jail_calls(enum kb_jail_calls which)
{
    return enter(which, 0);
}

kb_status kb_jail_run(const void *above)
{
    return enter(KB_JAIL_RUN, (uintptr_t)above);
}

char *kb_jail_call_name(int number)
{
    return seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
}
