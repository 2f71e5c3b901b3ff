/* points.h - a growing list of points of one dimension, packed: what heads and
 * clusters read again and again is checked and laid out once.
 *
 * Coordinates that are not finite, or beyond 1e50 in magnitude, are EINVAL.
 */
#ifndef KB_POINTS_H
#define KB_POINTS_H

#include <stdbool.h>
#include <stddef.h>

#include "kb.h"

#define KB_POINTS_LIMIT 1e50

enum { KB_POINTS_MAX_DIM = 64, KB_POINTS_MAX = 1 << 20 };

typedef struct kb_points kb_points;

/* EINVAL unless 1 <= dim <= KB_POINTS_MAX_DIM; ENOMEM. */
KB_MUST_USE kb_status kb_points_new(size_t dim, kb_points **out);
void kb_points_free(kb_points *p);

size_t kb_points_dim(const kb_points *p);
size_t kb_points_count(const kb_points *p);

/* Point after point, dim numbers each; borrowed until the next add. */
const double *kb_points_all(const kb_points *p);

/* Appends x[0 .. dim-1]. EINVAL on a bad coordinate or when KB_POINTS_MAX are
 * there; ENOMEM. p is then as it was. */
KB_MUST_USE kb_status kb_points_add(kb_points *p, const double *x);

/* Writes to *best which of the points at[0 .. n-1] lies nearest their plain
 * mean, as a position in at; ties go to the first. Euclidean distance, each
 * coordinate in standard deviations of all points of p when scaled. EEMPTY when n == 0; EINVAL when a number in at is no point. */
KB_MUST_USE kb_status kb_points_central(const kb_points *p, const size_t *at,
                                        size_t n, bool scaled, size_t *best);

#endif
