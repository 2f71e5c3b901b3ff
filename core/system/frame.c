#include "frame.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"

static size_t announced(const unsigned char *head)
{
    return (size_t)head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16
         | (size_t)head[3] << 24;
}

kb_status kb_frame_feed(struct kb_frame_buffer *b, const void *bytes, size_t n)
{
    if (n > b->cap - b->used) {
        size_t cap = b->cap ? b->cap : 4096;
        while (cap - b->used < n)
            cap *= 2;
        unsigned char *grown = realloc(b->bytes, cap);
        if (!grown)
            return KB_ENOMEM;
        b->bytes = grown;
        b->cap = cap;
    }
    if (n)
        memcpy(b->bytes + b->used, bytes, n);
    if (b->used + n >= KB_FRAME_HEAD
        && announced(b->bytes) > KB_FRAME_MAX_BYTES)
        return KB_EINVAL;
    b->used += n;
    return KB_OK;
}

const unsigned char *kb_frame_first(const struct kb_frame_buffer *b, size_t *n)
{
    if (b->used < KB_FRAME_HEAD)
        return NULL;
    size_t body = announced(b->bytes);
    if (b->used - KB_FRAME_HEAD < body)
        return NULL;
    *n = body;
    return b->bytes + KB_FRAME_HEAD;
}

bool kb_frame_broken(const struct kb_frame_buffer *b)
{
    return b->used >= KB_FRAME_HEAD
        && announced(b->bytes) > KB_FRAME_MAX_BYTES;
}

void kb_frame_drop(struct kb_frame_buffer *b)
{
    assert(b->used >= KB_FRAME_HEAD);
    size_t whole = KB_FRAME_HEAD + announced(b->bytes);
    assert(b->used >= whole);
    b->used -= whole;
    memmove(b->bytes, b->bytes + whole, b->used);
}

void kb_frame_free(struct kb_frame_buffer *b)
{
    free(b->bytes);
    *b = (struct kb_frame_buffer){ 0 };
}

/* A blocking pipe that poll calls ready takes PIPE_BUF bytes without blocking,
 * and may keep us for ever on more. */
static kb_status write_all(int fd, const unsigned char *p, size_t n,
                           int64_t deadline_ns)
{
    int mode = fcntl(fd, F_GETFL);
    if (mode < 0)
        return KB_ESYS;
    while (n) {
        int64_t left = deadline_ns - kb_clock_now_ns();
        int ms = left <= 0 ? 0
               : left > 1000000000 ? 1000 : (int)(left / 1000000) + 1;
        struct pollfd ready = { .fd = fd, .events = POLLOUT };
        int rc = poll(&ready, 1, ms);
        if (rc == 0 && left <= 0)
            return KB_ETIME;
        if (rc == 0 || (rc < 0 && errno == EINTR))
            continue;
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

kb_status kb_frame_write(int fd, const void *bytes, size_t n,
                         int64_t deadline_ns)
{
    if (n > KB_FRAME_MAX_BYTES)
        return KB_EINVAL;
    unsigned char head[KB_FRAME_HEAD];
    for (size_t i = 0; i < sizeof head; i++)
        head[i] = (unsigned char)(n >> (8 * i));
    kb_status st = write_all(fd, head, sizeof head, deadline_ns);
    return st ? st : write_all(fd, bytes, n, deadline_ns);
}

kb_status kb_frame_read(int fd, struct kb_frame_buffer *b)
{
    unsigned char chunk[65536];
    size_t n;
    while (!kb_frame_first(b, &n)) {
        if (kb_frame_broken(b))
            return KB_EWORKER;
        ssize_t r = read(fd, chunk, sizeof chunk);
        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return KB_ESYS;
        if (r == 0)
            return b->used ? KB_EWORKER : KB_EEMPTY;
        kb_status st = kb_frame_feed(b, chunk, (size_t)r);
        if (st)
            return st == KB_EINVAL ? KB_EWORKER : st;
    }
    return KB_OK;
}
