/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel is slowed as those of its own name were: the median slowdown of the three whose
 * duration, counters and message are nearest. Nothing is trained, so that it also is a baseline
 * for what is.
 */
#ifndef STEPTIME_CALIBRATE_SLOWDOWN_NEIGHBOURS_H
#define STEPTIME_CALIBRATE_SLOWDOWN_NEIGHBOURS_H

#include "overlap-xgboost/fit/kernel_table.h"

enum { ST_NEIGHBOURS = 3 };

/* Some rows of a table. */
typedef struct st_kernel_rows {
    const st_kernels *kernels;
    const size_t *items;
    size_t count;
} st_kernel_rows;

typedef struct st_neighbours {
    st_kernel_rows rows;           /* learnt from: overlapped long enough */
    double deviation[ST_FEATURES]; /* of the rows; 0: the feature is the same for all, or a word */
} st_neighbours;

/* `rows` outlive the result; those with a share below ST_LEAST_SHARE are not learnt from. */
st_status st_neighbours_learn(const st_kernel_rows *rows, st_arena *arena,
                              st_neighbours *neighbours) ST_NODISCARD;

/* The median slowdown of the nearest kernels of the kernel's own name, at least the table's least;
 * NaN where there is none of that name. */
double st_neighbours_ask(const st_neighbours *neighbours, const st_kernel *kernel);

#endif
