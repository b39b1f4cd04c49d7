/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --rows: which rows of a table are used. Terms separated by commas, each applied to what the ones
 * before it have left: COLUMN=VALUE, COLUMN=VALUE|VALUE, COLUMN!=VALUE, and START:STOP:STEP, any of
 * which may be left out, for every STEP-th row ("::3" is the first, fourth, seventh, ...).
 */
#ifndef STEPTIME_CALIBRATE_STEPS_FILTER_H
#define STEPTIME_CALIBRATE_STEPS_FILTER_H

#include "fit/steps/row_fields.h"

/*
 * Clears kept[row] of the rows that `filter` leaves out. An unknown column and a term that is none
 * of the above are wrong use of the command line.
 */
st_status st_filter_rows(const char *filter, const st_csv *csv, st_arena *arena, bool *kept,
                         st_errors *errors) ST_NODISCARD;

/* Whether `filter` has a term about that column. */
bool st_filter_mentions(const char *filter, const char *column);

#endif
