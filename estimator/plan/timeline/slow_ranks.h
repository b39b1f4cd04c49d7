/* SPDX-License-Identifier: Apache-2.0 */
/* Which ranks and links are slow: "rank:17=1.385", "node:3=1.2", "links:dp=1.5". */
#ifndef STEPTIME_TIMELINE_SLOW_RANKS_H
#define STEPTIME_TIMELINE_SLOW_RANKS_H

#include "timeline/timeline.h"

/* A slow rank; its group is that of its pipeline and stage, pipeline by pipeline. */
typedef struct st_slow_rank {
    size_t group;
    uint64_t rank;
    double factor;
} st_slow_rank;

enum { ST_LINKS = 5 };

typedef struct st_slow_ranks {
    st_slow_rank *ranks; /* by group */
    size_t count;
    double link[ST_LINKS]; /* tp, cp, ep, pp, dp; 0 as 1 */
} st_slow_ranks;

/* Where ranks are. */
typedef struct st_slow_places {
    const st_schedule_groups *groups;
    const st_own_stage *own_stages; /* NULL: stages have the groups */
    size_t stages;
    size_t pipelines; /* whose passes do not meet */
    uint64_t gpus_per_node;
    uint32_t busiest; /* stage */
    double slow;      /* above 1: a rank of that stage is that slow, where none is named */
} st_slow_places;

/* Malformed texts, unknown ranks, nodes or links, and factors below 1 are
 * errors at --slow. */
st_status st_slow_ranks_read(const st_slow_places *places, const char *const *texts, size_t count,
                             st_arena *arena, st_slow_ranks *slow, st_errors *errors) ST_NODISCARD;

/* By how much tasks of a category take longer. */
double st_slow_link(const st_slow_ranks *slow, const char *category);

#endif
