/* SPDX-License-Identifier: Apache-2.0 */
/* Fits to measured collectives, and models to compare with, as text, JSON and CSV. */
#ifndef STEPTIME_CALIBRATE_COLLECTIVES_NCCL_REPORT_H
#define STEPTIME_CALIBRATE_COLLECTIVES_NCCL_REPORT_H

#include "nccl-whitebox/fit/nccl_fit.h"
#include "base/result.h"

typedef struct st_nccl_report {
    const st_nccl_fit *fits;
    size_t count;
    bool details; /* every row */
} st_nccl_report;

/* The fits, and their medians, as a result. */
void st_nccl_report_make(const st_nccl_report *report, st_arena *arena, st_result *result);

#endif
