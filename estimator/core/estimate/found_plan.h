/* SPDX-License-Identifier: Apache-2.0 */
/* A plan found by a search because none was given, at the head of a report. */
#ifndef STEPTIME_ESTIMATE_FOUND_PLAN_H
#define STEPTIME_ESTIMATE_FOUND_PLAN_H

#include "base/result.h"
#include "steptime/estimate.h"

typedef struct st_found_plan {
    const char *goal;        /* the cell that was minimised */
    uint64_t plans;          /* that were compared */
    uint64_t passed;         /* that passed all checks; 0: this one is the nearest */
    const char *const *sets; /* "parallel.tp=4" */
    size_t set_count;
    const char *const *assumed; /* "--batch=512", defaults used besides the plan */
    size_t assumed_count;
} st_found_plan;

/* Reports of the estimate, which st_estimate_create made, begin with it; it outlives the estimate.
 */
void st_estimate_tell_found(st_estimate *estimate, const st_found_plan *found);
void st_found_plan_put(const st_found_plan *found, st_node *root);

#endif
