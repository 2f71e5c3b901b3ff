/* io.h - bytes that grow, and descriptors that are read and written up to a
 * deadline (kb_clock_now_ns; INT64_MAX for none).
 */
#pragma once

#include <sys/types.h>

#include "kb.h"

/* Zero it to begin. at[used] is '\0' once there was room for anything. */
struct kb_bytes {
    char *at;
    size_t used, room;
};

/* Makes room for n more bytes behind the used ones. ENOMEM: as before. */
KB_STATUS kb_bytes_reserve(struct kb_bytes *b, size_t n);
KB_STATUS kb_bytes_add(struct kb_bytes *b, const void *bytes, size_t n);

/* Forgets the first n bytes; n <= used. */
void kb_bytes_drop(struct kb_bytes *b, size_t n);
void kb_bytes_free(struct kb_bytes *b);

/* Milliseconds until then for poll, rounded up, an hour at most; 0: past. */
int kb_io_left_ms(int64_t deadline_ns);

/* Waits until fd may be read (POLLIN) or written (POLLOUT). ETIME, ESYS. */
KB_STATUS kb_io_poll(int fd, short events, int64_t deadline_ns);

/* read(2), begun again after a signal. */
ssize_t kb_io_read(int fd, void *to, size_t n);

/* Appends what one read gives, *n bytes; 0: the end of the stream. ENOMEM;
 * ESYS with errno (EAGAIN: nothing there yet). */
KB_STATUS kb_io_append(int fd, struct kb_bytes *b, size_t *n);

/* Writes all of it, to a blocking descriptor or not. What fits is written even
 * after the deadline. ETIME, with a part perhaps written; ESYS with errno
 * (EPIPE: the reader is gone). */
KB_STATUS kb_io_write(int fd, const void *bytes, size_t n, int64_t deadline_ns);

/* Closes *fd unless it is -1, makes it -1 and leaves errno as it is. */
void kb_io_close(int *fd);
