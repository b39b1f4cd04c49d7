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

/* Warns of a text of the user's own that the sheet does not use, and says `why`: "has no roles". */
st_status st_job_warn_unread(const st_job *job, const st_job_value *value, const st_sheet *sheet,
                             const char *why, st_errors *errors) ST_NODISCARD;

/* The value of a key or constant, to be replaced; NULL where st_job_value_of has none. */
st_job_value *st_job_place_of(const st_job *job, const char *path);

/*
 * Notes, from `true` to `false`, the keys that st_job_value_of is asked for: what is made from them
 * has to be made again when one changes.
 */
void st_job_watch(const st_job *job, bool on);
bool st_job_was_asked(const st_job *job, const st_key *key);

/* Gives one input its value again, as st_job_bind does. */
st_status st_job_bind_one(const st_job *job, const st_sheet *sheet, size_t input, st_arena *arena,
                          st_bound_input *bound, st_errors *errors) ST_NODISCARD;

#endif
