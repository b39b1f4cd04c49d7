/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What parallel.layout: auto is in one plan: whoever looks at a single job sees the very layout.
 */
#ifndef STEPTIME_ESTIMATE_SETTLED_LAYOUT_H
#define STEPTIME_ESTIMATE_SETTLED_LAYOUT_H

#include "estimate/estimate_internal.h"
#include "steptime/tool/estimates.h"

/* Opens an estimate, with its providers, once more with the layout that it has; does nothing where
 * the job does not leave it open. */
st_status st_settle_layout(const st_paths *paths, const st_request *request, st_arena *arena,
                           st_estimate *estimate, st_errors *errors) ST_NODISCARD;

/* Whether a job leaves its layout open. */
bool st_has_open_layout(const st_job *job);

#endif
