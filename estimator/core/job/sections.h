/* SPDX-License-Identifier: Apache-2.0 */
/* The sections of a job, and the page that is written from them and the keys. */
#ifndef STEPTIME_JOB_SECTIONS_H
#define STEPTIME_JOB_SECTIONS_H

#include "steptime/job.h"
#include "steptime/tool/job_keys.h"

/* docs/configuration.md from the tables. */
void st_job_write_reference(st_buffer *buffer);

#endif
