/* SPDX-License-Identifier: Apache-2.0 */
/* Whether bands of errors hold where the rows that a band was made of lack some. */
#ifndef STEPTIME_FIT_BAND_CHECK_H
#define STEPTIME_FIT_BAND_CHECK_H

#include "base/result.h"
#include "fit/steps/accuracy.h"

/*
 * The member `bands`: for each source, apart for rows that a fit used, and for all of both, how
 * many rows are inside of the band that the other rows give them, and the median of its half-width,
 * if nothing is left out, the model on that GPU, the source, the stack or the kind of plan; and the
 * member `band_rows` with each row's own. Rows come in the order of their sources.
 */
st_status st_band_check_put(const st_error_rows *rows, st_arena *arena, st_node *root) ST_NODISCARD;

#endif
