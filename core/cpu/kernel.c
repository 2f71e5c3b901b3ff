/* The process a CPU kernel runs in. Its steps: map the memory, give up all
 * rights, load the object, then answer go after go. From the load on, nothing
 * in this address space can be trusted: the parent treats it so.
 */
#include "cpu.h"

#include <dlfcn.h>
#include <errno.h>
#include <libgen.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "system/jail.h"

enum { SPINS = 2000, ROUNDS = 3 };
static const size_t FENCE = (size_t)64 << 20;   /* bytes of unmapped pages */

static struct kb_cpu_wire *wire;        /* the SIGSYS handler needs it */

static int give_up(const char *step)
{
    snprintf(wire->why, sizeof wire->why, "%s: %s", step, strerror(errno));
    return KB_CPU_EXIT_STARTUP;
}

/* Maps an array's pages from fd with a fence of unmapped pages on either side,
 * so wide that what is written far out meets no other array or library. */
static unsigned char *map_span(const struct kb_cpu_span *s, int fd, int prot)
{
    size_t bytes = (size_t)s->room;
    unsigned char *room = mmap(NULL, bytes + 2 * FENCE, PROT_NONE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return NULL;
    void *at = mmap(room + FENCE, bytes, prot,
                    MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd,
                    (off_t)s->first);
    return at == MAP_FAILED ? NULL : at;
}

static void on_denied(int sig, siginfo_t *info, void *context)
{
    (void)sig;
    (void)context;
    atomic_store(&wire->denied, info->si_syscall + 1);
    syscall(SYS_exit_group, KB_CPU_EXIT_DENIED);
}

static kb_status enter_jail(const char *object)
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
 * the kernel, see kb_program_launch. */
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

/* Everything a batch needs is copied off the page before it starts. */
static void run_batch(kernel_call call, unsigned char *const *base)
{
    void *args[KB_DEVICE_ARGS];
    uint64_t stride[KB_DEVICE_ARGS];
    uint64_t n = wire->iterations;
    uint32_t count = wire->args, slots = wire->slots;
    uint32_t slot = wire->first;

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

static int map_all(unsigned char **base)
{
    for (uint32_t i = 0; i < wire->args; i++) {
        bool in = wire->arg[i].mode == KB_IN;
        if (wire->arg[i].mode == KB_SCALAR)
            continue;
        base[i] = map_span(&wire->arg[i].span,
                           in ? KB_CPU_IN_FD : KB_CPU_OUT_FD,
                           in ? PROT_READ : PROT_READ | PROT_WRITE);
        if (!base[i])
            return -1;
    }
    close(KB_CPU_IN_FD);
    close(KB_CPU_OUT_FD);
    close(KB_CPU_WIRE_FD);
    return 0;
}

int kb_cpu_kernel_main(int argc, char **argv)
{
    unsigned char *base[KB_DEVICE_ARGS] = { NULL };
    if (argc != 3)
        return KB_CPU_EXIT_STARTUP;
    wire = mmap(NULL, sizeof *wire, PROT_READ | PROT_WRITE, MAP_SHARED,
                KB_CPU_WIRE_FD, 0);
    if (wire == MAP_FAILED)
        return KB_CPU_EXIT_STARTUP;
    if (map_all(base))
        return give_up("mapping the arguments");
    if (enter_jail(argv[2]))
        return give_up("entering the jail");

    void *object = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    if (!object) {
        const char *text = dlerror();
        snprintf(wire->why, sizeof wire->why, "%s", text ? text : "dlopen");
        return KB_CPU_EXIT_STARTUP;
    }
    kernel_call call;
    *(void **)&call = dlsym(object, KB_CPU_CALL);
    if (!call || kb_jail_calls(KB_JAIL_RUN))
        return give_up("closing the jail");

    atomic_store(&wire->loaded, 1);
    for (uint32_t number = 1;; number++) {
        wait_for_go(number);
        run_batch(call, base);
        atomic_store(&wire->done, number);
    }
}
