/* frame.h - messages on a byte stream: four bytes of length, little-endian,
 * then that many bytes. The contents are not looked at here.
 */
#pragma once

#include "kb.h"
#include "io.h"

enum { KB_FRAME_HEAD = 4, KB_FRAME_MAX_BYTES = 64 << 20 };

/* The payload of the first whole frame of what was received, or NULL when there
 * is none yet. It belongs to b and dies at the next change of b. */
const unsigned char *kb_frame_first(const struct kb_bytes *b,
                                    size_t *n);

/* Whether the frame now first announces more than KB_FRAME_MAX_BYTES. It may
 * have come behind good ones, in one piece with them: the stream is lost. */
bool kb_frame_broken(const struct kb_bytes *b);

/* Forgets the first whole frame. There must be one. */
void kb_frame_drop(struct kb_bytes *b);

/* Writes one frame to fd, as kb_io_write. EINVAL: n over the maximum. */
KB_STATUS kb_frame_write(int fd, const void *bytes, size_t n,
                         int64_t deadline_ns);

/* Blocks until b holds a whole frame. EEMPTY: the stream ended between
 * frames; EWORKER: it ended inside one, or announced too much. */
KB_STATUS kb_frame_read(int fd, struct kb_bytes *b);
