/* gzip.h - reads gzip (RFC 1952) in memory, bounded.
 *
 * A file may hold several members one after another: their contents are
 * joined, so a writer may append and what was complete before stays readable.
 */
#pragma once

#include "kb.h"

/* Unpacks n bytes of gzip or zlib data into *out, malloc'd, *out_n bytes.
 *   EINVAL   the data is damaged or ends early
 *   ESYS     it unpacks to more than most bytes (errno EFBIG)
 *   ENOMEM
 * *out is the caller's to free whatever the status; with EINVAL it holds what
 * came before the fault. NULL when there is nothing. */
KB_STATUS kb_gzip_unpack(const void *data, size_t n, size_t most, char **out,
                         size_t *out_n);
