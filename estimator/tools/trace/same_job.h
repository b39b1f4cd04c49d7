/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the files of a set, which say that they are of one job, can be. */
#ifndef STEPTIME_TRACE_SAME_JOB_H
#define STEPTIME_TRACE_SAME_JOB_H

#include "trace/trace.h"

/*
 * Refuses ranks that record collectives of groups they are not in, and those most of
 * whose collectives differ from those of the other ranks of their groups in the same place. Another
 * GPU than that of the first file is an error, or with `partial` a warning.
 */
st_status st_trace_check_job(st_trace *const *ranks, size_t count, bool partial,
                             st_errors *errors) ST_NODISCARD;

#endif
