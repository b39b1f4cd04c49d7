/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many GPUs of a node plans use, where the numbers of GPUs do not fill nodes: of 512 on nodes
 * of 72 (NVL72) 64 in each, as launchers start equally many ranks on all.
 *
 * The most that divide every number greater than a node, of those that groups of 8 tensor-parallel
 * ranks fill (else 4, 2, 1), and at least half of the node: fewer would be another machine.
 */
#ifndef STEPTIME_ESTIMATE_NODE_FILL_H
#define STEPTIME_ESTIMATE_NODE_FILL_H

#include "base/memory.h"

typedef struct st_node_counts {
    const double *gpus; /* whole numbers of at least 1 */
    size_t count;
    double node;  /* GPUs that it has, at least 1 */
    double group; /* ranks that are to stay in a node, instead of 8, 4, 2 or 1; 0: not known */
} st_node_counts;

/* The GPUs of a node that are used; all of it where these are filled; 0: no number suits. */
double st_node_fill(const st_node_counts *counts);

/* The number of GPUs next to the first, the smaller of two, for which there is one. */
double st_node_fill_nearest(const st_node_counts *counts);

#endif
