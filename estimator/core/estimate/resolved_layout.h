/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout that `parallel.layout: auto` has in one plan, for views of a single job.
 */
#ifndef STEPTIME_ESTIMATE_RESOLVED_LAYOUT_H
#define STEPTIME_ESTIMATE_RESOLVED_LAYOUT_H

#include "estimate/estimate_internal.h"
#include "steptime/tool/estimates.h"

/* Reopens an estimate, with its providers, with the resolved layout; does nothing where the job
 * gives a layout. */
st_status st_resolve_layout(const st_paths *paths, const st_request *request, st_arena *arena,
                            st_estimate *estimate, st_errors *errors) ST_NODISCARD;

/* Whether a job leaves its layout open. */
bool st_has_open_layout(const st_job *job);

#endif
