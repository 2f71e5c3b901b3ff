/* inject.h - what libkb_inject.so gives the process it is loaded into: a record
 * of all that runs on the GPU during a call, and hardware counters of it.
 *
 * The library stands alone. A Python child opens it with ctypes before it opens
 * the GPU; naming it in CUDA_INJECTION64_PATH does as well. It opens libcupti,
 * first the one that is in the process already: torch brings its own. Records
 * cost each launch some microseconds while they are taken and nothing before
 * and after.
 *
 * One thread at a time. Every function that returns int returns 0 for done;
 * else why (cap bytes, NUL-terminated) says what is in the way.
 */
#pragma once

#include "activity.h"

enum {
    KB_INJECT_RECORDS = 4096,       /* of one call; more count as dropped */
    KB_INJECT_STREAMS = 64          /* whose ids are remembered */
};

/* Finds CUPTI and registers with it. Once a process, after its last fork. */
int kb_inject_open(char *why, size_t cap);

/* Records from here on. The caller waits for the GPU before both. stop gives
 * the sum of what ran in between. home is the stream of that handle, 0 for the
 * default one: its id is learned the first time, with a context; where it can't
 * be home is KB_ACTIVITY_NOWHERE and the records are given all the same. */
int kb_inject_start(uint64_t stream, char *why, size_t cap);
int kb_inject_stop(struct kb_activity_sum *out, char *why, size_t cap);

/* What the last stop saw, by start; valid until the next start. */
const struct kb_activity *kb_inject_records(size_t *n);

/* Counts a set of cupti.h: value[i] belongs to the key of the same number, NaN
 * where the chip has none. prepare and launch as kb_cupti_replay has them, 0
 * for done. Nothing may be recorded meanwhile. A profiler is opened and closed
 * again: milliseconds, the first time in a process half a second. */
int kb_inject_count(const char *set, int device, int (*prepare)(void *),
                    int (*launch)(void *), void *arg, double *value,
                    size_t values, char *why, size_t cap);

/* What the GPU has to count with (cupti.h): the bytes that the first count
 * found out, NULL before; and those of another process of the same GPU, copied,
 * that spare this one's counts finding them out. */
const void *kb_inject_known(size_t *bytes);
void kb_inject_know(const void *image, size_t bytes);

/* Reads what a set's counters need of the host for a chip ("GH100"), no GPU
 * opened: a process forked afterwards has it and counts so much sooner. */
int kb_inject_ready(const char *chip, const char *set, char *why, size_t cap);

/* NULL past the last, or for no such set. */
const char *kb_inject_key(const char *set, size_t i);

/* What CUDA calls in a library that CUDA_INJECTION64_PATH names; 1 for done. */
int InitializeInjection(void);
