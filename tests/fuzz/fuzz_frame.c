/* Feeds arbitrary bytes in arbitrary pieces and compares with a parser that
 * sees the whole stream at once. The first byte of each input says how long
 * the pieces are and whether frames are dropped as they come or at the end. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "system/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct model {                  /* the stream, and where its next frame begins */
    const uint8_t *bytes;
    size_t fed, at;
};

static size_t head(const struct model *m)
{
    const uint8_t *p = m->bytes + m->at;
    return (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16
         | (size_t)p[3] << 24;
}

static bool has_head(const struct model *m)
{
    return m->fed - m->at >= KB_FRAME_HEAD;
}

static bool oversized(const struct model *m)
{
    return has_head(m) && head(m) > KB_FRAME_MAX_BYTES;
}

static bool whole(const struct model *m)
{
    return has_head(m) && !oversized(m)
        && m->fed - m->at - KB_FRAME_HEAD >= head(m);
}

static void require(bool fine)
{
    if (!fine)
        abort();
}

/* The buffer and the model say the same of the first frame. */
static bool agree(const struct kb_bytes *b, const struct model *m)
{
    size_t n = 12345;
    const unsigned char *first = kb_frame_first(b, &n);
    require((first != NULL) == whole(m));
    require(kb_frame_broken(b) == oversized(m));
    require(b->used == m->fed - m->at && b->used <= b->room);
    if (!first)
        return n == 12345;
    require(n == head(m));
    require(n == 0
            || memcmp(first, m->bytes + m->at + KB_FRAME_HEAD, n) == 0);
    return true;
}

static void drop_all(struct kb_bytes *b, struct model *m)
{
    size_t n;
    while (kb_frame_first(b, &n)) {
        require(agree(b, m));
        m->at += KB_FRAME_HEAD + head(m);
        kb_frame_drop(b);
        require(agree(b, m));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kb_bytes b = { 0 };
    if (size < 1)
        return 0;
    size_t step = (size_t)(data[0] & 127) + 1;
    bool eager = data[0] & 128;
    struct model m = { data + 1, 0, 0 };
    for (size_t left = size - 1; left; ) {
        size_t n = left < step ? left : step;
        require(kb_bytes_add(&b, m.bytes + m.fed, n) == KB_OK);
        m.fed += n;
        left -= n;
        require(agree(&b, &m));
        if (eager)
            drop_all(&b, &m);
        if (kb_frame_broken(&b))
            break;
    }
    drop_all(&b, &m);
    kb_bytes_free(&b);
    return 0;
}
