#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "impl.h"

static const int64_t second_ns = 1000000000;

_Static_assert((int)KB_DEVICE_WHY >= (int)KB_CUPTI_WHY,
               "remedies are told whole");

struct step {                   /* one launch, ready for the driver */
    cu_function function;
    struct kb_launch plan;
    uint64_t value[KB_DEVICE_ARGS];
    void *param[KB_DEVICE_ARGS];
};

typedef struct cuda_program {
    struct kb_program head;
    cuda_device *device;
    cuda_buffers *buffers;
    cu_module module;
    size_t steps, scratches;
    struct step step[KB_PLAN_LAUNCHES];
    cu_pointer scratch[KB_PLAN_SCRATCHES];
    uint64_t scratch_bytes[KB_PLAN_SCRATCHES];
} cuda_program;

/* What argument i of a step is, as the 4 or 8 bytes the kernel reads. */
static kb_status bind_argument(cuda_program *p, struct step *s, uint32_t i,
                               uint32_t bytes, char *why, size_t cap)
{
    const kb_buffers *b = &p->buffers->head;
    const unsigned kind = s->plan.arg[i].kind;
    const uint32_t at = s->plan.arg[i].index;
    const bool scratch = kind == KB_PASS_SCRATCH;
    const struct kb_arg *a = kind == KB_PASS_ARG && at < b->args ? &b->arg[at]
                                                                 : NULL;
    const bool pointer = scratch || (a && a->mode != KB_SCALAR);
    if (scratch ? at >= p->scratches : !a && kind != KB_PASS_INTEGER)
        return KB_EINVAL;
    s->param[i] = &s->value[i];
    if (pointer) {
        s->value[i] = scratch ? p->scratch[at] : p->buffers->at[at];
    } else if (a && kb_dtype_is_float(a->dtype)) {
        const enum kb_dtype type = bytes == 8 ? KB_F64 : KB_F32;
        kb_tensor_set(&s->value[i], type, 0, a->real);
        return KB_OK;
    } else {
        s->value[i] = (uint64_t)(a ? a->integer : s->plan.arg[i].value);
    }
    if (bytes == 8 || (bytes == 4 && !pointer))
        return KB_OK;
    return kb_refuse(why, cap, KB_EINVAL,
                     "%s: parameter %u has %u bytes, the plan passes %s",
                     s->plan.kernel, i + 1, bytes,
                     pointer ? "a pointer" : "a number");
}

static kb_status check_resources(cuda_program *p, struct step *s,
                                 const struct kb_cubin_entry *e, char *why,
                                 size_t cap)
{
    const struct kb_device_info *info = &p->device->head.info;
    uint64_t threads = (uint64_t)s->plan.block[0] * s->plan.block[1]
                     * s->plan.block[2];
    int most = 0;
    p->device->api.FuncGetAttribute(&most, CU_FUNC_MAX_THREADS, s->function);
    if (threads > (uint64_t)most)
        return kb_refuse(why, cap, KB_EINVAL, "%s: %llu threads a block, %d "
                         "fit (%u registers a thread)", s->plan.kernel,
                         (unsigned long long)threads, most, e->registers);
    uint64_t shared = (uint64_t)e->shared_bytes + s->plan.shared_bytes;
    if (shared > info->block_shared_bytes)
        return kb_refuse(why, cap, KB_EINVAL, "%s: %llu bytes of shared memory "
                         "a block, the device has %llu", s->plan.kernel,
                         (unsigned long long)shared,
                         (unsigned long long)info->block_shared_bytes);
    if (s->plan.shared_bytes > 48 * 1024)
        return KB_CUDA(p->device, "asking for shared memory", FuncSetAttribute,
                       s->function, CU_FUNC_MAX_DYNAMIC_SHARED,
                       (int)s->plan.shared_bytes);
    return KB_OK;
}

static kb_status bind_step(cuda_program *p, struct step *s,
                           const cuda_object *o, char *why, size_t cap)
{
    const struct kb_cubin_entry *e = kb_cubin_find(o->inspected,
                                                   s->plan.kernel);
    if (!e)
        return kb_refuse(why, cap, KB_EINVAL, "the source has no extern \"C\" "
                         "__global__ %s", s->plan.kernel);
    if (e->params != s->plan.args)
        return kb_refuse(why, cap, KB_EINVAL,
                         "%s takes %u parameters, the plan passes %u",
                         s->plan.kernel, e->params, s->plan.args);
    kb_status st = KB_CUDA(p->device, "a function", ModuleGetFunction,
                           &s->function, p->module, s->plan.kernel);
    for (uint32_t i = 0; i < s->plan.args && !st; i++)
        st = bind_argument(p, s, i, e->param_bytes[i], why, cap);
    return st ? st : check_resources(p, s, e, why, cap);
}

static kb_status open_scratch(cuda_program *p, const struct kb_plan *plan,
                              char *why, size_t cap)
{
    for (size_t i = 0; i < plan->scratches; i++) {
        uint64_t bytes = plan->scratch[i].count
                       * kb_dtype_bytes(plan->scratch[i].dtype);
        bytes = (bytes + 255) / 256 * 256;
        if (kb_cuda_alloc(p->device, &p->scratch[i], bytes))
            return kb_refuse(why, cap, KB_EINVAL, "%llu bytes of scratch "
                             "memory are not to be had",
                             (unsigned long long)bytes);
        p->scratch_bytes[i] = bytes;
        p->scratches++;
    }
    return KB_OK;
}

/* Scratch holds something else every time, and never zeros. */
static kb_status dirty_scratch(cuda_program *p, uint64_t salt)
{
    kb_status st = KB_OK;
    unsigned word = 0x7fc00001u | (unsigned)((salt * 0x9e3779b9u) & 0x3ffffc);
    for (size_t i = 0; i < p->scratches && !st; i++)
        st = kb_cuda_set(p->device, p->scratch[i], word, p->scratch_bytes[i]);
    return st;
}

static kb_status start_steps(cuda_program *p)
{
    cuda_device *d = p->device;
    kb_status st = KB_OK;
    for (size_t i = 0; i < p->steps && !st; i++) {
        const struct step *s = &p->step[i];
        const uint32_t *g = s->plan.grid, *b = s->plan.block;
        st = KB_CUDA(d, s->plan.kernel, LaunchKernel, s->function, g[0], g[1],
                     g[2], b[0], b[1], b[2], s->plan.shared_bytes, d->stream,
                     (void **)s->param, NULL);
    }
    return st;
}

/* What has to be as new before a run; cold: the cache as well, since the run
 * is timed. */
static kb_status prepare(cuda_program *p, uint64_t salt, bool cold)
{
    kb_status st = kb_cuda_refresh(p->buffers);
    KB_THEN(st, dirty_scratch(p, salt));
    if (!st && cold)
        st = kb_cuda_flush_l2(p->device);
    return st;
}

/* Up to CUDA_PAIRS runs, each between two events: the host is far ahead of
 * the device by then, since each waits for a flush. */
static kb_status run_some(cuda_program *p, uint64_t from, uint64_t n,
                          bool cold, int64_t deadline_ns, double *ms)
{
    cuda_device *d = p->device;
    for (uint64_t i = 0; i < n; i++) {
        const cu_event *pair = &d->event[2 * i];
        kb_status st = prepare(p, from + i + p->buffers->head.seed, cold);
        KB_THEN(st, KB_CUDA(d, "event", EventRecord, pair[0], d->stream));
        KB_THEN(st, start_steps(p));
        KB_THEN(st, KB_CUDA(d, "event", EventRecord, pair[1], d->stream));
        if (st)
            return st;
    }
    kb_status st = kb_cuda_wait(d, deadline_ns);
    for (uint64_t i = 0; i < n && !st; i++) {
        float one = 0;
        st = KB_CUDA(d, "event", EventElapsedTime, &one, d->event[2 * i],
                     d->event[2 * i + 1]);
        *ms += (double)one;
    }
    return st;
}

static kb_status launch(kb_program *base, uint64_t iterations,
                         int64_t timeout_ns, int64_t *elapsed_ns)
{
    cuda_program *p = (cuda_program *)base;
    cuda_device *d = p->device;
    int64_t deadline_ns = kb_clock_now_ns() + timeout_ns;
    double ms = 0;
    kb_status st = d->head.lost[0] ? KB_EWORKER : KB_OK;
    if (!st)
        d->api.CtxResetPersistingL2();
    for (uint64_t done = 0; done < iterations && !st; ) {
        uint64_t n = iterations - done;
        if (n > CUDA_PAIRS)
            n = CUDA_PAIRS;
        st = run_some(p, done, n, elapsed_ns != NULL, deadline_ns, &ms);
        done += n;
    }
    if (st)
        return kb_refuse(base->why, sizeof base->why, st, "%s",
                         d->head.lost[0] ? d->head.lost : kb_status_text(st));
    if (elapsed_ns)
        *elapsed_ns = ms * 1e6 < 1 ? 1 : (int64_t)(ms * 1e6);
    return KB_OK;
}

/* One step of a replay, see kb_cupti_replay. */
static kb_status replay(void *arg, bool counted)
{
    cuda_program *p = arg;
    kb_status st = counted ? start_steps(p)
                           : prepare(p, p->buffers->head.seed, true);
    return st ? st : kb_cuda_wait(p->device, kb_clock_now_ns()
                                  + 10 * second_ns);
}

static kb_status profile(kb_program *base, const char *set,
                          struct kb_metric *metric, size_t *n, char *why,
                          size_t cap)
{
    cuda_program *p = (cuda_program *)base;
    cuda_device *d = p->device;
    const struct kb_cupti_set *which = kb_cupti_set(set);
    double value[KB_CUPTI_METRICS];
    if (!which)
        return KB_EINVAL;
    if (!d->cupti && !d->no_cupti[0]
        && kb_cupti_open(d->context, d->ordinal, NULL, &d->cupti,
                         d->no_cupti, sizeof d->no_cupti))
        d->cupti = NULL;
    if (!d->cupti)
        return kb_refuse(why, cap, KB_ENODEV, "%s", d->no_cupti);
    kb_status st = kb_cupti_collect(d->cupti, which, replay, p, value);
    if (st)
        return kb_refuse(why, cap, st, "%s", d->head.lost[0]
                         ? d->head.lost : kb_cupti_why(d->cupti));
    *n = which->metrics;
    for (size_t i = 0; i < which->metrics; i++)
        metric[i] = (struct kb_metric){ which->metric[i].key, value[i],
                                        value[i] == value[i] };
    return KB_OK;
}

static kb_status occupancy(kb_program *base, size_t i, double *out)
{
    cuda_program *p = (cuda_program *)base;
    cuda_device *d = p->device;
    int blocks = 0;
    if (i >= p->steps)
        return KB_EINVAL;
    const struct kb_launch *l = &p->step[i].plan;
    int threads = (int)(l->block[0] * l->block[1] * l->block[2]);
    kb_status st = KB_CUDA(d, "occupancy", MaxActiveBlocks, &blocks,
                           p->step[i].function, threads, l->shared_bytes);
    if (!st)
        *out = (double)blocks * threads / d->head.info.sm_threads;
    return st;
}

static void stop(kb_program *base)
{
    cuda_program *p = (cuda_program *)base;
    cuda_device *d = p->device;
    for (size_t i = 0; i < p->scratches; i++)
        kb_cuda_free(d, p->scratch[i]);
    if (p->module && !d->head.lost[0])
        d->api.ModuleUnload(p->module);
    free(p);
}

static kb_status start(kb_program *base, const kb_object *object,
                       kb_buffers *b, const struct kb_plan *plan, char *why,
                       size_t cap)
{
    cuda_program *p = (cuda_program *)base;
    cuda_device *d = p->device = (cuda_device *)base->device;
    const cuda_object *o = (const cuda_object *)object;
    p->buffers = (cuda_buffers *)b;
    if (!plan || plan->launches < 1)
        return kb_refuse(why, cap, KB_EINVAL, "there is no launch plan");
    if (d->head.lost[0])
        return KB_ECRASH;
    cu_result code = d->api.ModuleLoadData(&p->module, o->head.cubin);
    kb_status st = code ? KB_EINVAL : KB_OK;
    if (code)
        kb_cuda_api_say(&d->api, code, why, cap);
    KB_THEN(st, open_scratch(p, plan, why, cap));
    for (size_t i = 0; i < plan->launches && !st; i++) {
        p->step[i].plan = plan->launch[i];
        p->steps = i + 1;
        st = bind_step(p, &p->step[i], o, why, cap);
    }
    if (!st || d->head.lost[0])
        return st;
    code = d->api.StreamQuery(d->stream);       /* broken by others? */
    return code != CU_NOT_READY && kb_cuda_check(d, code, "loading")
        ? KB_ECRASH : st;
}

const struct kb_program_ops kb_cuda_program = {
    .bytes = sizeof(cuda_program), .start = start, .launch = launch,
    .profile = profile, .occupancy = occupancy, .stop = stop
};
