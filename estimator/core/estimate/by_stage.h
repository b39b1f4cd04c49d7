/* SPDX-License-Identifier: Apache-2.0 */
/* Cells of a sheet that is asked for one stage of the pipeline, or one of its chunks, after the
 * other. */
#ifndef STEPTIME_ESTIMATE_BY_STAGE_H
#define STEPTIME_ESTIMATE_BY_STAGE_H

#include "estimate/estimate_internal.h"

/* Which cells, of how many stages, and of how many chunks of each; 0 chunks: of whole stages. */
typedef struct st_stage_question {
    const char *const *cells;
    size_t count;
    size_t stages;
    size_t chunks;
} st_stage_question;

/*
 * values[(stage * chunks + chunk) * count + i], or values[stage * count + i] of whole stages: cell
 * i, in base units. The sheet's roles 'stage_asked' and 'chunk_asked' say which stage and which
 * chunk is meant; a sheet without them has stages that are alike. Changes what the estimate shows.
 */
st_status st_estimate_by_stage(st_estimate *estimate, const st_stage_question *question,
                               st_arena *arena, double *values, st_errors *errors) ST_NODISCARD;

#endif
