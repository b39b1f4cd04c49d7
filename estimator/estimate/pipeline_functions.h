/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What no closed form says of a pipeline schedule: an open function of a sheet that replays its
 * shape, once for each plan (schedule/pipeline_time.h). A sheet's formulas stand in where a shape
 * is refused.
 */
#ifndef STEPTIME_ESTIMATE_PIPELINE_FUNCTIONS_H
#define STEPTIME_ESTIMATE_PIPELINE_FUNCTIONS_H

#include "estimate/placement_cells.h"

/*
 * The provider of the function pipeline_replay where `sheet` has it open and with as many
 * arguments; else none. It lives in `arena`.
 */
st_status st_pipeline_providers(const st_sheet *sheet, st_arena *arena,
                                st_cell_providers *providers, st_errors *errors) ST_NODISCARD;

#endif
