/* ucb.h - upper-confidence-bound choice among candidates that share arms.
 *
 *   pulls(a) = prior_pulls + n(a)
 *   mean(a)  = (prior_mean * prior_pulls + sum of rewards of a) / pulls(a)
 *   score(a) = mean(a) + c * sqrt(ln max(t, 1) / pulls(a))
 *
 * n(a) counts the updates of a, t those of all arms: UCB1 (Auer, Cesa-Bianchi
 * and Fischer, 2002) with its weight set free and a prior belief in each arm.
 * The prior never counts towards t. A choice while other pulls are under way
 * counts those as made and not yet rewarded: in t, and waiting ones of an arm
 * in pulls(a), which leaves its mean alone.
 *
 * A candidate is an arm and a bias added to its score. Several candidates may
 * name one arm: they share its statistics and differ by bias alone. To mask an
 * arm, do not list it. Candidates on arms with pulls(a) == 0 come before all
 * others, larger bias first, whatever the score of the others. Ties go to the
 * first listed. So a choice is a function of the calls made and of nothing
 * else.
 *
 * Numbers that are not finite, or beyond KB_UCB_LIMIT in magnitude, are
 * refused at the door: then no score can overflow and no comparison meets NaN.
 */
#pragma once

#include "kb.h"

#define KB_UCB_LIMIT 1e100

enum { KB_UCB_MAX_ARMS = 1 << 16 };

struct kb_ucb_options {
    double c;                   /* 0 .. KB_UCB_LIMIT */
    double prior_mean;          /* at most KB_UCB_LIMIT in magnitude */
    double prior_pulls;         /* 0, or 1/KB_UCB_LIMIT .. KB_UCB_LIMIT; may be
                                 * a fraction */
};

/* { sqrt 2, 0, 0 } */
extern const struct kb_ucb_options kb_ucb_defaults;

/* Read by all, written by the functions below alone. */
typedef struct kb_ucb {
    struct kb_ucb_options how;
    size_t arms;
    uint64_t t;                 /* updates so far, over all arms */
    double log_t;               /* ln max(t, 1) */
    struct kb_ucb_arm {
        double pulls, sum;      /* both with the prior */
    } arm[];
} kb_ucb;

struct kb_ucb_cand {
    size_t arm;
    double bias;
    double waiting;             /* pulls of the arm that are under way, >= 0 */
};

/* EINVAL unless 1 <= arms <= KB_UCB_MAX_ARMS and the options are in range;
 * ENOMEM. */
KB_STATUS kb_ucb_new(size_t arms, const struct kb_ucb_options *how,
                     kb_ucb **out);
void kb_ucb_free(kb_ucb *u);

/* The formulas above, for arm < u->arms. Of an arm with pulls 0 the mean is
 * prior_mean and the score +inf. */
double kb_ucb_mean(const kb_ucb *u, size_t arm);
double kb_ucb_score(const kb_ucb *u, size_t arm);

/* Writes the position in cand of the best of n candidates; under_way pulls are,
 * over all arms. EEMPTY when n == 0; EINVAL on a bad candidate. */
KB_STATUS kb_ucb_select(const kb_ucb *u, const struct kb_ucb_cand *cand,
                        size_t n, uint64_t under_way, size_t *best);

/* One pull of arm paid reward. EINVAL on a bad arm or reward, and then u is
 * unchanged. */
KB_STATUS kb_ucb_update(kb_ucb *u, size_t arm, double reward);
