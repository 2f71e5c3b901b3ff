#include "cpu.h"

#include <dirent.h>
#include <fcntl.h>
#include <libgen.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"
#include "roofline.h"
#include "system/io.h"
#include "system/jail.h"
#include "system/process.h"

/* Of scratch folders and of nothing else: stale ones are removed by name. */
static const char prefix[] = "kernelband-objects-";

static bool find_tool(const char *const *names, char out[KB_CPU_TOOL])
{
    static const char *const dirs[] = { "/usr/bin", "/bin", "/usr/local/bin" };
    for (; *names; names++)
        for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
            int n = snprintf(out, KB_CPU_TOOL, "%s/%s", dirs[i], *names);
            if (n > 0 && n < KB_CPU_TOOL && access(out, X_OK) == 0)
                return true;
        }
    out[0] = '\0';
    return false;
}

/* A compiler outside /usr reads its own tree, one folder above its bin. */
static void find_toolchain(cpu_device *d)
{
    char real[4096];
    const char *root = realpath(d->cc, real) ? dirname(dirname(real)) : "/usr";
    if (strcmp(root, "/usr") && strcmp(root, "/"))
        strcpy(d->toolchain, root);
}

/* What the compiler says to these arguments, as much as there is room for. */
static void ask(const char *const *argv, char *text, size_t cap)
{
    const char *const env[] = { "PATH=/usr/bin:/bin", "LC_ALL=C", NULL };
    struct kb_process_spec spec = { .argv = argv, .env = env };
    size_t used;
    int wstatus;
    if (kb_process_run(&spec, kb_clock_now_ns() + 10000000000, text, cap, &used,
                       &wstatus))
        text[0] = '\0';
}

/* Its name and version. */
static void ask_compiler(cpu_device *d)
{
    char *version = d->head.info.compiler;
    ask((const char *const[]){ d->cc, "--version", NULL }, version,
        sizeof d->head.info.compiler);
    version[strcspn(version, "\n")] = '\0';
}

size_t kb_cpu_vector_bytes(const cpu_device *d)
{
    char macros[64 << 10];
    ask((const char *const[]){ d->cc, "-march=native", "-dM", "-E", "-xc",
                               "/dev/null", NULL }, macros, sizeof macros);
    return strstr(macros, "__AVX512F__") ? 64
         : strstr(macros, "__AVX2__") ? 32 : 16;
}

/* Folders of workers that were killed: their lock is free. */
static void clear_stale(const char *tmp)
{
    DIR *d = opendir(tmp);
    if (!d)
        return;
    for (struct dirent *e; (e = readdir(d)); ) {
        struct stat s;
        if (strncmp(e->d_name, prefix, sizeof prefix - 1))
            continue;
        int fd = openat(dirfd(d), e->d_name,
                        O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
            continue;
        char path[4096 + 300];
        snprintf(path, sizeof path, "%s/%s", tmp, e->d_name);
        if (fstat(fd, &s) == 0 && s.st_uid == geteuid()
            && flock(fd, LOCK_EX | LOCK_NB) == 0)
            kb_process_clear(path);
        close(fd);
    }
    closedir(d);
}

/* As root, the compiler and the kernels run as nobody. A thread whose fsuid is
 * not 0 has no capability that overrides permissions. */
static bool jail_may_enter(const char *dir)
{
    if (geteuid() != 0)
        return true;
    gid_t group = (gid_t)setfsgid(KB_JAIL_NOBODY);
    uid_t user = (uid_t)setfsuid(KB_JAIL_NOBODY);
    int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    setfsuid(user);
    setfsgid(group);
    bool entered = fd >= 0;
    kb_io_close(&fd);
    return entered;
}

/* A folder of our own, locked before it has a name that others clear. */
static kb_status open_scratch(cpu_device *d)
{
    char fresh[sizeof d->scratch], name[sizeof d->scratch];
    const char *tmp = getenv("TMPDIR");
    if (!tmp || tmp[0] != '/' || strlen(tmp) > 3000)
        tmp = "/tmp";
    clear_stale(tmp);
    snprintf(fresh, sizeof fresh, "%.3000s/kernelband-new-XXXXXX", tmp);
    if (!mkdtemp(fresh))
        return KB_ESYS;
    snprintf(name, sizeof name, "%.3000s/%s%s", tmp, prefix,
             fresh + strlen(fresh) - 6);
    d->lock_fd = open(fresh, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d->lock_fd < 0 || flock(d->lock_fd, LOCK_EX) || chmod(fresh, 0711)
        || rename(fresh, name)) {
        rmdir(fresh);
        return KB_ESYS;
    }
    memcpy(d->scratch, name, sizeof name);
    return KB_OK;
}

/* Marks a processor as one on which this process times: by the name of a socket,
 * which is no file and which Linux frees when the process ends. -1: another
 * process (of this network namespace) has marked it. */
static int take_processor(size_t cpu)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    int n = snprintf(name.sun_path + 1, sizeof name.sun_path - 1,
                     "kernelband-cpu-%zu", cpu);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&name, (socklen_t)
                        (offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)))
        kb_io_close(&fd);
    return fd;
}

/* Chooses the processor for kernels and leaves the others to this process,
 * until the device is closed. It is the last one on which no other process
 * times; where others time on all, it is the last. */
static kb_status split_processors(const char *name, cpu_device *d)
{
    cpu_set_t mine;
    long wanted = -1;
    if (sched_getaffinity(0, sizeof mine, &mine))
        return KB_ESYS;
    if (name[3] == ':') {
        wanted = strtol(name + 4, NULL, 10);
        if (wanted >= CPU_SETSIZE || !CPU_ISSET((size_t)wanted, &mine))
            return KB_ENODEV;
    }
    for (long i = CPU_SETSIZE; i-- > 0 && d->taken_fd < 0;) {
        if (wanted < 0 ? !CPU_ISSET((size_t)i, &mine) : i != wanted)
            continue;
        d->taken_fd = take_processor((size_t)i);
        if (d->cpu < 0 || d->taken_fd >= 0)
            d->cpu = (int)i;
    }
    if (CPU_COUNT(&mine) > 1) {
        CPU_CLR((size_t)d->cpu, &mine);
        if (sched_setaffinity(0, sizeof mine, &mine))
            return KB_ESYS;
        d->apart = true;
    }
    return KB_OK;
}

/* Gives back what split_processors took, whatever others took since. */
static void join_processors(const cpu_device *d)
{
    cpu_set_t mine;
    if (!d->apart || sched_getaffinity(0, sizeof mine, &mine))
        return;
    CPU_SET((size_t)d->cpu, &mine);
    (void)sched_setaffinity(0, sizeof mine, &mine);
}

static kb_status find_tools(cpu_device *d, const char **why)
{
    static const char *const compilers[] = { "cc", "gcc", "clang", NULL };
    const char *own = getenv("KERNELBAND_CC");
    if (own && *own) {
        if (own[0] != '/' || strlen(own) >= sizeof d->cc
            || access(own, X_OK))
            return kb_because(why, KB_ENODEV, "KERNELBAND_CC is not the "
                              "absolute path of a compiler");
        memcpy(d->cc, own, strlen(own) + 1);
    } else if (!find_tool(compilers, d->cc)) {
        return kb_because(why, KB_ENODEV, "no C compiler (cc, gcc or clang) in "
                          "/usr/bin: install gcc, or set KERNELBAND_CC to the "
                          "path of one");
    }
    find_tool((const char *const[]){ "objdump", NULL }, d->objdump);
    find_tool((const char *const[]){ "readelf", NULL }, d->readelf);
    find_toolchain(d);
    ask_compiler(d);
    kb_cpu_name_flags(d);
    return KB_OK;
}

static void close_device(kb_device *base)
{
    cpu_device *d = (cpu_device *)base;
    if (d->scratch[0])
        kb_process_clear(d->scratch);
    kb_io_close(&d->lock_fd);
    kb_io_close(&d->taken_fd);
    join_processors(d);
    kb_cpu_forget_calls(d);
    free(d);
}

static kb_status open_device(kb_device *base, const char *name,
                             const char *exe, const char **why)
{
    cpu_device *d = (cpu_device *)base;
    d->lock_fd = d->taken_fd = d->cpu = -1;
    snprintf(d->exe, sizeof d->exe, "%s", exe);
    if (kb_jail_landlock_abi() < 1)
        return kb_because(why, KB_ENODEV, "this Linux has no Landlock (5.13 or "
                          "later, enabled at boot), so candidates cannot be "
                          "kept from files");
    kb_status st = find_tools(d, why);
    if (st)
        return st;
    st = split_processors(name, d);
    if (st)
        return kb_because(why, st, "this process may not use that processor");
    snprintf(d->head.info.name, sizeof d->head.info.name, "cpu:%d", d->cpu);
    st = open_scratch(d);
    if (st)
        return kb_because(why, st, "cannot make a folder in TMPDIR: set TMPDIR "
                          "to the absolute path of a folder that may be "
                          "written");
    if (!jail_may_enter(d->scratch))
        return kb_because(why, KB_EDENIED, "the user nobody, as whom "
                          "candidates are built and run, may not enter TMPDIR: "
                          "chmod o+x it and the folders above it, or set "
                          "TMPDIR to another folder");
    return KB_OK;
}

const struct kb_device_ops kb_cpu_device = {
    .family = "cpu", .language = "c", .bytes = sizeof(cpu_device),
    .object = &kb_cpu_object, .buffers = &kb_cpu_buffers,
    .program = &kb_cpu_program, .open = open_device, .close = close_device,
    .roofline = kb_cpu_roofline
};
