/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loaded job as a file: what its own files, those that they name and assignments gave it, so that
 * the file alone gives the same values. Models, clusters and constants on the search
 * path stay names; whatever else they were made of is written out.
 */
#ifndef STEPTIME_TOOL_JOB_WRITE_H
#define STEPTIME_TOOL_JOB_WRITE_H

#include "steptime/job.h"

typedef struct st_job_writing {
    const st_job *job;
    const char *comment;              /* lines without '#'; NULL: none */
    const char *sheet;                /* in place of the job's own; NULL: its own */
    const st_refinement *refinements; /* plugins, in order of preference */
    size_t refinement_count;
} st_job_writing;

/* Paths are made absolute: the file may be anywhere on this machine. */
st_status st_job_write(const st_job_writing *file, st_arena *arena, st_buffer *buffer,
                       st_errors *errors) ST_NODISCARD;

#endif
