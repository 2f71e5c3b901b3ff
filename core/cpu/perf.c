#include "perf.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "system/io.h"

static const uint64_t events[KB_PERF_EVENTS] = {
    PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS,
    PERF_COUNT_HW_CACHE_REFERENCES, PERF_COUNT_HW_CACHE_MISSES
};

kb_status kb_perf_open(pid_t pid, struct kb_perf *p)
{
    for (int i = 0; i < KB_PERF_EVENTS; i++)
        p->fd[i] = -1;
    for (int i = 0; i < KB_PERF_EVENTS; i++) {
        struct perf_event_attr attr = {
            .type = PERF_TYPE_HARDWARE, .size = sizeof attr,
            .config = events[i], .inherit = 1, .exclude_kernel = 1,
            .exclude_hv = 1,
            .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED
                         | PERF_FORMAT_TOTAL_TIME_RUNNING
        };
        p->fd[i] = (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1,
                                PERF_FLAG_FD_CLOEXEC);
        if (p->fd[i] < 0) {
            kb_perf_close(p);
            return KB_ENODEV;
        }
    }
    return KB_OK;
}

kb_status kb_perf_read(const struct kb_perf *p, uint64_t value[KB_PERF_EVENTS])
{
    uint64_t got[KB_PERF_EVENTS][3];    /* value, enabled, running */
    for (int i = 0; i < KB_PERF_EVENTS; i++)
        if (p->fd[i] < 0
            || read(p->fd[i], got[i], sizeof got[i]) != sizeof got[i])
            return KB_ENODEV;
    for (int i = 0; i < KB_PERF_EVENTS; i++) {
        double share = got[i][2] ? (double)got[i][1] / (double)got[i][2] : 1;
        value[i] = (uint64_t)((double)got[i][0] * share);
    }
    return KB_OK;
}

void kb_perf_close(struct kb_perf *p)
{
    for (int i = 0; i < KB_PERF_EVENTS; i++)
        kb_io_close(&p->fd[i]);
}
