/* SPDX-License-Identifier: Apache-2.0 */
/* Cells of a sheet that is asked for one stage of the pipeline after the other. */
#ifndef STEPTIME_ESTIMATE_BY_STAGE_H
#define STEPTIME_ESTIMATE_BY_STAGE_H

#include "estimate/estimate_internal.h"

/* Which cells, and of how many stages. */
typedef struct st_stage_question {
    const char *const *cells;
    size_t count;
    size_t stages;
} st_stage_question;

/*
 * values[stage * count + i]: cell i, in base units. The sheet's role 'stage_asked' says which stage
 * is meant; a sheet without it has stages that are alike. Changes what the estimate shows.
 */
st_status st_estimate_by_stage(st_estimate *estimate, const st_stage_question *question,
                               st_arena *arena, double *values, st_errors *errors) ST_NODISCARD;

#endif
