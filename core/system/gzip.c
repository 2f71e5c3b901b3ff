#include "gzip.h"

#include <errno.h>
#include <limits.h>

#include <zlib.h>

#include "io.h"

enum { WINDOW = 15, ANY_HEADER = 32, STEP_BYTES = 1 << 16 };

static uInt small(size_t n)
{
    return n > UINT_MAX / 2 ? UINT_MAX / 2 : (uInt)n;
}

/* Inflates members until the input is used up, one byte too many at most. */
static kb_status unpack(z_stream *z, const unsigned char *data, size_t n,
                        size_t most, struct kb_bytes *b)
{
    bool within = true;
    for (size_t at = 0; within || at < n; ) {
        if (kb_bytes_reserve(b, STEP_BYTES))
            return KB_ENOMEM;
        size_t room = b->room - b->used - 1, left = most + 1 - b->used;
        uInt in = small(n - at), out = small(room < left ? room : left);
        z->next_in = (unsigned char *)(uintptr_t)(data + at);
        z->avail_in = in;
        z->next_out = (unsigned char *)b->at + b->used;
        z->avail_out = out;
        int zs = inflate(z, Z_NO_FLUSH);
        at += in - z->avail_in;
        b->used += out - z->avail_out;
        if (b->used > most) {
            b->used = most;
            errno = EFBIG;
            return KB_ESYS;
        }
        within = zs != Z_STREAM_END;
        if (zs == Z_MEM_ERROR)
            return KB_ENOMEM;
        if (within && (zs != Z_OK || (at == n && z->avail_out > 0)))
            return KB_EINVAL;
        if (!within && inflateReset(z) != Z_OK)
            return KB_EINVAL;
    }
    return KB_OK;
}

kb_status kb_gzip_unpack(const void *data, size_t n, size_t most, char **out,
                         size_t *out_n)
{
    struct kb_bytes b = { 0 };
    z_stream z = { 0 };
    *out = NULL;
    *out_n = 0;
    if (inflateInit2(&z, WINDOW + ANY_HEADER) != Z_OK)
        return KB_ENOMEM;
    kb_status st = unpack(&z, data, n, most, &b);
    inflateEnd(&z);
    *out = b.at;
    *out_n = b.used;
    return st;
}
