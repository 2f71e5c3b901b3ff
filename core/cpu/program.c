#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "cpu.h"
#include "perf.h"
#include "system/io.h"
#include "system/jail.h"
#include "system/process.h"

enum { SPINS = 256 };

static const int64_t load_timeout_ns = 10000000000;
static const int64_t wake_timeout_ns = 5000000000;
static const int64_t wake_cost_ns = 20000;      /* at most, of processor time */
static const int64_t spin_ns = 5000000;         /* a wait's first part */
/* Inputs of read_bytes or less, which caches may hold, are read before a sample,
 * and every page of the outputs is touched. Else every page of all arrays is,
 * when these have touched_bytes or less and a processor's table may hold them. */
static const size_t touched_bytes = 16 << 20, read_bytes = 8 << 20;
static const struct timespec nap = { 0, 20000 }, late = { 0, 100000 };

typedef struct cpu_program {
    struct kb_program head;
    pid_t loader;                       /* has loaded the object; 0: reaped */
    pid_t group;                        /* its process group */
    pid_t pid;                          /* its copy, which runs it; 0: none */
    struct kb_cpu_wire *wire;
    struct kb_cpu_post *post;
    cpu_buffers *buffers;
    uint32_t copies, launches;          /* asked for; of this copy */
    bool asked;                         /* for a copy that is not met yet */
    bool once;                          /* the copy is for one launch */
    bool over;                          /* one died */
    bool booked;                        /* processor_ns works here */
    bool shared;                        /* one processor for it and for us */
    bool timed;                         /* the launch under way */
    int stat_fd;                        /* /proc/PID/stat, or -1 */
    int64_t settled_ns;                 /* processor_ns after the last launch */
    int64_t patience_ns;                /* of the last wait for its process */
    struct kb_perf perf;
    uint64_t counted[KB_PERF_EVENTS];
} cpu_program;

/* Processor time of another process, 0 when the system does not say. */
static int64_t processor_ns(pid_t pid)
{
    clockid_t clock;
    struct timespec t;
    if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
        return 0;
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void wake(_Atomic uint32_t *word, uint32_t value)
{
    atomic_store(word, value);
    syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Written anew for every launch: the candidate can reach the page. */
static void write_job(cpu_program *p, uint64_t iterations)
{
    const cpu_buffers *b = p->buffers;
    p->wire->iterations = iterations;
    p->wire->args = (uint32_t)b->head.args;
    p->wire->slots = (uint32_t)b->head.slots;
    p->wire->first = (uint32_t)b->head.first;
    for (size_t i = 0; i < b->head.args; i++) {
        p->wire->arg[i].mode = (uint32_t)b->head.arg[i].mode;
        p->wire->arg[i].span = b->span[i];
        const struct kb_arg *a = &b->head.arg[i];
        if (kb_dtype_is_float(a->dtype))
            kb_tensor_set(p->wire->arg[i].value, a->dtype, 0, a->real);
        else
            memcpy(p->wire->arg[i].value, &a->integer, sizeof a->integer);
    }
}

static enum kb_cpu_warmth warmth_of(const cpu_buffers *b)
{
    size_t given = 0, all = 0;
    for (size_t i = 0; i < b->head.args; i++) {
        size_t bytes = b->span[i].bytes * b->head.used;
        given += kb_is_given(&b->head, i) ? bytes : 0;
        all += bytes;
    }
    return given <= read_bytes ? KB_CPU_READ
         : all <= touched_bytes ? KB_CPU_TOUCHED : KB_CPU_COLD;
}

/* From here on nobody can map the inputs writable; our own mapping stays. */
static kb_status seal_inputs(cpu_buffers *b)
{
    if (b->sealed)
        return KB_OK;
    if (fcntl(b->in_fd, F_ADD_SEALS,
              F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW)
        || fcntl(b->out_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW))
        return KB_ESYS;
    b->sealed = true;
    return KB_OK;
}

static int pin(void *arg)
{
    int cpu = *(int *)arg;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    return sched_setaffinity(0, sizeof set, &set) ? errno : 0;
}

/* Kernels and this process have the same processor: see split_processors. */
static bool one_processor(const cpu_device *d)
{
    cpu_set_t mine;
    return !sched_getaffinity(0, sizeof mine, &mine) && CPU_COUNT(&mine) == 1
        && CPU_ISSET((size_t)d->cpu, &mine);
}

static kb_status spawn(cpu_device *d, const char *object, cpu_program *p,
                       int wire_fd, int post_fd)
{
    const char *const argv[] = { d->exe, "_kernel", object, NULL };
    /* A sanitized build must not answer a candidate's faults itself. */
    static const char *const env[] = {
        "ASAN_OPTIONS=handle_segv=0:handle_sigbus=0:handle_abort=0:"
        "handle_sigill=0:handle_sigfpe=0:detect_leaks=0", NULL
    };
    struct kb_process_spec spec = {
        .argv = argv, .env = env, .dir = "/", .fds = 7,
        .fd = { -1, -1, -1, wire_fd, p->buffers->in_fd, p->buffers->out_fd,
                post_fd },
        .enter = pin, .arg = &d->cpu
    };
    return kb_process_start(&spec, &p->loader);
}

/* Says in p->head.why how a process ended, and what kind of end it was. */
static kb_status judge_end(cpu_program *p, int wstatus)
{
    char *why = p->head.why;
    const size_t cap = sizeof p->head.why;
    int code = WIFEXITED(wstatus) ? WEXITSTATUS(wstatus) : -1;
    int denied = atomic_load(&p->wire->denied);
    p->over = true;
    if (WIFSIGNALED(wstatus)) {
        int sig = WTERMSIG(wstatus);
        return kb_refuse(why, cap, sig == SIGSYS ? KB_EDENIED : KB_ECRASH,
                         "killed by signal %d (%s)", sig, strsignal(sig));
    }
    if (code == KB_CPU_EXIT_DENIED && denied > 0) {
        char *name = kb_jail_call_name(denied - 1);
        snprintf(why, cap, "made the system call %s (%d), which a kernel may "
                 "not", name ? name : "?", denied - 1);
        free(name);
        return KB_EDENIED;
    }
    if (code == KB_CPU_EXIT_STARTUP && !atomic_load(&p->wire->prepared))
        return kb_refuse(why, cap, KB_EWORKER, "%.*s", KB_CPU_WHY - 1,
                         p->wire->why);
    return kb_refuse(why, cap, KB_ECRASH, "exited with status %d before it "
                     "returned", code);
}

static int open_stat(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* Is the process whose /proc/PID/stat this is asleep, as it is between two
 * launches? Not while it runs, waits for a processor or is stopped. True when
 * /proc does not say. Fields: number, (name), state, see proc(5). */
static bool asleep(int stat_fd)
{
    char text[128];
    ssize_t n = pread(stat_fd, text, sizeof text - 1, 0);
    if (n <= 0)
        return true;
    text[n] = '\0';
    const char *end = strrchr(text, ')');
    return !end || !end[1] || !end[2] || !strchr("RDTt", end[2]);
}

/* At a deadline: is the process at work, and has it had less than half of the
 * time, because others had the processor? Then it gets as long again, four times
 * at most. had_ns: its processor_ns when the wait began. */
static bool starved(const cpu_program *p, pid_t pid, int64_t had_ns, int *again)
{
    int fd = open_stat(pid);
    bool at_work = !asleep(fd);
    kb_io_close(&fd);
    return at_work && (*again)++ < 4
        && processor_ns(pid) - had_ns < *again * p->patience_ns / 2;
}

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* A turn of a wait that has taken that long. */
static void rest(const cpu_program *p, int64_t waited_ns)
{
    if (p->shared)
        sched_yield();
    else if (!p->timed || waited_ns > spin_ns)
        nanosleep(&nap, NULL);
    relax();
}

/* Waits until *word == value. Spins at first where it is timed: the end of a
 * short sample is seen as it comes. Later it looks every now and then, because a
 * spinning parent heats the machine and a long sample's share of the delay is
 * small. With one processor for both, whoever spins keeps the other from
 * working. ended_ns, which may be NULL: when the word was seen. */
static kb_status await(cpu_program *p, pid_t *pid, _Atomic uint32_t *word,
                       uint32_t value, int64_t patience_ns, int64_t *ended_ns)
{
    int again = 0;
    int64_t now_ns = kb_clock_now_ns(), begun_ns = now_ns;
    int64_t had_ns = processor_ns(*pid), deadline_ns = now_ns + patience_ns;
    p->patience_ns = patience_ns;
    for (unsigned spins = 1; atomic_load(word) != value; spins++) {
        relax();
        if (spins % SPINS && !p->shared)
            continue;
        int wstatus;
        if (waitpid(*pid, &wstatus, WNOHANG) == *pid) {
            *pid = 0;
            return judge_end(p, wstatus);
        }
        now_ns = kb_clock_now_ns();
        if (now_ns > deadline_ns && starved(p, *pid, had_ns, &again)) {
            deadline_ns += patience_ns;
        } else if (now_ns > deadline_ns) {
            kb_process_kill(*pid, false);
            *pid = 0;
            p->over = true;
            return kb_refuse(p->head.why, sizeof p->head.why, KB_ETIME,
                             "did not %s in time",
                             word == &p->wire->done ? "return" : "begin");
        }
        rest(p, now_ns - begun_ns);
    }
    if (ended_ns)
        *ended_ns = kb_clock_now_ns();
    return KB_OK;
}

/* Processor time since the last look, the kernel's process asleep both times.
 * Linux books it when a process stops running or a tick comes, not while it
 * runs: read sooner, it would lack some milliseconds, and the next sample would
 * have them. A kernel that has said it is done and goes on is waited for too,
 * and what it uses is its sample's. A process is called asleep a moment before it
 * leaves its processor, and only then is its time booked: if less is booked than
 * has passed since begun_ns, it is read once more; if nothing is, fifty times. */
static int64_t settle(cpu_program *p, int64_t begun_ns)
{
    int64_t now_ns = kb_clock_now_ns(), asked_ns = now_ns;
    while (!asleep(p->stat_fd) && now_ns - asked_ns < p->patience_ns) {
        rest(p, now_ns - asked_ns);
        now_ns = kb_clock_now_ns();
    }
    int64_t passed_ns = now_ns - begun_ns;
    int64_t used_ns = processor_ns(p->pid) - p->settled_ns;
    for (int naps = 0; used_ns < passed_ns - passed_ns / 8 - wake_cost_ns
                       && naps < (used_ns > 0 || !p->booked ? 1 : 50); naps++) {
        nanosleep(&late, NULL);
        used_ns = processor_ns(p->pid) - p->settled_ns;
    }
    p->settled_ns += used_ns;
    return used_ns;
}

/* The pid of a copy comes from a process that has loaded the candidate. We kill
 * it only if it is our child and in that process's group. */
static kb_status take_copy(cpu_program *p)
{
    int wstatus;
    p->asked = false;
    kb_status st = await(p, &p->loader, &p->post->copied, p->copies,
                         wake_timeout_ns, NULL);
    if (st)
        return st;
    pid_t pid = atomic_load(&p->post->pid);
    pid_t got = pid > 1 && getpgid(pid) == p->group
              ? waitpid(pid, &wstatus, WNOHANG) : -1;
    if (got > 0)
        return judge_end(p, wstatus);
    if (got == 0) {
        p->pid = pid;
        return KB_OK;
    }
    p->over = true;
    return kb_refuse(p->head.why, sizeof p->head.why, KB_EWORKER,
                     "its process could not be copied: are there too many of "
                     "this user's (ulimit -u)?");
}

static void end_copy(cpu_program *p)
{
    if (p->asked && p->loader)
        (void)take_copy(p);
    if (p->pid)
        kb_process_kill(p->pid, false);
    /* One whose pid its loader did not live to tell. */
    while (p->group && !p->loader && waitpid(-p->group, NULL, WNOHANG) >= 0)
        kill(-p->group, SIGKILL);
    p->pid = 0;
    kb_io_close(&p->stat_fd);
}

/* Asks for a copy of the process that has loaded the object. confined: the slots
 * in use are all it ever sees. */
static void ask_for_copy(cpu_program *p, bool confined)
{
    end_copy(p);
    if (confined)
        kb_cpu_scrub(p->buffers);
    memset(p->wire, 0, KB_CPU_WIRE_BYTES);
    write_job(p, 0);
    const struct kb_buffers *b = &p->buffers->head;
    p->wire->used = (uint32_t)(confined ? b->used : b->slots);
    p->wire->warmth = confined ? warmth_of(p->buffers) : KB_CPU_COLD;
    p->launches = 0;
    p->once = confined;
    p->timed = false;
    p->asked = true;
    wake(&p->post->wanted, ++p->copies);
}

/* The copy is asleep, and has made its preparations. */
static kb_status meet_copy(cpu_program *p)
{
    kb_status st = take_copy(p);
    wake(&p->wire->filled, 1);
    KB_THEN(st, await(p, &p->pid, &p->wire->prepared, 1, wake_timeout_ns,
                      NULL));
    if (st)
        return st;
    p->stat_fd = open_stat(p->pid);
    p->settled_ns = 0;
    p->booked = settle(p, kb_clock_now_ns()) > 0;
    return KB_OK;
}

static kb_status renew(kb_program *base)
{
    cpu_program *p = (cpu_program *)base;
    if (p->over)
        return KB_EWORKER;
    ask_for_copy(p, true);
    return KB_OK;
}

static kb_status launch(kb_program *base, uint64_t iterations,
                        int64_t timeout_ns, int64_t *elapsed_ns)
{
    cpu_program *p = (cpu_program *)base;
    if (p->over)
        return KB_EWORKER;
    if (!p->asked && (!p->pid || p->once))
        ask_for_copy(p, false);
    kb_status st = p->asked ? meet_copy(p) : KB_OK;
    if (st)
        return st;
    write_job(p, iterations);
    p->timed = elapsed_ns != NULL;
    uint32_t number = ++p->launches;
    wake(&p->wire->wake, number);
    st = await(p, &p->pid, &p->wire->ready, number, wake_timeout_ns, NULL);
    if (st)
        return st;
    int64_t end_ns = 0, start_ns = kb_clock_now_ns();
    wake(&p->wire->go, number);
    st = await(p, &p->pid, &p->wire->done, number, timeout_ns, &end_ns);
    if (st)
        return st;
    int64_t passed_ns = end_ns - start_ns, used_ns = settle(p, start_ns);
    if (p->once)
        (void)kill(p->pid, SIGKILL);    /* it is reaped before the next is made */
    if (!elapsed_ns)
        return KB_OK;
    *elapsed_ns = passed_ns;
    if (!p->booked)
        return KB_OK;
    /* Less was used than passed: others had the processor. More, beyond what
     * it takes to wake up and fall asleep: the kernel said that it was done and
     * went on. */
    if (used_ns < passed_ns)
        *elapsed_ns = used_ns > 0 ? used_ns : 1;
    else if (used_ns > passed_ns + wake_cost_ns)
        *elapsed_ns = used_ns - wake_cost_ns;
    return KB_OK;
}

static kb_status profile(kb_program *base, const char *set,
                         struct kb_metric *metric, size_t *n, char *why,
                         size_t cap)
{
    static const char *const names[KB_PERF_EVENTS] = {
        "cycles", "instructions", "cache_refs", "cache_misses"
    };
    cpu_program *p = (cpu_program *)base;
    uint64_t now[KB_PERF_EVENTS];
    (void)set;
    if (kb_perf_read(&p->perf, now))
        return kb_refuse(why, cap, KB_ENODEV,
                         "no hardware counters here (perf_event_open)");
    for (size_t i = 0; i < KB_PERF_EVENTS; i++)
        metric[i] = (struct kb_metric){
            names[i], (double)(now[i] - p->counted[i]), true
        };
    *n = KB_PERF_EVENTS;
    memcpy(p->counted, now, sizeof now);
    return KB_OK;
}

static void stop(kb_program *base)
{
    cpu_program *p = (cpu_program *)base;
    end_copy(p);
    if (p->loader)
        kb_process_kill(p->loader, false);
    kb_perf_close(&p->perf);
    if (p->wire)
        munmap(p->wire, KB_CPU_WIRE_BYTES);
    if (p->post)
        munmap(p->post, sizeof *p->post);
    free(p);
}

static kb_status map_pages(cpu_program *p, int *wire_fd, int *post_fd)
{
    void *wire = NULL, *post = NULL;
    kb_status st = kb_cpu_map("kb-wire", KB_CPU_WIRE_BYTES, wire_fd, &wire);
    KB_THEN(st, kb_cpu_map("kb-post", sizeof *p->post, post_fd, &post));
    p->wire = wire;
    p->post = post;
    return st;
}

static kb_status start(kb_program *base, const kb_object *o, kb_buffers *b,
                       const struct kb_plan *plan, char *why, size_t cap)
{
    int wire_fd = -1, post_fd = -1;
    char copy[sizeof (cpu_object){ 0 }.path];
    cpu_device *d = (cpu_device *)base->device;
    cpu_program *p = (cpu_program *)base;
    for (size_t i = 0; i < KB_PERF_EVENTS; i++)
        p->perf.fd[i] = -1;
    p->buffers = (cpu_buffers *)b;
    p->stat_fd = -1;
    if (plan)
        return KB_EINVAL;
    kb_status st = map_pages(p, &wire_fd, &post_fd);
    KB_THEN(st, seal_inputs(p->buffers));
    KB_THEN(st, kb_cpu_copy((const cpu_object *)o, copy, sizeof copy));
    if (!st) {
        write_job(p, 0);
        st = spawn(d, copy, p, wire_fd, post_fd);
        p->group = p->loader;
        KB_THEN(st, await(p, &p->loader, &p->post->loaded, 1, load_timeout_ns,
                          NULL));
        unlink(copy);
    }
    kb_io_close(&wire_fd);
    kb_io_close(&post_fd);
    if (st)
        return kb_refuse(why, cap, st, "%s", base->why);
    if (kb_perf_open(p->loader, &p->perf))
        p->perf.fd[0] = -1;
    p->shared = one_processor(d);
    return KB_OK;
}

const struct kb_program_ops kb_cpu_program = {
    .bytes = sizeof(cpu_program), .start = start, .renew = renew,
    .launch = launch,
    .profile = profile, .stop = stop
};
