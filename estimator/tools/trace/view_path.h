/* SPDX-License-Identifier: Apache-2.0 */
/* The critical path of a recording as tasks: the chain that nothing could have made shorter but one
 * of its own. */
#ifndef STEPTIME_TRACE_VIEW_PATH_H
#define STEPTIME_TRACE_VIEW_PATH_H

#include "trace/view.h"

typedef struct st_path_row {
    st_task_view task;
    const char *resource; /* thread or stream */
    const char *why;      /* how it depends on the one before, "" of the first */
    int64_t start_ns;     /* from the first event of any rank */
    int64_t end_ns;
    int64_t adds_ns; /* by how much it is later than the one before; all of these are the whole */
} st_path_row;

typedef struct st_path_view {
    st_path_row *rows; /* in the order of time */
    size_t count;
    int64_t length_ns;
} st_path_view;

/* Of a replay with all delays, or without (see st_trace_graph_delays). */
st_status st_view_path(st_trace_graph *graph, bool delays, st_arena *arena, st_path_view *view,
                       st_errors *errors) ST_NODISCARD;
/* The `top` tasks that add most, in the order of time; 0: all. */
void st_view_path_result(const st_path_view *view, size_t top, bool full_names, st_arena *arena,
                         st_result *result);

#endif
