/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scaling studies: one job on more and more GPUs, with the best plan for each number or with the
 * job's own plan and more data-parallel ranks.
 */
#ifndef STEPTIME_SEARCH_SCALE_H
#define STEPTIME_SEARCH_SCALE_H

#include "search/search_state.h"

typedef struct st_scale_request {
    st_search_request search; /* its gpus are all numbers; what is minimised is the step time */
    bool weak;                /* the batch grows with the GPUs, as that of a job does that only
                                 says what every rank takes */
    bool strong;              /* it has to stay */
    bool fixed;               /* only data-parallel ranks are added */
} st_scale_request;

enum {
    ST_SCALE_EXPOSED,
    ST_SCALE_MFU,
    ST_SCALE_MEMORY,
    ST_SCALE_COST,
    ST_SCALE_TOKENS,
    ST_SCALE_CELLS
};

/* One number of GPUs. */
typedef struct st_scale_row {
    double gpus;
    double batch; /* sequences in a step; 0: unknown */
    bool found;
    double time; /* of a step */
    double
        efficiency; /* sequences per second and GPU, over those of the first row that has a plan */
    double values[ST_SCALE_CELLS];
    double gap;       /* how much less another plan may take, over this one; NaN: not known */
    const char *plan; /* "parallel.tp=8 ..." */
    const char *miss; /* what the nearest plan lacks, where none was found */
} st_scale_row;

typedef struct st_scale {
    const char *job;
    const st_search *space; /* of all numbers of GPUs: what varies and what does not */
    const char *sheet;
    const char *const *refine; /* the plugins that are on, see st_space */
    size_t refine_count;
    const char *goal;
    const st_type *time_type;
    const st_type *types[ST_SCALE_CELLS]; /* NULL: the sheet has no such cell */
    bool weak;
    bool fixed;
    st_guide guide; /* how the plans were searched */
    st_scale_row *rows;
    size_t count; /* of those that were looked at */
    size_t asked; /* numbers of GPUs */
    size_t found;
    bool interrupted;
} st_scale;

/* Everything lives in `arena`. */
st_status st_scale_run(const st_paths *paths, const st_scale_request *request,
                       const st_search_watch *watch, st_arena *arena, st_scale *scale,
                       st_errors *errors) ST_NODISCARD;

/* The study lives as long as the result. */
void st_scale_put(const st_scale *scale, st_result *result, st_arena *arena);

#endif
