/* wait.h - one wait over everything that may speak: workers, transfers,
 * commands.
 *
 * A source says which descriptors to watch and by when it wants to be looked
 * at; when one stirs or the time has come, it listens: reads what is there
 * without blocking, and says whether its owner now has something to fetch.
 */
#pragma once

#include <poll.h>

#include "kb.h"

enum { KB_SOURCE_FDS = 4 };

struct kb_source_kind {
    /* Fills p, returns how many. *by_ns is INT64_MAX before the call and stays
     * so when there is no time; INT64_MIN: something waits to be fetched. */
    size_t (*watch)(void *object, struct pollfd p[KB_SOURCE_FDS],
                    int64_t *by_ns);
    bool (*listen)(void *object);
};

struct kb_source {
    const struct kb_source_kind *kind;
    void *object;
    size_t fds;
    int64_t by_ns;
    bool ready;                 /* written by kb_wait */
};

/* Waits until a source is ready, or deadline_ns; sets ready in all n, also
 * when none is. scratch has room for n * KB_SOURCE_FDS. ETIME. EINTR: a signal
 * came, perhaps to another thread. n may be 0: then it only waits. ESYS. */
KB_STATUS kb_wait(struct kb_source *sources, size_t n, struct pollfd *scratch,
                  int64_t deadline_ns);
