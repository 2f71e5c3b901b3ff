/* What the jail of a run child costs: fork, enter, exit, against fork and exit. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "system/jail.h"

enum { TIMES = 300 };

static kb_status enter(void)
{
    static const char *const read[] = { "/tmp", NULL };
    struct kb_jail_limits limits = {
        .memory_bytes = (uint64_t)2 << 30, .stack_bytes = (uint64_t)64 << 20,
        .open_files = 16
    };
    kb_status st = kb_jail_limit(&limits);
    if (!st)
        st = kb_jail_user();
    if (!st)
        st = kb_jail_files(read, NULL);
    if (!st)
        st = kb_jail_calls(KB_JAIL_LOAD);
    if (!st)
        st = kb_jail_calls(KB_JAIL_RUN);
    return st;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median milliseconds of a child that enters, or does not; -1 when it cannot. */
static double child_ms(int jailed)
{
    double ms[TIMES];
    for (int i = 0; i < TIMES; i++) {
        int wstatus = -1;
        int64_t start_ns = kb_clock_now_ns();
        pid_t pid = fork();
        if (pid == 0)
            _exit(jailed && enter() ? 1 : 0);
        if (pid < 0 || waitpid(pid, &wstatus, 0) != pid || wstatus)
            return -1;
        ms[i] = (double)(kb_clock_now_ns() - start_ns) / 1e6;
    }
    qsort(ms, TIMES, sizeof *ms, ascending);
    return (ms[TIMES / 2 - 1] + ms[TIMES / 2]) / 2;
}

int main(void)
{
    double plain = child_ms(0), jailed = child_ms(1);
    if (jailed < 0) {
        puts("jail: cannot be entered here");
        return EXIT_SUCCESS;
    }
    printf("jail of a run child        %.2f ms  (target 2 ms; fork and exit "
           "alone %.2f ms)\n", jailed - plain, plain);
    return EXIT_SUCCESS;
}
