/* SPDX-License-Identifier: Apache-2.0 */
/* What of a job is known whatever else is tried of it, and what reads it. */
#ifndef STEPTIME_JOB_BIND_H
#define STEPTIME_JOB_BIND_H

#include "steptime/job.h"
#include "steptime/tool/job_values.h"

/*
 * What an input is worth whatever else is tried of a job: truth values, and zeros for what the job
 * lacks; false for all others. `job` is an st_job, for st_given of program/impossible.h.
 */
bool st_job_settles(const void *job, const st_sheet_input *input, double *value);

#endif
