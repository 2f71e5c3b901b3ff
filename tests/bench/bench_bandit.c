/* What a choice costs. One line a measure: the median over many batches of the
 * time of one call. Build with MODE=release. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bandit/cluster.h"
#include "bandit/logit.h"
#include "bandit/ucb.h"
#include "rng.h"

enum { CLUSTERS = 3, STRATEGIES = 6, ARMS = CLUSTERS * STRATEGIES, RHO = 6,
       PHI = 9, SAMPLES = 500, POINTS = 2000, POINT_DIM = 5,
       MAX_BATCHES = 401 };

static struct kb_rng rng;
static double sink;             /* what is computed must be seen to be used */

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void must(kb_status st)
{
    if (st) {
        fprintf(stderr, "bench_bandit: %s\n", kb_status_text(st));
        exit(EXIT_FAILURE);
    }
}

/* batch(context, calls) makes that many calls; before each, untimed, prepare
 * runs when there is one. */
struct measure {
    const char *name;
    void (*prepare)(void *);
    void (*batch)(void *, int);
    void *context;
    int batches, calls;
    double target_us;           /* 0: no target, for the record */
};

static void report(const struct measure *m)
{
    static double ns[MAX_BATCHES];
    m->batch(m->context, m->calls);             /* warms the caches */
    for (int i = 0; i < m->batches; i++) {
        if (m->prepare)
            m->prepare(m->context);
        int64_t start_ns = now_ns();
        m->batch(m->context, m->calls);
        ns[i] = (double)(now_ns() - start_ns) / m->calls;
    }
    qsort(ns, (size_t)m->batches, sizeof *ns, by_value);
    printf("%-38s C %10.3f us", m->name, ns[m->batches / 2] / 1e3);
    if (m->target_us > 0)
        printf("  (target %g us)", m->target_us);
    putchar('\n');
}

static void fill(double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = kb_rng_uniform(&rng);
}

static void choose(void *context, int calls)
{
    kb_ucb *u = context;
    static struct kb_ucb_cand cand[ARMS];
    for (size_t i = 0; i < ARMS; i++)
        cand[i] = (struct kb_ucb_cand) { i, (double)(i % 5) * 0.1, 0 };
    for (int i = 0; i < calls; i++) {
        size_t best = 0;
        must(kb_ucb_select(u, cand, ARMS, 0, &best));
        must(kb_ucb_update(u, cand[best].arm, (double)(i % 7) * 0.1));
    }
    sink += kb_ucb_score(u, 0);
}

static void assign(void *context, int calls)
{
    static double x[256 * RHO];
    if (x[0] == 0)
        fill(x, 256 * RHO);
    for (int i = 0; i < calls; i++) {
        size_t id = 0;
        must(kb_cluster_assign(context, x + i % 256 * RHO, &id));
        sink += (double)id;
    }
}

static double cloud[POINTS * POINT_DIM];
static size_t ids[POINTS];

/* Three overlapping clouds, and then no structure at all. */
static void make_clouds(double apart)
{
    for (size_t i = 0; i < POINTS; i++)
        for (size_t d = 0; d < POINT_DIM; d++)
            cloud[i * POINT_DIM + d] =
                kb_rng_normal(&rng) + apart * (double)(i % CLUSTERS == d);
}

static void fit_points(void *context, int calls)
{
    for (int i = 0; i < calls; i++)
        must(kb_cluster_fit(context, cloud, POINTS, ids));
    sink += (double)ids[POINTS - 1];
}

static void learn_one(void *context)
{
    double x[PHI], z = -1;
    fill(x, PHI);
    for (size_t i = 0; i < PHI; i++)
        z += (i % 2 ? 2 : -1) * x[i];
    must(kb_logit_learn(context, x, z + kb_rng_normal(&rng) > 0));
}

static void refit(void *context, int calls)
{
    for (int i = 0; i < calls; i++)
        sink += kb_logit_fit(context);
}

static void predict(void *context, int calls)
{
    static double x[256 * PHI];
    if (x[0] == 0)
        fill(x, 256 * PHI);
    for (int i = 0; i < calls; i++) {
        double p = 0;
        must(kb_logit_p(context, x + i % 256 * PHI, &p));
        sink += p;
    }
}

/* A head that has never been fitted, holding a full ring: what resuming a run
 * pays once. */
static void chill(void *context)
{
    kb_logit **h = context;
    kb_logit_free(*h);
    must(kb_logit_new(PHI, &kb_logit_defaults, h));
    for (int i = 0; i < SAMPLES; i++)
        learn_one(*h);
}

static void fit_cold(void *context, int calls)
{
    kb_logit **h = context;
    refit(*h, calls);
}

static void draw(void *context, int calls)
{
    for (int i = 0; i < calls; i++)
        sink += kb_rng_normal(context);
}

int main(void)
{
    kb_ucb *u = NULL;
    kb_cluster *near = NULL, *groups = NULL;
    kb_logit *head = NULL, *cold = NULL;
    kb_rng_seed(&rng, 1);
    must(kb_ucb_new(ARMS, &kb_ucb_defaults, &u));
    must(kb_cluster_new(CLUSTERS, RHO, 1, &near));
    must(kb_cluster_new(CLUSTERS, POINT_DIM, 1, &groups));
    chill(&head);
    chill(&cold);

    const struct measure first[] = {
        { "rng normal", NULL, draw, &rng, 201, 2000, 0 },
        { "ucb select+update 3x6 arms", NULL, choose, u, 201, 1000, 0.3 },
        { "cluster assign K=3 6 dims", NULL, assign, near, 201, 1000, 0.3 },
        { "logit refit 500x9 cold", chill, fit_cold, &cold, 101, 1, 0 },
        { "logit refit 500x9 warm, 1 new", learn_one, refit, head, 401, 1,
          150 },
        { "logit p 9 dims", NULL, predict, head, 201, 1000, 0.1 },
    };
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        report(&first[i]);

    static const char *const shape[] = {
        "cluster fit 2000x5 K=3, clouds apart",
        "cluster fit 2000x5 K=3, clouds touch",
        "cluster fit 2000x5 K=3, one cloud",
    };
    for (int i = 0; i < 3; i++) {
        make_clouds(i == 0 ? 6 : i == 1 ? 2 : 0);
        report(&(struct measure) { shape[i], NULL, fit_points, groups, 51, 1,
                                   1000 });
    }

    kb_ucb_free(u);
    kb_cluster_free(near);
    kb_cluster_free(groups);
    kb_logit_free(head);
    kb_logit_free(cold);
    return sink == 0.5 ? EXIT_FAILURE : EXIT_SUCCESS;
}
