/* SPDX-License-Identifier: Apache-2.0 */
/* Rows whose columns contradict each other: why they are left out, with line and column. */
#ifndef STEPTIME_CALIBRATE_STEPS_ROW_CHECKS_H
#define STEPTIME_CALIBRATE_STEPS_ROW_CHECKS_H

#include "fit/steps/measured.h"

typedef struct st_row_check {
    const st_csv *csv;
    const st_table_source *source; /* NULL: none */
    const st_row *row;
    bool is_step;     /* step times are compared */
    double plan_gpus; /* the product of the parallel sizes; NaN: not known */
    /* What the measured step reaches by the sheet's count of FLOPs; 0: not known. */
    double mfu;
    double flops_gpu; /* per second and GPU */
    st_errors *errors;
} st_row_check;

/* Why the columns of a row contradict each other, reported with the place; NULL: they do not. */
const char *st_row_contradiction(const st_row_check *check);

/* The same of rates, of which tables count FLOPs in more than one way: only what no count explains
 * contradicts. */
const char *st_row_rate_contradiction(const st_row_check *check);

/* Leaves out rows that repeat the id of a row before. */
st_status st_leave_out_repeated(st_measured *measured, st_arena *arena, st_errors *errors);

#endif
