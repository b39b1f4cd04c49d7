/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two recordings compared: modules and kernels matched by their names, what grew, what
 * shrank, what is new and what is gone. Times are of a rank and, where both recordings have steps,
 * of a step, so that recordings of different lengths compare; changes add up to that of all.
 */
#ifndef STEPTIME_TRACE_VIEW_DIFF_H
#define STEPTIME_TRACE_VIEW_DIFF_H

#include "trace/view_tree.h"

typedef struct st_diff_side {
    const char *name; /* of its first file */
    size_t ranks;
    size_t steps;   /* of a rank, 0: none */
    double divisor; /* of all times and counts */
} st_diff_side;

/* Times and counts of sides: before, after. */
typedef struct st_diff_row {
    const char *name;
    const char *place; /* modules around it, "" for none */
    bool is_kernel;
    bool has[2];
    double time_ns[2];
    double count[2];
} st_diff_row;

typedef struct st_trace_diff {
    st_diff_side sides[2];
    bool by_module; /* both have modules */
    bool by_step;
    st_diff_row *rows; /* the greatest change first; kernels' changes add up to that of all */
    size_t count;
    double total_ns[2];
} st_trace_diff;

/* Sets that were read with details. */
st_status st_view_diff(const st_trace_set *before, const st_trace_set *after, st_arena *arena,
                       st_trace_diff *diff, st_errors *errors) ST_NODISCARD;
/* "grew", "shrank", "new", "gone", "same" */
const char *st_diff_word(const st_diff_row *row);
/* At most `top` modules and kernels each; the others are one row. */
void st_view_diff_result(const st_trace_diff *diff, size_t top, bool full_names, st_arena *arena,
                         st_result *result);
void st_view_diff_svg(const st_trace_diff *diff, size_t top, st_buffer *svg);

#endif
