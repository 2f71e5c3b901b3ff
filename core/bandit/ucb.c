#include "ucb.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "vector.h"

const struct kb_ucb_options kb_ucb_defaults = { 1.4142135623730951, 0, 0 };

kb_status kb_ucb_new(size_t arms, const struct kb_ucb_options *how,
                     kb_ucb **out)
{
    double pulls = how->prior_pulls;
    const double given[] = { how->c, how->prior_mean, pulls };
    if (arms < 1 || arms > KB_UCB_MAX_ARMS
        || !kb_within(given, 3, KB_UCB_LIMIT) || how->c < 0
        || (pulls != 0 && pulls < 1 / KB_UCB_LIMIT))
        return KB_EINVAL;

    kb_ucb *u = calloc(1, sizeof *u + arms * sizeof u->arm[0]);
    if (!u)
        return KB_ENOMEM;
    u->how = *how;
    u->arms = arms;
    for (size_t i = 0; i < arms; i++)
        u->arm[i] = (struct kb_ucb_arm){ pulls, how->prior_mean * pulls };
    *out = u;
    return KB_OK;
}

void kb_ucb_free(kb_ucb *u)
{
    free(u);
}

double kb_ucb_mean(const kb_ucb *u, size_t arm)
{
    assert(arm < u->arms);
    const struct kb_ucb_arm *a = &u->arm[arm];
    return a->pulls > 0 ? a->sum / a->pulls : u->how.prior_mean;
}

static double score(const kb_ucb *u, size_t arm, double waiting, double log_t)
{
    double pulls = u->arm[arm].pulls + waiting;
    if (!(pulls > 0))
        return INFINITY;
    return kb_ucb_mean(u, arm) + u->how.c * sqrt(log_t / pulls);
}

double kb_ucb_score(const kb_ucb *u, size_t arm)
{
    assert(arm < u->arms);
    return score(u, arm, 0, u->log_t);
}

kb_status kb_ucb_select(const kb_ucb *u, const struct kb_ucb_cand *cand,
                        size_t n, uint64_t under_way, size_t *best)
{
    double log_t = under_way ? log((double)(u->t + under_way)) : u->log_t;
    bool best_fresh = false;
    double best_value = 0;
    size_t pick = n;
    for (size_t i = 0; i < n; i++) {
        const struct kb_ucb_cand *k = &cand[i];
        const double given[] = { k->bias, k->waiting };
        if (k->arm >= u->arms || !kb_within(given, 2, KB_UCB_LIMIT)
            || k->waiting < 0)
            return KB_EINVAL;
        double value = score(u, k->arm, k->waiting, log_t);
        bool fresh = isinf(value);
        value = fresh ? k->bias : k->bias + value;
        if (pick == n || (fresh && !best_fresh)
            || (fresh == best_fresh && value > best_value)) {
            pick = i;
            best_fresh = fresh;
            best_value = value;
        }
    }
    if (pick == n)
        return KB_EEMPTY;
    *best = pick;
    return KB_OK;
}

kb_status kb_ucb_update(kb_ucb *u, size_t arm, double reward)
{
    if (arm >= u->arms || !kb_within(&reward, 1, KB_UCB_LIMIT))
        return KB_EINVAL;
    u->arm[arm].pulls += 1;
    u->arm[arm].sum += reward;
    u->t++;
    u->log_t = log((double)u->t);
    return KB_OK;
}
