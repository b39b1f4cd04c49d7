/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a job by key, and the inputs of a sheet that read them. */
#ifndef STEPTIME_TOOL_JOB_VALUES_H
#define STEPTIME_TOOL_JOB_VALUES_H

#include "steptime/job.h"

/* The input of a sheet that reads a key, NULL where it has none, and its index. */
const st_sheet_input *st_sheet_reading(const st_sheet *sheet, const char *key);
size_t st_sheet_reading_index(const st_sheet *sheet, const char *key); /* SIZE_MAX: none */

/* What a job says of a key: 0 and "" where nothing does. */
double st_job_number(const st_job *job, const char *key);
const char *st_job_text(const st_job *job, const char *key);

/* The keys by whose values its stack's recipes go. */
const st_key *st_job_recipe_keys(const st_job *job, size_t *count);

/* The constants that a job sets. */
const st_job_value *st_job_constants(const st_job *job, size_t *count);

#endif
