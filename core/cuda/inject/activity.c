#include "activity.h"

#include <stdlib.h>

static int by_start(const void *a, const void *b)
{
    const struct kb_activity *x = a, *y = b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static int usable(const struct kb_activity *r)
{
    return r->start_ns > 0 && r->end_ns >= r->start_ns;
}

/* Is record i the first on its stream, or on its device? Calls launch few
 * kernels on fewer streams: looking back finds one soon. */
static int first_of(const struct kb_activity *r, size_t i, int of_device)
{
    for (size_t k = i; k-- > 0;)
        if (usable(&r[k]) && r[k].device == r[i].device
            && (of_device || r[k].stream == r[i].stream))
            return 0;
    return 1;
}

void kb_activity_add_up(struct kb_activity *record, size_t n, int32_t home,
                        struct kb_activity_sum *out)
{
    const int64_t dropped = out->dropped;
    int64_t first = 0, until = 0;
    *out = (struct kb_activity_sum){ .dropped = dropped, .home = home };
    if (n > 0)
        qsort(record, n, sizeof *record, by_start);
    for (size_t i = 0; i < n; i++) {
        const struct kb_activity *r = &record[i];
        if (!usable(r)) {
            out->dropped++;
            continue;
        }
        if (out->kernels + out->copies == 0)
            first = until = r->start_ns;
        if (r->kind == KB_ACTIVITY_KERNEL)
            out->kernels++;
        else
            out->copies++;
        out->sum_ns += r->end_ns - r->start_ns;
        if (home != KB_ACTIVITY_NOWHERE && r->stream != home)
            out->away_ns += r->end_ns - r->start_ns;
        if (r->end_ns > until) {
            out->union_ns += r->end_ns
                             - (r->start_ns > until ? r->start_ns : until);
            until = r->end_ns;
        }
        out->streams += first_of(record, i, 0);
        out->devices += first_of(record, i, 1);
    }
    out->span_ns = until - first;
}
