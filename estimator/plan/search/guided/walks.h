/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks through the unit cube in generations: the caller draws points, ranks them and reports. The
 * methods that Maya compares (Yarlagadda et al. 2026, section 5 and the appendix on algorithms):
 * CMA-ES, random points, an evolution of the best, and a tree-structured Parzen estimator, which is
 * the Bayesian optimization of the tuner that Maya extends (Bergstra et al., NIPS 2011, section 4).
 * The same seed gives the same points.
 */
#ifndef STEPTIME_GUIDED_WALK_H
#define STEPTIME_GUIDED_WALK_H

#include "steptime/search.h"

typedef struct st_walk st_walk;

/* `dimension` of at least 1; NULL when out of memory. */
st_walk *st_walk_create(st_method method, size_t dimension, uint64_t seed);
void st_walk_destroy(st_walk *self); /* NULL is fine */

/* Points of a generation. */
size_t st_walk_count(const st_walk *self);
/* Draws a generation: points[i * dimension + k], each coordinate from 0 to 1. */
const double *st_walk_draw(st_walk *self);
/*
 * `order` lists the points of the last generation, the best first; `worth` has the worth by point,
 * as it is worth, the least the best, infinite where it fails.
 */
void st_walk_tell(st_walk *self, const size_t *order, const double *worth);
/* Whether it stays where it is. */
bool st_walk_is_spent(const st_walk *self);
/* Begins anew elsewhere, perhaps with more points; false when out of memory. */
bool st_walk_restart(st_walk *self);

#endif
