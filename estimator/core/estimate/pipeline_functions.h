/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What no closed form says of a plan: an open function of a sheet that replays the shape of a
 * pipeline schedule, once for each plan (schedule/pipeline_time.h), and one that divides GPUs over
 * nodes (estimate/node_fill.h). A sheet's formulas are used where a shape is refused.
 */
#ifndef STEPTIME_ESTIMATE_PIPELINE_FUNCTIONS_H
#define STEPTIME_ESTIMATE_PIPELINE_FUNCTIONS_H

#include "estimate/placement_cells.h"
#include "estimate/stage_layers.h"

#define ST_REPLAY_FUNCTION "pipeline_replay"

/*
 * The providers of the functions pipeline_replay and node_share where `sheet` has them open and
 * with as many arguments. They live in `arena`, `plan` has to live as long.
 */
st_status st_pipeline_providers(const st_stage_plan *plan, const st_sheet *sheet, st_arena *arena,
                                st_cell_providers *providers, st_errors *errors) ST_NODISCARD;

#endif
