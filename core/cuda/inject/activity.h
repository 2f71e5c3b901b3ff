/* activity.h - what ran on a GPU during a call, from records of kernels, copies
 * and fills: how long it was busy, and whether all of it was where it is timed.
 *
 * Plain arithmetic: inject.c fills the records through CUPTI.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { KB_ACTIVITY_NAME = 192, KB_ACTIVITY_NOWHERE = -1 };

enum kb_activity_kind { KB_ACTIVITY_KERNEL, KB_ACTIVITY_COPY, KB_ACTIVITY_FILL };

/* Of a copy or a fill only the first six fields are set. No padding: other
 * languages read it. */
struct kb_activity {
    int64_t start_ns, end_ns;       /* of one clock, the GPU's */
    int32_t kind, device, stream;
    int32_t registers, shared_bytes, local_bytes;   /* of a thread, block, thread */
    int32_t grid[3], block[3];
    char name[KB_ACTIVITY_NAME];    /* as the driver has it: C++ names mangled */
};

/* All int64_t for the same reason. */
struct kb_activity_sum {
    int64_t kernels, copies;        /* copies: and fills */
    int64_t sum_ns;                 /* of all durations */
    int64_t union_ns;               /* time during which anything ran */
    int64_t span_ns;                /* first start to last end */
    int64_t away_ns;                /* sum of what ran on other streams than home */
    int64_t streams, devices;
    int64_t dropped;                /* records that were lost or have no times */
    int64_t home;                   /* KB_ACTIVITY_NOWHERE: away_ns is not known */
};

/* Sums up n records, which it sorts by start. Those that end before they start,
 * or have no start, are counted as dropped alone. dropped is added to. */
void kb_activity_add_up(struct kb_activity *record, size_t n, int32_t home,
                        struct kb_activity_sum *out);
