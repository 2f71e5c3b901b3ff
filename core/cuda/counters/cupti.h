/* cupti.h - hardware counters of what a callback launches on an NVIDIA GPU,
 * in process, through CUPTI's Range Profiler with user replay.
 *
 * A set of metrics needs one or more passes: the hardware counts only so much
 * at once, so the launches are repeated. Before each pass the caller puts
 * memory back as it was and flushes the caches; CUPTI restores nothing.
 * Counting serialises kernels and takes milliseconds a pass: times taken while
 * a pass runs are no verdict times.
 *
 * libcupti is opened when first needed and stays loaded. It takes one profiler
 * a process and device, and none beside ncu or nsys. cupti_none.c stands in
 * where the toolkit's headers were missing: everything is ENODEV there.
 *
 * Metric names and pass counts were checked for the chips GA100, GA102, AD102,
 * GH100, GB100 and GB202 (compute capability 8.0 to 12.0).
 */
#pragma once

#include "kb.h"

enum { KB_CUPTI_METRICS = 64, KB_CUPTI_WHY = 512 };

/* Values are named by key: what Lua sees. name is CUPTI's. */
struct kb_cupti_metric {
    const char *key, *name;
};

struct kb_cupti_set {
    const char *name;
    const struct kb_cupti_metric *metric;
    size_t metrics;             /* at most KB_CUPTI_METRICS */
    size_t passes;              /* the most any of the chips above needs */
};

/* The sets (cupti_sets.c; they need no CUPTI), each the beginning of the next.
 *   search   1 pass   times, DRAM and L2 traffic, L2 hits by tag, issue,
 *                     occupancy, active threads, tensor cores, conflicts
 *   lean     2        and L1 hits, issue slots, tensor instructions: what
 *                     every candidate is counted with
 *   full    14        and flops by type, spills, bytes used a sector, L2 hits
 *                     by sector, what warps wait for, the busiest unit of SM,
 *                     L1, L2 and DRAM */
extern const struct kb_cupti_set kb_cupti_search, kb_cupti_lean, kb_cupti_full;

/* "search", "lean", "full"; NULL for any other name. */
const struct kb_cupti_set *kb_cupti_set(const char *name);

typedef struct kb_cupti kb_cupti;

/* A step of a replay, with the context current. counted: starts the kernels and
 * waits for them; only what it does then is counted. Else: restores the inputs,
 * poisons the outputs, flushes the L2 and waits for all of it. KB_OK, or any
 * status to stop. */
typedef kb_status kb_cupti_replay(void *arg, bool counted);

/* What a device has to count with, in CUPTI's own bytes. To find it out takes
 * 0.15 to 0.2 s on an H200, most of what opening a profiler does. */
struct kb_cupti_available {
    const void *image;          /* NULL: not known */
    size_t bytes;
};

/* Opens the profiler on a context (a CUcontext, current, kept alive until
 * close) of the device with this CUDA ordinal. known: what another process
 * found out of the same device, copied; or NULL: the first collect finds it out.
 * ENODEV: counters cannot be had, and trying again will not help; why (cap
 * bytes, NUL-terminated) says what is in the way - no library, MIG, vGPU, WSL,
 * confidential computing, a chip newer than the library - and what to do. */
KB_STATUS kb_cupti_open(void *cu_context, int device,
                        const struct kb_cupti_available *known, kb_cupti **out,
                        char *why, size_t cap);
void kb_cupti_close(kb_cupti *c);

/* Valid until close; of a profiler that has collected or was told. */
struct kb_cupti_available kb_cupti_known(const kb_cupti *c);

/* Counts what replay(arg, true) launches: value[i] belongs to set->metric[i] and is NaN
 * when this chip has no such metric or the counter gave nothing (a ratio with
 * nothing below it, too). A status of replay ends the collection and is
 * returned. ENODEV: counting could not begin (permission, another profiler), and
 * the next call tries again; or CUPTI or replay failed while counted, and the
 * profiler is not touched any more: every later call is ENODEV. kb_cupti_why says
 * why. The set must outlive c: its address is its key. */
KB_STATUS kb_cupti_collect(kb_cupti *c, const struct kb_cupti_set *set,
                           kb_cupti_replay *replay, void *arg, double *value);

/* What the last failure was; "" when there was none. */
const char *kb_cupti_why(const kb_cupti *c);

/* Without a GPU and a driver: the passes a set takes on a chip ("GA100").
 * EINVAL: the chip is not known, or has no such metric; why names it.
 * ENODEV: no libcupti, or one too old. */
KB_STATUS kb_cupti_host_passes(const char *chip, const struct kb_cupti_set *set,
                               size_t *passes, char *why, size_t cap);
