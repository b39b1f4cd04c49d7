/* SPDX-License-Identifier: Apache-2.0 */
/* What of a job is known whatever else is tried of it, and what reads it. */
#ifndef STEPTIME_JOB_BIND_H
#define STEPTIME_JOB_BIND_H

#include "steptime/job.h"

/*
 * What an input is worth whatever else is tried of a job: truth values, and zeros for what the job
 * lacks; false for all others. `job` is an st_job, for st_given of program/absent.h.
 */
bool st_job_settles(const void *job, const st_sheet_input *input, double *value);

/* The input of a sheet that reads a key, NULL where it has none, and its index. */
const st_sheet_input *st_sheet_reading(const st_sheet *sheet, const char *key);
size_t st_sheet_reading_index(const st_sheet *sheet, const char *key); /* SIZE_MAX: none */

/* What a job says of a key: 0 and "" where nothing does. */
double st_job_number(const st_job *job, const char *key);
const char *st_job_text(const st_job *job, const char *key);

#endif
