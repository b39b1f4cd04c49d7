/* SPDX-License-Identifier: Apache-2.0 */
/* How many GPUs of a node plans use, where their numbers do not fill nodes; see node_fill.h. */
#include "estimate/node_fill.h"

#include <math.h>

enum { FARTHEST = 1000 }; /* of a number of GPUs that is offered instead */

/* Whether every number fills nodes with that many used GPUs, or a part of one. */
static bool fits(const st_node_counts *counts, double used)
{
    for (size_t i = 0; i < counts->count; i++)
        if (counts->gpus[i] > used && fmod(counts->gpus[i], used) != 0)
            return false;
    return true;
}

/* The most GPUs that groups of `group` ranks divide; 0: fewer than half of the node. */
static double most_of(const st_node_counts *counts, double group)
{
    double used = floor(counts->node / group) * group;
    while (2 * used >= counts->node && !fits(counts, used))
        used -= group;
    return 2 * used >= counts->node ? used : 0;
}

double st_node_fill(const st_node_counts *counts)
{
    static const double groups[] = {8, 4, 2, 1}; /* of tensor parallelism */
    double used = 0;
    if (fits(counts, counts->node))
        return counts->node;
    if (counts->group > 1 && counts->group <= counts->node)
        return most_of(counts, counts->group);
    for (size_t i = 0; i < ST_COUNT(groups) && used == 0; i++)
        used = most_of(counts, groups[i]);
    return used;
}

double st_node_fill_nearest(const st_node_counts *counts)
{
    for (int away = 1; away < FARTHEST; away++) {
        for (int side = -1; side <= 1; side += 2) {
            double gpus = counts->gpus[0] + (double)(side * away);
            st_node_counts other = *counts;
            other.gpus = &gpus;
            other.count = 1;
            if (gpus >= 1 && st_node_fill(&other) > 0)
                return gpus;
        }
    }
    return counts->node;
}
