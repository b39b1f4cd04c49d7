/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job that a recorded step shows: sizes of a transformer from its products and its attention,
 * groups of ranks from its collectives, micro-batches from how often the output layer repeats.
 */
#ifndef STEPTIME_RECORD_PRICE_INFERRED_JOB_H
#define STEPTIME_RECORD_PRICE_INFERRED_JOB_H

#include "record/price/imported.h"

/* A key of the job. */
typedef struct st_inferred_key {
    const char *path; /* "model.hidden" */
    const char *text;
    bool assumed; /* the recording does not show it */
} st_inferred_key;

typedef struct st_inferred_job {
    st_inferred_key *keys;
    size_t count;
    const char *missing; /* what a job needs and the recording does not show; NULL: nothing */
    const char *key;     /* that gives it; NULL: none */
} st_inferred_job;

/* `sets` are keys that the user gives, "model.vocabulary=50257", which are not missing. */
void st_infer_job(const st_imported *imported, size_t worker, const st_imported_job *given,
                  st_arena *arena, st_inferred_job *job);

/* A batch of products of attention: two sides are the sequence. Sets its tokens and the width of a
 * head. */
bool st_shape_is_score(const st_task_shape *shape, double *sequence, double *width);

#endif
