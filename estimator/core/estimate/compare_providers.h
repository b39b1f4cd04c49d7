/* SPDX-License-Identifier: Apache-2.0 */
/* One job under several refinements, a column each. */
#ifndef STEPTIME_ESTIMATE_COMPARE_PROVIDERS_H
#define STEPTIME_ESTIMATE_COMPARE_PROVIDERS_H

#include "estimate/report.h"

enum { ST_COLUMNS_MAX = 8 };

typedef struct st_columns {
    const char *names[ST_COLUMNS_MAX];     /* the refinement as it was asked for */
    st_estimate estimates[ST_COLUMNS_MAX]; /* of the same job and sheet */
    const char *faults[ST_COLUMNS_MAX];    /* why one has not run; NULL: it has; one at least has */
    size_t count;
    bool all; /* also cells that are the same in all columns */
} st_columns;

/*
 * Cells of the report that differ and those that say what hiding costs: value by value, with the
 * change to the first column; then which plugin has a part in what, and why a column has failed.
 */
void st_columns_report(const st_columns *columns, st_arena *arena, st_result *result);

#endif
