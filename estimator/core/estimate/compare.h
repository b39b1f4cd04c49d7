/* SPDX-License-Identifier: Apache-2.0 */
/* Two estimates side by side, input by input and cell by cell. */
#ifndef STEPTIME_ESTIMATE_COMPARE_H
#define STEPTIME_ESTIMATE_COMPARE_H

#include "estimate/report.h"

typedef struct st_compared {
    const char *name;
    const char *doc;
    const st_type *type; /* of A, or of B where A lacks it */
    bool is_input;
    bool in_a;
    bool in_b;
    double a; /* base units */
    double b;
} st_compared;

typedef struct st_comparison {
    const st_estimate *a; /* both must have run */
    const st_estimate *b;
    st_compared *rows; /* inputs first, then cells in A's order, then those of B alone */
    size_t count;
} st_comparison;

/* `all` keeps rows that are equal. Names whose dimension differs count as two. */
st_status st_comparison_make(const st_estimate *a, const st_estimate *b, bool all, st_arena *arena,
                             st_comparison *comparison, st_errors *errors) ST_NODISCARD;

void st_comparison_report(const st_comparison *comparison, st_arena *arena, st_result *result);

#endif
