/* SPDX-License-Identifier: Apache-2.0 */
/* What of a job is known before its sheet is read. */
#ifndef STEPTIME_JOB_BIND_H
#define STEPTIME_JOB_BIND_H

#include "steptime/job.h"

/*
 * What an input is worth whatever else is tried of a job: truth values, and zeros for what the job
 * lacks; false for all others. `job` is an st_job, for st_given of sheet/left_out.h.
 */
bool st_job_settles(const void *job, const st_sheet_input *input, double *value);

#endif
