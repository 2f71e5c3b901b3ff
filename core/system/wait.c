#include "wait.h"

#include <errno.h>

#include "clock.h"
#include "interrupt.h"
#include "io.h"

/* A signal may reach a thread that resolves a name: the count is looked at
 * this often. */
static const int64_t look_ns = 250000000;

/* Asks every source what to watch; returns how many descriptors and lowers
 * *until to the first time a source named. */
static nfds_t gather(struct kb_source *s, size_t n, struct pollfd *p,
                     int64_t *until)
{
    nfds_t used = 0;
    for (size_t i = 0; i < n; i++) {
        s[i].ready = false;
        s[i].by_ns = INT64_MAX;
        s[i].fds = s[i].kind->watch(s[i].object, p + used, &s[i].by_ns);
        used += (nfds_t)s[i].fds;
        if (s[i].by_ns < *until)
            *until = s[i].by_ns;
    }
    return used;
}

static bool listen_to(struct kb_source *s, size_t n, const struct pollfd *p)
{
    bool any = false;
    int64_t now = kb_clock_now_ns();
    for (size_t i = 0; i < n; p += s[i++].fds) {
        bool stirred = s[i].by_ns <= now;
        for (size_t j = 0; j < s[i].fds; j++)
            stirred |= p[j].revents != 0;
        s[i].ready = stirred && s[i].kind->listen(s[i].object);
        any |= s[i].ready;
    }
    return any;
}

kb_status kb_wait(struct kb_source *sources, size_t n, struct pollfd *scratch,
                  int64_t deadline_ns)
{
    int before = kb_interrupt_count();
    for (;;) {
        int64_t until = deadline_ns, look = kb_clock_now_ns() + look_ns;
        nfds_t fds = gather(sources, n, scratch, &until);
        int rc = poll(scratch, fds, kb_io_left_ms(until < look ? until : look));
        if (rc < 0)
            return errno == EINTR ? KB_EINTR : KB_ESYS;
        if (listen_to(sources, n, scratch))
            return KB_OK;
        if (kb_interrupt_count() != before)
            return KB_EINTR;
        if (kb_clock_now_ns() >= deadline_ns)
            return KB_ETIME;
    }
}
