/* The processes of a CPU kernel. The first maps the memory, gives up all rights
 * and loads the object; then it makes copies of itself. A copy runs the kernel:
 * it answers go after go, until it is killed. From the load on, nothing in these
 * address spaces can be trusted: the parent treats them so.
 */
#include "cpu.h"

#include <dlfcn.h>
#include <errno.h>
#include <libgen.h>
#include <link.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "system/jail.h"

enum { SPINS = 2000, ROUNDS = 3 };
static const size_t FENCE = (size_t)64 << 20;   /* bytes of unmapped pages */

/* Bytes that a kernel finds ready: of its stack, and of each object's variables. */
enum { STACK = 512 << 10, VARIABLES = 8 << 20 };

static struct kb_cpu_wire *wire;        /* the SIGSYS handler needs it */
static struct kb_cpu_post *post;
static const char *object;              /* path of the built source */
static pid_t parent;
static unsigned char *arrays_end;       /* nothing else lies below */

static int give_up(const char *step)
{
    snprintf(wire->why, sizeof wire->why, "%s: %s", step, strerror(errno));
    return KB_CPU_EXIT_STARTUP;
}

/* Address space for all arrays, below everything else that is mapped, so that a
 * filter of system calls can tell their addresses from others: where a system
 * of 47 bits or more puts nothing by itself, and with ASan below its shadow. */
static unsigned char *reserve(size_t bytes)
{
    void *wanted = (void *)(uintptr_t)(KB_SANITIZED ? 0x10000000u
                                                    : 0x200000000000u);
    void *at = mmap(wanted, bytes, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == wanted ? at : NULL;
}

static void on_denied(int sig, siginfo_t *info, void *context)
{
    (void)sig;
    (void)context;
    atomic_store(&wire->denied, info->si_syscall + 1);
    syscall(SYS_exit_group, KB_CPU_EXIT_DENIED);
}

static kb_status enter_jail(void)
{
    char copy[4200];
    snprintf(copy, sizeof copy, "%s", object);
    const char *const read[] = { dirname(copy), NULL };
    struct kb_jail_limits limits = {
        .memory_bytes = KB_SANITIZED ? 0
                      : kb_jail_mapped_bytes() + ((uint64_t)2 << 30),
        .stack_bytes = (uint64_t)64 << 20, .open_files = 16
    };
    struct sigaction trap = { .sa_sigaction = on_denied,
                              .sa_flags = SA_SIGINFO };
    if (sigaction(SIGSYS, &trap, NULL))
        return KB_ESYS;
    kb_status st = kb_jail_limit(&limits);
    KB_THEN(st, kb_jail_user());
    KB_THEN(st, kb_jail_files(read, NULL));
    KB_THEN(st, kb_jail_calls(KB_JAIL_LOAD));
    return st;
}

/* Spins for the gate to open, but not for long: what is used here is booked on
 * the kernel, see launch in program.c. */
static void wait_for_go(uint32_t number)
{
    while (atomic_load(&wire->wake) != number)
        syscall(SYS_futex, &wire->wake, FUTEX_WAIT, number - 1, NULL, NULL, 0);
    atomic_store(&wire->ready, number);
    for (unsigned spins = 1; atomic_load(&wire->go) != number; spins++)
        if (spins >= SPINS * ROUNDS)
            syscall(SYS_futex, &wire->go, FUTEX_WAIT, number - 1, NULL, NULL,
                    0);
        else if (spins % SPINS == 0)
            sched_yield();
}

typedef void (*kernel_call)(void *const *args);

/* Everything a batch needs is copied off the page before it starts, and how long
 * it is does not stay there to be read. */
static void run_batch(kernel_call call, unsigned char *const *base)
{
    void *args[KB_DEVICE_ARGS];
    uint64_t stride[KB_DEVICE_ARGS];
    uint64_t n = wire->iterations;
    uint32_t count = wire->args, slots = wire->slots;
    uint32_t slot = wire->first;

    wire->iterations = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool steps = wire->arg[i].mode != KB_SCALAR;
        stride[i] = steps ? wire->arg[i].span.stride : 0;
        args[i] = steps ? base[i] + wire->arg[i].span.offset + slot * stride[i]
                        : (void *)wire->arg[i].value;
    }
    while (n--) {
        call(args);
        bool wrap = ++slot == slots;
        for (uint32_t i = 0; i < count; i++)
            args[i] = (char *)args[i]
                    + (wrap ? 0 - (slots - 1) * stride[i] : stride[i]);
        if (wrap)
            slot = 0;
    }
}

/* Maps each array's pages from its file with a fence of unmapped pages on either
 * side, so wide that what is written far out meets no other array. */
static int map_all(unsigned char **base)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < wire->args; i++)
        if (wire->arg[i].mode != KB_SCALAR)
            bytes += wire->arg[i].span.room + 2 * FENCE;
    unsigned char *next = reserve(bytes);
    if (!next)
        return -1;
    arrays_end = next + bytes;
    for (uint32_t i = 0; i < wire->args; i++) {
        const struct kb_cpu_span *s = &wire->arg[i].span;
        bool in = wire->arg[i].mode == KB_IN;
        if (wire->arg[i].mode == KB_SCALAR)
            continue;
        base[i] = mmap(next + FENCE, s->room,
                       in ? PROT_READ : PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_FIXED,
                       in ? KB_CPU_IN_FD : KB_CPU_OUT_FD, (off_t)s->first);
        if (base[i] == MAP_FAILED)
            return -1;
        next += s->room + 2 * FENCE;
    }
    close(KB_CPU_IN_FD);
    close(KB_CPU_OUT_FD);
    close(KB_CPU_WIRE_FD);
    close(KB_CPU_POST_FD);
    return 0;
}

/* A copy begins without the shared pages in its page table, and each private page
 * that it writes to is copied first. What the kernel may touch is made ready
 * before it is timed. Where a system is too old for this, the faults are
 * timed. */
static void have(void *from, size_t bytes, bool written)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), before = (size_t)from % page;
    (void)madvise((char *)from - before, bytes + before,
                  written ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
}

/* Is that the path of the kernel's object, of this program, which has none, or of
 * a library that build.c links objects to? A kernel calls no other. */
static bool in_reach(const char *path)
{
    return !strcmp(path, object) || !*path || strstr(path, "/libc.so")
        || strstr(path, "/libm.so");
}

/* Of its variables a few megabytes. They begin behind what the linker has made
 * read-only. */
static int have_object(struct dl_phdr_info *o, size_t size, void *unused)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), fixed = 0;
    (void)size;
    (void)unused;
    if (!in_reach(o->dlpi_name))
        return 0;
    for (size_t i = 0; i < o->dlpi_phnum; i++)
        if (o->dlpi_phdr[i].p_type == PT_GNU_RELRO)
            fixed = (o->dlpi_phdr[i].p_vaddr + o->dlpi_phdr[i].p_memsz)
                  / page * page;
    for (size_t i = 0; i < o->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &o->dlpi_phdr[i];
        size_t from = p->p_vaddr, to = from + p->p_memsz;
        bool written = p->p_flags & PF_W;
        if (p->p_type != PT_LOAD)
            continue;
        if (written && from < fixed)
            from = fixed < to ? fixed : to;
        if (written && to - from > VARIABLES)
            to = from + VARIABLES;
        have((char *)o->dlpi_addr + from, to - from, written);
    }
    return 0;
}

static void have_stack(void)
{
    char below[STACK];
    *(volatile char *)below = 0;        /* the system's part of it grows */
    have(below, STACK, true);
}

/* Whole pages [from, to) of a span become fence. */
static bool fence(unsigned char *base, size_t from, size_t to)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    from = (from + page - 1) / page * page;
    to = to / page * page;
    return from >= to
        || mmap(base + from, to - from, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
}

/* Of a span, what holds the slots in use, their red zones with them. They go
 * round: they may be the last ones and the first. */
struct part {
    size_t from, to;
};

static size_t parts_in_use(const struct kb_cpu_span *s, struct part part[2])
{
    size_t slots = wire->slots, first = wire->first, end = first + wire->used;
    size_t zone = slots > 1 ? s->stride - s->bytes : 0;
    size_t from = s->offset + first * s->stride - (first ? zone : s->offset);
    size_t to = end % slots ? s->offset + end % slots * s->stride : s->room;
    if (wire->used == slots)
        part[0] = (struct part){ 0, s->room };
    else if (end <= slots)
        part[0] = (struct part){ from, to };
    else {
        part[0] = (struct part){ 0, to };
        part[1] = (struct part){ from, s->room };
        return 2;
    }
    return 1;
}

/* Leaves the slots in use, and those alone, within reach. */
static bool confine(const struct kb_cpu_span *s, unsigned char *base)
{
    struct part part[2];
    size_t parts = parts_in_use(s, part), done = 0;
    for (size_t i = 0; i < parts; i++) {
        if (!fence(base, done, part[i].from))
            return false;
        have(base + part[i].from, part[i].to - part[i].from, false);
        done = part[i].to;
    }
    return fence(base, done, s->room);
}

/* Puts what is in use into the processor's table of pages, and its contents, if
 * read, into the caches. */
static void touch(const struct kb_cpu_span *s, const unsigned char *base,
                  bool read)
{
    struct part part[2];
    size_t parts = parts_in_use(s, part);
    size_t step = read ? 64 : (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < parts; i++)
        for (size_t at = part[i].from; at < part[i].to; at += step)
            (void)*(const volatile unsigned char *)(base + at);
}

/* What a copy does before it runs a kernel: as much as there is to do while the
 * parent fills the arrays, and then the rest. */
static int settle_in(unsigned char *const *base)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
        return give_up("ending with the parent");
    dl_iterate_phdr(have_object, NULL);
    have_stack();
    for (uint32_t i = 0; i < wire->args; i++)
        if (wire->arg[i].mode != KB_SCALAR
            && !confine(&wire->arg[i].span, base[i]))
            return give_up("fencing slots off");
    if (kb_jail_run(arrays_end))
        return give_up("closing the jail");
    while (!atomic_load(&wire->filled))
        syscall(SYS_futex, &wire->filled, FUTEX_WAIT, 0, NULL, NULL, 0);
    enum kb_cpu_warmth warmth = wire->warmth;
    for (uint32_t i = 0; i < wire->args && warmth != KB_CPU_COLD; i++)
        if (wire->arg[i].mode != KB_SCALAR)
            touch(&wire->arg[i].span, base[i],
                  warmth == KB_CPU_READ && wire->arg[i].mode != KB_OUT);
    wire->used = 0;
    return 0;
}

static void serve(kernel_call call, unsigned char *const *base)
{
    atomic_store(&wire->prepared, 1);
    for (uint32_t number = 1;; number++) {
        wait_for_go(number);
        run_batch(call, base);
        atomic_store(&wire->done, number);
    }
}

/* A copy is a child of the parent, who has it in this process's group. */
static int make_copies(kernel_call call, unsigned char *const *base)
{
    atomic_store(&post->loaded, 1);
    for (uint32_t number = 1;; number++) {
        while (atomic_load(&post->wanted) != number)
            syscall(SYS_futex, &post->wanted, FUTEX_WAIT, number - 1, NULL,
                    NULL, 0);
        long pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
        if (pid == 0) {
            int status = settle_in(base);
            if (!status)
                serve(call, base);
            return status;
        }
        atomic_store(&post->pid, (int32_t)pid);
        atomic_store(&post->copied, number);
    }
}

int kb_cpu_kernel_main(int argc, char **argv)
{
    unsigned char *base[KB_DEVICE_ARGS] = { NULL };
    parent = getppid();
    if (argc != 3)
        return KB_CPU_EXIT_STARTUP;
    wire = mmap(NULL, KB_CPU_WIRE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
                KB_CPU_WIRE_FD, 0);
    post = mmap(NULL, sizeof *post, PROT_READ | PROT_WRITE, MAP_SHARED,
                KB_CPU_POST_FD, 0);
    if (wire == MAP_FAILED || post == MAP_FAILED)
        return KB_CPU_EXIT_STARTUP;
    if (madvise(post, sizeof *post, MADV_DONTFORK))
        return give_up("keeping a page from copies");
    if (map_all(base))
        return give_up("mapping the arguments");
    object = argv[2];
    if (enter_jail())
        return give_up("entering the jail");

    void *handle = dlopen(object, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *text = dlerror();
        snprintf(wire->why, sizeof wire->why, "%s", text ? text : "dlopen");
        return KB_CPU_EXIT_STARTUP;
    }
    kernel_call call;
    *(void **)&call = dlsym(handle, KB_CPU_CALL);
    return call ? make_copies(call, base) : give_up("finding the call");
}
