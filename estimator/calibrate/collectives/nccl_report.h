/* SPDX-License-Identifier: Apache-2.0 */
/* Fits to measured collectives, and models beside them, as text, JSON and CSV. */
#ifndef STEPTIME_CALIBRATE_COLLECTIVES_NCCL_REPORT_H
#define STEPTIME_CALIBRATE_COLLECTIVES_NCCL_REPORT_H

#include "calibrate/collectives/nccl_fit.h"
#include "base/result.h"

typedef struct st_nccl_report {
    const st_nccl_fit *fits;
    size_t count;
    const char *profile; /* that the nominal estimates were made with; NULL: none */
    bool details;        /* every row */
} st_nccl_report;

/* The fits, and their medians, as a result. */
void st_nccl_report_make(const st_nccl_report *report, st_arena *arena, st_result *result);

/*
 * The median over fits of their mean absolute errors, over those with rows of that kind in that
 * range; NaN where there are none. `nodes` is 1: fits to one node only, 2: to several only, 0: all.
 */
double st_nccl_report_median(const st_nccl_report *report, st_nccl_kind kind, size_t range,
                             int nodes, st_arena *arena, size_t *fits);

#endif
