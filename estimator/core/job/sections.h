/* SPDX-License-Identifier: Apache-2.0 */
/* The sections of a job beside its keys, and the page that is written from both tables. */
#ifndef STEPTIME_JOB_SECTIONS_H
#define STEPTIME_JOB_SECTIONS_H

#include "steptime/job.h"

/* A part of a job that may be a map or the name of a file: model, cluster, cluster.gpu. */
typedef struct st_key_section {
    const char *path;
    bool is_file;
    st_folder folder; /* where names are looked up, when is_file */
    const char *doc;
} st_key_section;

/* The table, constant. */
const st_key_section *st_key_sections(size_t *count);

/* docs/configuration.md from the tables. */
void st_job_write_reference(st_buffer *buffer);

#endif
