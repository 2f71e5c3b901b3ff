#include "gzip.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include <zlib.h>

enum { WINDOW = 15, ANY_HEADER = 32, GZIP_HEADER = 16, FIRST_BYTES = 1 << 16 };
static const size_t max_packed_bytes = (size_t)1 << 30;

static uInt small(size_t n)
{
    return n > UINT_MAX / 2 ? UINT_MAX / 2 : (uInt)n;
}

struct room {
    char *data;
    size_t used, size, most;
};

/* Makes room for at least one more byte. */
static kb_status grow(struct room *r)
{
    if (r->used < r->size)
        return KB_OK;
    if (r->size >= r->most) {
        errno = EFBIG;
        return KB_ESYS;
    }
    size_t size = r->size ? 2 * r->size : FIRST_BYTES;
    if (size > r->most)
        size = r->most;
    char *data = realloc(r->data, size);
    if (!data)
        return KB_ENOMEM;
    r->data = data;
    r->size = size;
    return KB_OK;
}

/* Inflates members until the input is used up. */
static kb_status unpack(z_stream *z, const unsigned char *data, size_t n,
                        struct room *r)
{
    size_t at = 0;
    bool within = false;
    while (true) {
        kb_status st = KB_OK;
        if (!within && at == n && at > 0)
            return KB_OK;
        st = grow(r);
        if (st == KB_ESYS && !within)
            return st;
        unsigned char beyond;                   /* is there a byte too many? */
        uInt in = small(n - at), out = st ? 1 : small(r->size - r->used);
        z->next_in = (unsigned char *)(uintptr_t)(data + at);
        z->avail_in = in;
        z->next_out = st ? &beyond : (unsigned char *)r->data + r->used;
        z->avail_out = out;
        if (st == KB_ENOMEM)
            return st;
        int zs = inflate(z, Z_NO_FLUSH);
        at += in - z->avail_in;
        if (st && z->avail_out == 0)
            return st;
        if (!st)
            r->used += out - z->avail_out;
        within = zs != Z_STREAM_END;
        if (zs == Z_MEM_ERROR)
            return KB_ENOMEM;
        if (within && (zs != Z_OK || (at == n && z->avail_out > 0)))
            return KB_EINVAL;
        if (!within && inflateReset(z) != Z_OK)
            return KB_EINVAL;
    }
}

kb_status kb_gzip_unpack(const void *data, size_t n, size_t most, char **out,
                         size_t *out_n)
{
    struct room r = { .most = most };
    z_stream z = { 0 };
    *out = NULL;
    *out_n = 0;
    if (inflateInit2(&z, WINDOW + ANY_HEADER) != Z_OK)
        return KB_ENOMEM;
    kb_status st = unpack(&z, data, n, &r);
    inflateEnd(&z);
    *out = r.data;
    *out_n = r.used;
    return st;
}

kb_status kb_gzip_pack(const void *data, size_t n, int level, char **out,
                       size_t *out_n)
{
    if (n >= max_packed_bytes || level < 1 || level > 9)
        return KB_EINVAL;
    z_stream z = { 0 };
    if (deflateInit2(&z, level, Z_DEFLATED, WINDOW + GZIP_HEADER, 9,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return KB_ENOMEM;
    uLong bound = deflateBound(&z, (uLong)n);
    char *packed = malloc(bound);
    if (!packed) {
        deflateEnd(&z);
        return KB_ENOMEM;
    }
    z.next_in = (unsigned char *)(uintptr_t)data;
    z.avail_in = (uInt)n;
    z.next_out = (unsigned char *)packed;
    z.avail_out = (uInt)bound;
    int zs = deflate(&z, Z_FINISH);
    deflateEnd(&z);
    if (zs != Z_STREAM_END) {
        free(packed);
        return KB_ENOMEM;
    }
    *out = packed;
    *out_n = (size_t)(bound - z.avail_out);
    return KB_OK;
}
