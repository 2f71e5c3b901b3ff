#include "ucb.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

struct arm {
    double pulls, sum;          /* both with the prior */
};

struct kb_ucb {
    struct kb_ucb_options how;
    uint64_t t;
    double log_t;               /* ln max(t, 1), once an update */
    size_t arms;
    struct arm arm[];
};

const struct kb_ucb_options kb_ucb_defaults = { 1.4142135623730951, 0, 0 };

/* False for NaN too. */
static bool within_limit(double x)
{
    return fabs(x) <= KB_UCB_LIMIT;
}

kb_status kb_ucb_new(size_t arms, const struct kb_ucb_options *how,
                     kb_ucb **out)
{
    double pulls = how->prior_pulls;
    if (arms < 1 || arms > KB_UCB_MAX_ARMS)
        return KB_EINVAL;
    if (!within_limit(how->c) || how->c < 0 || !within_limit(how->prior_mean))
        return KB_EINVAL;
    if (!within_limit(pulls) || (pulls != 0 && pulls < 1 / KB_UCB_LIMIT))
        return KB_EINVAL;

    kb_ucb *u = calloc(1, sizeof *u + arms * sizeof u->arm[0]);
    if (!u)
        return KB_ENOMEM;
    u->how = *how;
    u->arms = arms;
    for (size_t i = 0; i < arms; i++) {
        u->arm[i].pulls = pulls;
        u->arm[i].sum = how->prior_mean * pulls;
    }
    *out = u;
    return KB_OK;
}

void kb_ucb_free(kb_ucb *u)
{
    free(u);
}

size_t kb_ucb_arms(const kb_ucb *u)
{
    return u->arms;
}

uint64_t kb_ucb_t(const kb_ucb *u)
{
    return u->t;
}

double kb_ucb_pulls(const kb_ucb *u, size_t arm)
{
    assert(arm < u->arms);
    return u->arm[arm].pulls;
}

double kb_ucb_mean(const kb_ucb *u, size_t arm)
{
    assert(arm < u->arms);
    const struct arm *a = &u->arm[arm];
    return a->pulls > 0 ? a->sum / a->pulls : u->how.prior_mean;
}

double kb_ucb_score(const kb_ucb *u, size_t arm)
{
    assert(arm < u->arms);
    const struct arm *a = &u->arm[arm];
    if (!(a->pulls > 0))
        return INFINITY;
    return a->sum / a->pulls + u->how.c * sqrt(u->log_t / a->pulls);
}

kb_status kb_ucb_select(const kb_ucb *u, const struct kb_ucb_cand *cand,
                        size_t n, const double *waiting, uint64_t under_way,
                        size_t *best)
{
    double log_t = under_way ? log((double)(u->t + under_way)) : u->log_t;
    size_t pick = n;
    bool pick_fresh = false;
    double pick_value = 0;

    for (size_t i = 0; i < n; i++) {
        double more = waiting ? waiting[i] : 0;
        if (cand[i].arm >= u->arms || !within_limit(cand[i].bias)
            || !within_limit(more) || more < 0)
            return KB_EINVAL;
        double pulls = u->arm[cand[i].arm].pulls + more;
        bool fresh = !(pulls > 0);
        double value = cand[i].bias;
        if (!fresh)
            value += kb_ucb_mean(u, cand[i].arm)
                     + u->how.c * sqrt(log_t / pulls);
        bool better = fresh != pick_fresh ? fresh : value > pick_value;
        if (pick == n || better) {
            pick = i;
            pick_fresh = fresh;
            pick_value = value;
        }
    }
    if (pick == n)
        return KB_EEMPTY;
    *best = pick;
    return KB_OK;
}

kb_status kb_ucb_update(kb_ucb *u, size_t arm, double reward)
{
    if (arm >= u->arms || !within_limit(reward))
        return KB_EINVAL;
    u->arm[arm].pulls += 1;
    u->arm[arm].sum += reward;
    u->t++;
    u->log_t = log((double)u->t);
    return KB_OK;
}
