#include "io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"

enum { FIRST_BYTES = 4096, CHUNK = 65536, HOUR_MS = 3600000 };

kb_status kb_bytes_reserve(struct kb_bytes *b, size_t n)
{
    size_t room = b->room ? b->room : FIRST_BYTES;
    if (n >= SIZE_MAX / 4 - b->used)
        return KB_ENOMEM;
    while (room - b->used <= n)
        room *= 2;
    if (room > b->room) {
        char *grown = realloc(b->at, room);
        if (!grown)
            return KB_ENOMEM;
        b->at = grown;
        b->room = room;
        b->at[b->used] = '\0';
    }
    return KB_OK;
}

kb_status kb_bytes_add(struct kb_bytes *b, const void *bytes, size_t n)
{
    kb_status st = kb_bytes_reserve(b, n);
    if (st)
        return st;
    if (n)
        memcpy(b->at + b->used, bytes, n);
    b->used += n;
    b->at[b->used] = '\0';
    return KB_OK;
}

void kb_bytes_drop(struct kb_bytes *b, size_t n)
{
    if (n == 0)
        return;
    b->used -= n;
    memmove(b->at, b->at + n, b->used + 1);
}

void kb_bytes_free(struct kb_bytes *b)
{
    free(b->at);
    *b = (struct kb_bytes){ 0 };
}

int kb_io_left_ms(int64_t deadline_ns)
{
    int64_t now = kb_clock_now_ns();
    if (deadline_ns <= now)
        return 0;
    int64_t left = deadline_ns - now;
    return left > (int64_t)HOUR_MS * 1000000 ? HOUR_MS
         : (int)((left + 999999) / 1000000);
}

kb_status kb_io_poll(int fd, short events, int64_t deadline_ns)
{
    for (;;) {
        struct pollfd p = { .fd = fd, .events = events };
        int ms = kb_io_left_ms(deadline_ns), rc = poll(&p, 1, ms);
        if (rc > 0)
            return KB_OK;
        if (rc == 0 && ms == 0)
            return KB_ETIME;
        if (rc < 0 && errno != EINTR)
            return KB_ESYS;
    }
}

ssize_t kb_io_read(int fd, void *to, size_t n)
{
    ssize_t got;
    do {
        got = read(fd, to, n);
    } while (got < 0 && errno == EINTR);
    return got;
}

kb_status kb_io_append(int fd, struct kb_bytes *b, size_t *n)
{
    kb_status st = kb_bytes_reserve(b, CHUNK);
    if (st)
        return st;
    ssize_t got = kb_io_read(fd, b->at + b->used, CHUNK);
    if (got < 0)
        return KB_ESYS;
    *n = (size_t)got;
    b->used += *n;
    b->at[b->used] = '\0';
    return KB_OK;
}

/* A blocking pipe that poll calls ready takes PIPE_BUF bytes without blocking,
 * and may keep us for ever on more. */
kb_status kb_io_write(int fd, const void *bytes, size_t n, int64_t deadline_ns)
{
    const char *p = bytes;
    int mode = fcntl(fd, F_GETFL);
    if (mode < 0)
        return KB_ESYS;
    while (n) {
        kb_status st = kb_io_poll(fd, POLLOUT, deadline_ns);
        if (st)
            return st;
        size_t most = !(mode & O_NONBLOCK) && n > PIPE_BUF ? PIPE_BUF : n;
        ssize_t w = write(fd, p, most);
        if (w < 0 && errno != EINTR && errno != EAGAIN)
            return KB_ESYS;
        if (w > 0) {
            p += w;
            n -= (size_t)w;
        }
    }
    return KB_OK;
}

void kb_io_close(int *fd)
{
    int saved = errno;
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    errno = saved;
}
