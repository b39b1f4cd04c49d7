/* SPDX-License-Identifier: Apache-2.0 */
/* The measured rows nearest to a job, with the errors of their estimates. */
#ifndef STEPTIME_FIT_NEAREST_H
#define STEPTIME_FIT_NEAREST_H

#include "base/result.h"
#include "fit/steps/measured.h"

enum { ST_NEAREST_ROWS = 10 };

typedef struct st_near_row {
    const st_measured *measured; /* the table */
    size_t row;
    double distance;
} st_near_row;

typedef struct st_near_rows {
    const st_measured *job; /* of one row */
    st_near_row rows[ST_NEAREST_ROWS];
    size_t count;
} st_near_rows;

/*
 * Adds the rows of a table that was run. Sizes of the model, the batch and the plan are as far
 * apart as the logarithm of their ratio says; another GPU, type, stack or kind of model adds to
 * that.
 */
void st_nearest_add(st_near_rows *nearest, const st_measured *measured);

/* The member `nearest`, a list. */
void st_nearest_put(const st_near_rows *nearest, st_node *root);

#endif
