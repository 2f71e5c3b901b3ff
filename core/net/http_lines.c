/* The descriptors of connections, and when to look at them. */
#include "http_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "clock.h"

enum { MUCH = 8192 };               /* bytes of one look: a sign that there is more */

struct line {
    uint32_t events;                /* 0: not watched */
    bool slow;
    int64_t until_ns;               /* 0: it does not rest */
};

kb_status kb_lines_open(struct kb_lines *l)
{
    *l = (struct kb_lines){ .epoll = epoll_create1(EPOLL_CLOEXEC) };
    l->slow = epoll_create1(EPOLL_CLOEXEC);
    return l->epoll < 0 || l->slow < 0 ? KB_ESYS : KB_OK;
}

void kb_lines_close(struct kb_lines *l)
{
    free(l->line);
    if (l->epoll >= 0)
        close(l->epoll);
    if (l->slow >= 0)
        close(l->slow);
}

/* In the epoll it is in, or as a new one. */
static bool control(struct kb_lines *l, int fd, uint32_t events)
{
    struct epoll_event e = { .data.fd = fd, .events = events };
    int epoll = l->line[fd].slow ? l->slow : l->epoll;
    if (epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &e) == 0)
        return true;
    return errno == ENOENT && epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) == 0;
}

void kb_lines_forget(struct kb_lines *l, int fd)
{
    struct epoll_event e = { .data.fd = fd };
    if ((size_t)fd >= l->n)
        return;
    if (l->line[fd].events)
        epoll_ctl(l->line[fd].slow ? l->slow : l->epoll, EPOLL_CTL_DEL, fd, &e);
    l->line[fd] = (struct line){ 0 };
}

static bool has_room(struct kb_lines *l, int fd)
{
    size_t n = l->n ? l->n : 64;
    if ((size_t)fd < l->n)
        return true;
    while (n <= (size_t)fd)
        n *= 2;
    struct line *grown = realloc(l->line, n * sizeof *grown);
    if (!grown)
        return false;
    memset(grown + l->n, 0, (n - l->n) * sizeof *grown);
    l->line = grown;
    l->n = n;
    return true;
}

bool kb_lines_watch(struct kb_lines *l, int fd, uint32_t events)
{
    if (!has_room(l, fd))
        return false;
    if (l->line[fd].slow)
        kb_lines_forget(l, fd);
    l->line[fd] = (struct line){ .events = events };
    return control(l, fd, events);
}

int64_t kb_lines_tick(int64_t ns)
{
    return (ns / KB_HTTP_TICK_NS + 1) * KB_HTTP_TICK_NS;
}

void kb_lines_rest(struct kb_lines *l, int fd, const struct round *r)
{
    struct line *line = &l->line[fd];
    uint32_t events = line->events;
    if (!events || r->other || r->bytes == 0 || r->bytes > MUCH || r->rest_ns == 0)
        return;
    int64_t now = kb_clock_now_ns();
    if (!line->slow) {
        kb_lines_forget(l, fd);
        *line = (struct line){ .events = events, .slow = true };
    }
    if (control(l, fd, 0))
        line->until_ns = kb_lines_tick(now + r->rest_ns - KB_HTTP_TICK_NS);
    l->tick_ns = kb_lines_tick(now);
}

void kb_lines_end_rests(struct kb_lines *l, int64_t until_ns)
{
    for (size_t fd = 0; fd < l->n; fd++) {
        struct line *line = &l->line[fd];
        if (!line->until_ns || line->until_ns > until_ns)
            continue;
        line->until_ns = 0;
        control(l, (int)fd, line->events);
    }
}

int64_t kb_lines_wake(const struct kb_lines *l)
{
    int64_t first = INT64_MAX;
    for (size_t fd = 0; fd < l->n; fd++)
        if (l->line[fd].until_ns && l->line[fd].until_ns < first)
            first = l->line[fd].until_ns;
    return first;
}
