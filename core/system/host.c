#include "host.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif


static void set_text(char *out, const char *text)
{
    snprintf(out, KB_HOST_TEXT_BYTES, "%s", text);
}

static void read_cpu_name(char *out)
{
    char line[512];
    set_text(out, "unknown");
    FILE *f = fopen("/proc/cpuinfo", "re");
    if (!f)
        return;
    while (fgets(line, sizeof line, f)) {
        char *value = strchr(line, ':');
        if (strncmp(line, "model name", 10) || !value)
            continue;
        value += 1 + (value[1] == ' ');
        value[strcspn(value, "\n")] = '\0';
        set_text(out, value);
        break;
    }
    fclose(f);
}

static void read_kernel(char *out)
{
    struct utsname u;
    if (uname(&u)) {
        set_text(out, "unknown");
        return;
    }
    snprintf(out, KB_HOST_TEXT_BYTES, "%.64s %.96s %.64s", u.sysname,
             u.release, u.machine);
}

static int landlock_abi(void)
{
#ifdef SYS_landlock_create_ruleset
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1U);
    return abi > 0 ? (int)abi : 0;
#else
    return 0;
#endif
}

static int try_perf(void)
{
    struct perf_event_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.type = PERF_TYPE_HARDWARE;
    attr.size = sizeof attr;
    attr.config = PERF_COUNT_HW_CPU_CYCLES;
    attr.disabled = 1;
    attr.exclude_kernel = 1;
    attr.exclude_hv = 1;
    long fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0UL);
    if (fd < 0)
        return errno;
    close((int)fd);
    return 0;
}

void kb_host_describe(struct kb_host *host)
{
    memset(host, 0, sizeof *host);
    read_cpu_name(host->cpu);
    read_kernel(host->kernel);
#ifdef __GLIBC__
    snprintf(host->libc, sizeof host->libc, "glibc %s",
             gnu_get_libc_version());
#else
    set_text(host->libc, "unknown");
#endif
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    host->cores = cores > 0 ? (int)cores : 1;
    host->usable_cores = kb_host_usable_cores();
    host->landlock_abi = landlock_abi();
    host->seccomp = prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0;
    host->root = geteuid() == 0;
    host->perf_errno = try_perf();
}

int kb_host_usable_cores(void)
{
    int id[KB_HOST_CPUS];
    return (int)kb_host_cpus(id, KB_HOST_CPUS);
}

size_t kb_host_cpus(int *id, size_t most)
{
    cpu_set_t set;
    size_t n = 0;
    if (sched_getaffinity(0, sizeof set, &set) || CPU_COUNT(&set) < 1) {
        CPU_ZERO(&set);
        CPU_SET(0, &set);
    }
    for (int i = 0; i < CPU_SETSIZE && n < most; i++)
        if (CPU_ISSET((size_t)i, &set))
            id[n++] = i;
    return n;
}

kb_status kb_host_exe(char *path, size_t max_bytes)
{
    static const char gone[] = " (deleted)";
    ssize_t n = readlink("/proc/self/exe", path, max_bytes);
    if (n < 0)
        return KB_ESYS;
    if ((size_t)n >= max_bytes) {
        errno = ENAMETOOLONG;
        return KB_ESYS;
    }
    path[n] = '\0';
    size_t tail = sizeof gone - 1;
    if ((size_t)n > tail && strcmp(path + n - tail, gone) == 0)
        path[(size_t)n - tail] = '\0';
    return KB_OK;
}

static bool has_engine(const char *dir)
{
    char probe[KB_HOST_PATH_BYTES];
    int n = snprintf(probe, sizeof probe, "%s/lua/kernelband/init.lua", dir);
    return n > 0 && (size_t)n < sizeof probe && access(probe, R_OK) == 0;
}

static kb_status choose_dir(const char *dir, char *path, size_t max_bytes)
{
    if (strlen(dir) >= max_bytes) {
        errno = ENAMETOOLONG;
        return KB_ESYS;
    }
    if (!has_engine(dir)) {
        errno = ENOENT;
        return KB_ESYS;
    }
    strcpy(path, dir);
    return KB_OK;
}

static const char installed[] = "/share/kernelband";

kb_status kb_host_lib_dir(char *path, size_t max_bytes)
{
    char dir[KB_HOST_PATH_BYTES];
    const char *given = getenv("KERNELBAND_LIB");
    if (given && *given)
        return choose_dir(given, path, max_bytes);
    if (kb_host_exe(dir, sizeof dir) == KB_OK) {
        char *slash = strrchr(dir, '/');
        for (; slash && slash != dir; slash = strrchr(dir, '/')) {
            *slash = '\0';
            if (has_engine(dir))
                return choose_dir(dir, path, max_bytes);
            char share[KB_HOST_PATH_BYTES + sizeof installed];
            snprintf(share, sizeof share, "%s%s", dir, installed);
            if (has_engine(share))
                return choose_dir(share, path, max_bytes);
        }
    }
    errno = ENOENT;
    return KB_ESYS;
}

kb_status kb_host_random(void *bytes, size_t n)
{
    return getentropy(bytes, n) ? KB_ESYS : KB_OK;
}

double kb_host_wall_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int kb_host_columns(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    const char *text = getenv("COLUMNS");
    long columns = text ? strtol(text, NULL, 10) : 0;
    return columns > 0 && columns < 10000 ? (int)columns : 80;
}

kb_status kb_host_disk_free_bytes(const char *path, uint64_t *out)
{
    struct statvfs fs;
    if (statvfs(path, &fs))
        return KB_ESYS;
    *out = (uint64_t)fs.f_bavail * fs.f_frsize;
    return KB_OK;
}

bool kb_host_has_library(const char *name)
{
    void *lib = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (lib)
        dlclose(lib);
    return lib != NULL;
}
