/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cells that depend on the order of ranks. A sheet states them for Megatron's order and leaves them
 * open (formulas/megatron-plan.yaml); a job with another order gets them from here.
 */
#ifndef STEPTIME_ESTIMATE_PLACEMENT_CELLS_H
#define STEPTIME_ESTIMATE_PLACEMENT_CELLS_H

#include "steptime/job.h"
#include "program/program.h"

typedef struct st_cell_providers {
    const st_provider *items;
    size_t count;
} st_cell_providers;

/*
 * The providers of placement for a job: none where it gives no order. An order that does not suit
 * the plan is an error, one that the sheet has no use for a warning. Everything lives in `arena`.
 */
st_status st_placement_providers(const st_job *job, const st_sheet *sheet, st_arena *arena,
                                 st_cell_providers *providers, st_errors *errors) ST_NODISCARD;

#endif
