/* SPDX-License-Identifier: Apache-2.0 */
/* What `steptime fit overlap` found, for people and for programs. */
#ifndef STEPTIME_CALIBRATE_SLOWDOWN_OVERLAP_REPORT_H
#define STEPTIME_CALIBRATE_SLOWDOWN_OVERLAP_REPORT_H

#include "base/result.h"
#include "overlap-xgboost/fit/trace_pairs.h"
#include "overlap-xgboost/fit/trials.h"

typedef struct st_overlap_report {
    const st_kernels *kernels;
    const st_pairs_tally *pairs; /* NULL: the kernels are those of a table */
    const st_trials *trials;
    const st_recipe *recipe; /* the one that was trained on all kernels */
    double constant;         /* slowdown of all kernels together */
    double importance[ST_FEATURES];
    const st_kernels *test; /* NULL: none */
    /* Of the recipe, then of the baselines: */
    st_slowdown_errors test_errors[1 + ST_BASELINES][ST_SLOWDOWN_PARTS];
    size_t test_clamped; /* kernels with a feature outside of the trained range */
} st_overlap_report;

void st_overlap_report_make(const st_overlap_report *report, st_arena *arena, st_result *result);
/* Feature importance as bars. */
void st_overlap_write_svg(const st_overlap_report *report, st_buffer *buffer);

#endif
