#include "clock.h"

#include <time.h>

enum { NS_PER_S = 1000000000 };

static int64_t read_clock(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

int64_t kb_clock_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t kb_clock_wall_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

int64_t kb_clock_own_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

kb_status kb_clock_sleep_ns(int64_t ns)
{
    if (ns <= 0)
        return KB_OK;
    struct timespec t = { .tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S };
    return clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL) ? KB_EINTR : KB_OK;
}
