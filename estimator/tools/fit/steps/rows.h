/* SPDX-License-Identifier: Apache-2.0 */
/* From the rows of one source in a table to inputs of a sheet; used by measured.c alone. */
#ifndef STEPTIME_CALIBRATE_STEPS_ROWS_H
#define STEPTIME_CALIBRATE_STEPS_ROWS_H

#include "fit/steps/measured.h"

/*
 * Fills measured->inputs and says of each row why it is left out, if it is. measured->rows,
 * ->formulas and what is known of the table are filled already. `use_extra` takes rows in, too,
 * whose `split` says that they are not for this.
 */
st_status st_rows_fill(const st_measured_request *request, st_measured *measured, bool use_extra,
                       st_arena *arena, st_errors *errors) ST_NODISCARD;

#endif
