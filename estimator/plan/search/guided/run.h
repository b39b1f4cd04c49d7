/* SPDX-License-Identifier: Apache-2.0 */
/* Searches that do not compute every plan, from the inside; see search/guided.h. */
#ifndef STEPTIME_GUIDED_RUN_H
#define STEPTIME_GUIDED_RUN_H

#include "search/worker.h"
#include "search/guided/states.h"
#include "search/guided/bounds.h"

enum { ST_GUIDED_BATCH = 64, ST_GUIDED_STANDING = 5 };

/* A plan that was computed. */
typedef struct st_trial {
    uint64_t row;
    uint32_t reason;
    double goal;
    double faults; /* checks that fail */
    double near;   /* how far from fitting */
} st_trial;

typedef struct st_guided_run {
    st_arena *arena; /* what the run needs until its end */
    const st_search *search;
    const st_processes *processes;
    const st_search_watch *watch;
    st_search_result *result;
    st_search_worker **workers; /* one per thread */
    int threads;
    st_plan_states states;
    st_trial trials[ST_GUIDED_BATCH];
    size_t trial_count;
    bool interrupted;
    uint64_t own;                    /* plans that this process computed */
    double best[ST_GUIDED_STANDING]; /* goals, the least first */
    size_t best_count;
    uint64_t unchanged; /* plans that passed since one of these changed */
} st_guided_run;

/* Which process computes one of the chunks of a batch, or scans a block. */
static inline int st_guided_owner(const st_guided_run *run, uint64_t chunk)
{
    return (int)(chunk % (uint64_t)run->processes->count);
}
/* Every process gets the trials of the batch that the others have computed, in chunks. */
st_status st_guided_share_batch(st_guided_run *run, size_t chunk) ST_NODISCARD;
/* ... and what they have found out of all rows. */
st_status st_guided_share_states(st_guided_run *run) ST_NODISCARD;
st_status st_guided_share_scan(st_guided_run *run) ST_NODISCARD;

/* Reports the plans that were not computed. */
void st_guided_put(const st_search_view *view, st_node *root);

#endif
