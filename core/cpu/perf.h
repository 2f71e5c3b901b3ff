/* perf.h - hardware counters of one other process, through perf_event_open.
 * Many virtual machines and containers have none: that is a status.
 */
#pragma once

#include <sys/types.h>

#include "kb.h"

enum { KB_PERF_EVENTS = 4 };    /* cycles, instructions, cache refs, misses */

struct kb_perf {
    int fd[KB_PERF_EVENTS];
};

/* Counts the user-mode work of pid, and of the processes that it starts, from
 * now on; 0 is this thread's. ENODEV: not
 * here, or not allowed (errno says why); then *p is closed. */
KB_STATUS kb_perf_open(pid_t pid, struct kb_perf *p);

/* Totals since open, scaled when the counters were shared. ENODEV: none. */
KB_STATUS kb_perf_read(const struct kb_perf *p, uint64_t value[KB_PERF_EVENTS]);
void kb_perf_close(struct kb_perf *p);
