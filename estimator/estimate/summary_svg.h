/* SPDX-License-Identifier: Apache-2.0 */
/* Where the step and the memory go, as SVG. */
#ifndef STEPTIME_ESTIMATE_SUMMARY_SVG_H
#define STEPTIME_ESTIMATE_SUMMARY_SVG_H

#include "estimate/estimate_internal.h"

/* The bars of the sheet's summary; a sheet without any is an error. */
st_status st_summary_svg(const st_estimate *estimate, st_arena *arena, st_buffer *buffer,
                         st_errors *errors) ST_NODISCARD;

#endif
