#include "frame.h"

#include <assert.h>

static size_t announced(const char *bytes)
{
    const unsigned char *head = (const unsigned char *)bytes;
    return (size_t)head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16
         | (size_t)head[3] << 24;
}

bool kb_frame_broken(const struct kb_bytes *b)
{
    return b->used >= KB_FRAME_HEAD && announced(b->at) > KB_FRAME_MAX_BYTES;
}

const unsigned char *kb_frame_first(const struct kb_bytes *b, size_t *n)
{
    if (b->used < KB_FRAME_HEAD || kb_frame_broken(b))
        return NULL;
    size_t body = announced(b->at);
    if (b->used - KB_FRAME_HEAD < body)
        return NULL;
    *n = body;
    return (const unsigned char *)b->at + KB_FRAME_HEAD;
}

void kb_frame_drop(struct kb_bytes *b)
{
    assert(b->used >= KB_FRAME_HEAD);
    size_t whole = KB_FRAME_HEAD + announced(b->at);
    assert(b->used >= whole);
    kb_bytes_drop(b, whole);
}

kb_status kb_frame_write(int fd, const void *bytes, size_t n,
                         int64_t deadline_ns)
{
    if (n > KB_FRAME_MAX_BYTES)
        return KB_EINVAL;
    unsigned char head[KB_FRAME_HEAD];
    for (size_t i = 0; i < sizeof head; i++)
        head[i] = (unsigned char)(n >> (8 * i));
    kb_status st = kb_io_write(fd, head, sizeof head, deadline_ns);
    return st ? st : kb_io_write(fd, bytes, n, deadline_ns);
}

kb_status kb_frame_read(int fd, struct kb_bytes *b)
{
    size_t n;
    while (!kb_frame_first(b, &n)) {
        if (kb_frame_broken(b))
            return KB_EWORKER;
        kb_status st = kb_io_append(fd, b, &n);
        if (st)
            return st;
        if (n == 0)
            return b->used ? KB_EWORKER : KB_EEMPTY;
    }
    return KB_OK;
}
