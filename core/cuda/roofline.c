#include <math.h>
#include <string.h>

#include "clock.h"
#include "impl.h"

enum { RUNS = 5, ROUNDS = 4096 };

static const int64_t timeout_ns = 10000000000;
static const size_t copy_bytes = (size_t)512 << 20;

/* Milliseconds of one run of a kit kernel over n items; 0 on failure. */
static double time_kit(cuda_device *d, enum kb_cuda_kit which, uint64_t n,
                       void **params)
{
    float ms = 0;
    if (d->api.EventRecord(d->event[0], d->stream)
        || kb_cuda_kit_run(d, which, n, params)
        || d->api.EventRecord(d->event[1], d->stream)
        || kb_cuda_wait(d, kb_clock_now_ns() + timeout_ns)
        || d->api.EventElapsedTime(&ms, d->event[0], d->event[1]))
        return 0;
    return (double)ms;
}

static double best(cuda_device *d, enum kb_cuda_kit which, uint64_t n,
                   void **params, double amount)
{
    double most = 0;
    for (int i = 0; i < RUNS; i++) {
        double ms = time_kit(d, which, n, params);
        if (ms > 0)
            most = fmax(most, amount / (ms * 1e-3));
    }
    return most;
}

/* Peaks of this device: a copy larger than any cache, chains of fused
 * multiply-adds, and mma.sync on bf16 (wgmma can do more). The grid fills the
 * device 16 blocks of 256 threads an SM. */
kb_status kb_cuda_roofline(kb_device *base, struct kb_roofline *out)
{
    cuda_device *d = (cuda_device *)base;
    cu_pointer from = 0, to = 0, sink = d->results;
    uint64_t items = copy_bytes / 16;
    kb_status st = KB_ENOMEM;
    if (kb_cuda_alloc(d, &from, copy_bytes) || kb_cuda_alloc(d, &to, copy_bytes)
        || kb_cuda_set(d, from, 0x5eed, copy_bytes))
        goto done;              /* a sanitizer minds what nobody wrote */
    memset(out, 0, sizeof *out);
    out->isa = "cuda";
    out->l2_bytes = 0;          /* timing starts from a cold cache */
    void *copy[] = { &to, &from, &items };
    out->dram_copy_bytes_per_s = best(d, KIT_copy, items, copy,
                                      2.0 * (double)copy_bytes);
    void *read[] = { &from, &items, &sink };
    out->dram_bytes_per_s = best(d, KIT_read, items, read,
                                 (double)copy_bytes);
    int rounds = ROUNDS;
    float a = 0.999f, b = 1e-3f;
    uint64_t threads = (uint64_t)d->head.info.sm_count * 16 * 256;
    void *fma[] = { &sink, &rounds, &a, &b };
    out->f32_flops_per_s = best(d, KIT_fma32, threads, fma,
                                16.0 * ROUNDS * (double)threads);
    unsigned seed = 0x3f803f80;         /* ones */
    void *mma[] = { &sink, &rounds, &seed };
    out->bf16_flops_per_s = best(d, KIT_mma_bf16, threads, mma,
                                 8.0 * 4096 * ROUNDS * (double)threads / 32);
    st = d->head.lost[0] ? KB_ECRASH : KB_OK;
done:
    kb_cuda_free(d, from);
    kb_cuda_free(d, to);
    return st;
}
