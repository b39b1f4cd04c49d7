/* SPDX-License-Identifier: Apache-2.0 */
/* Timelines: the step of a job laid out as the tasks of its schedule, and replayed. */
#ifndef STEPTIME_JOB_TIMELINE_H
#define STEPTIME_JOB_TIMELINE_H

#include "steptime/estimate.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Appends what `steptime timeline` writes of the estimate's job as it is set now: as text, JSON,
 * CSV, or as SVG a row of boxes for each stage. The estimate is unchanged. Refused: sheets without
 * the roles that a timeline needs, and as SVG more tasks than can be drawn.
 */
ST_API st_status st_timeline_write(st_estimate *estimate, const st_estimate_view *view,
                                   st_buffer *buffer, st_errors *errors) ST_NODISCARD;

#ifdef __cplusplus
}
#endif
#endif
