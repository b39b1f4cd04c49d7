/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Covariance matrix adaptation (CMA-ES) in the unit cube: draws points from a normal distribution
 * and moves it towards those that rank best (Hansen, The CMA Evolution Strategy: A Tutorial,
 * arXiv:1604.00772, 2016: figure 6 and table 1; weights of the better half only).
 *
 * The caller draws a generation, ranks it and reports the order; only ranks count. Points beyond a
 * face of the cube are mirrored back into it. The same seed gives the same points everywhere but
 * for what the mathematics library rounds differently.
 */
#ifndef STEPTIME_GUIDED_CMAES_H
#define STEPTIME_GUIDED_CMAES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct st_cmaes st_cmaes;

/* `dimension` of at least 1; NULL when out of memory. */
st_cmaes *st_cmaes_create(size_t dimension, uint64_t seed);
void st_cmaes_destroy(st_cmaes *self);

/* Points of a generation. */
size_t st_cmaes_count(const st_cmaes *self);
/* Draws a generation: points[i * dimension + k], each coordinate from 0 to 1. */
const double *st_cmaes_draw(st_cmaes *self);
/* Moves the distribution: `order` lists the points of the last generation, the best first. */
void st_cmaes_tell(st_cmaes *self, const size_t *order);
/* The standard deviation along the longest axis. */
double st_cmaes_spread(const st_cmaes *self);
/* Begins anew elsewhere with twice as many points, at most 64 times as many as at first (Auger and
 * Hansen, CEC 2005, sec. 2); false when out of memory. */
bool st_cmaes_restart(st_cmaes *self);

#endif
