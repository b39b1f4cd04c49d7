/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report that a person reads first: the answer in a line, what was estimated, where the time
 * and the memory go, what matters most. What of it a sheet's summary says; a sheet without one
 * shows the cells of its report.
 */
#ifndef STEPTIME_ESTIMATE_BRIEF_REPORT_H
#define STEPTIME_ESTIMATE_BRIEF_REPORT_H

#include "base/result.h"
#include "estimate/estimate_internal.h"

typedef struct st_brief {
    bool cite;  /* with sources */
    bool quiet; /* without warnings */
} st_brief;

/* Text alone. `estimate` has run, with its effects; `errors` has the warnings. */
st_status st_estimate_brief(const st_estimate *estimate, const st_brief *wanted, st_errors *errors,
                            st_arena *arena, st_result *result) ST_NODISCARD;

#endif
