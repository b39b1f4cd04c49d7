/* SPDX-License-Identifier: Apache-2.0 */
/* A job with a schedule, a strategy or jitter of the command line, laid out as a timeline. */
#ifndef STEPTIME_TIMELINE_TIMELINE_REQUEST_H
#define STEPTIME_TIMELINE_TIMELINE_REQUEST_H

#include "timeline/timeline.h"
#include "steptime/tool/timelines.h"

/* Loads the job with that schedule, and makes the plan of its timeline. */
st_status st_timeline_load(const st_timeline_request *request, st_arena *arena,
                           st_estimate *estimate, st_timeline_plan *plan,
                           st_errors *errors) ST_NODISCARD;

#endif
