/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a fitted model leaves over, as a smooth curve by size for each measured group of ranks.
 *
 * The rest is the logarithm of measured over estimated. It is taken as a Gaussian process over the
 * logarithm of the size: neighbouring sizes have much of it in common, distant ones nothing, and
 * a part of each row is noise of its own. The curve is what such a process is expected to be, given
 * the rows; where there are none it goes back to zero. A row that its neighbours contradict counts
 * less (weights of a Cauchy distribution). See Rasmussen and Williams, Gaussian Processes for
 * Machine Learning (2006), equations 2.23, 4.17 and 5.12.
 */
#ifndef STEPTIME_CALIBRATE_COLLECTIVES_NCCL_REST_H
#define STEPTIME_CALIBRATE_COLLECTIVES_NCCL_REST_H

#include "steptime/arena.h"

/* One row. */
typedef struct st_nccl_rest {
    size_t ranks;
    size_t nodes;
    double size_bytes; /* above 0 */
    double log_ratio;  /* of measured over estimated time */
    const char *mark;  /* of the group, which the plugin reads behind it; NULL: none */
} st_nccl_rest;

/*
 * The curves of all groups among the rows, as a plugin's option takes them:
 * "RANKS/NODES SIZE=FACTOR ...; RANKS/NODES ...", with a factor for each power of two of the sizes
 * and some beyond, where the curve fades. The rows are put in order. NULL without memory.
 */
const char *st_nccl_rest_text(st_nccl_rest *rows, size_t count, st_arena *arena);

#endif
