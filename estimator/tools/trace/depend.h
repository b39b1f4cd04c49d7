/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who waits for whom on one rank: the four kinds of dependency of Lumos (sec. 3.2).
 *
 * A dependency is exact where the trace has ids for it, inferred where only the order of calls
 * speaks for it, and contradicted, and then left out, where the recorded times rule it out.
 */
#ifndef STEPTIME_TRACE_DEPEND_H
#define STEPTIME_TRACE_DEPEND_H

#include "trace/task_order.h"

typedef enum st_dependency_kind {
    ST_DEPEND_STREAM, /* GPU task after GPU task of another stream */
    ST_DEPEND_SYNC,   /* host after GPU task; before: ST_TRACE_NONE where the task is not known */
    ST_DEPEND_THREAD  /* a thread goes on after another one */
} st_dependency_kind;

typedef struct st_dependency {
    uint32_t before; /* GPU task, or for a thread the event after whose end it goes on */
    uint32_t after;  /* GPU task, call, or the first event after the pause of a thread */
    st_dependency_kind kind;
    int64_t from_ns; /* of the host: when it began to wait, and when it went on */
    int64_t to_ns;
    bool is_own; /* the call waits for all, and all is recorded: the rest of it is its own work */
} st_dependency;

typedef struct st_dependencies {
    st_dependency *items;
    size_t count;
    st_trace_edges edges[ST_TRACE_EDGE_KINDS];
} st_dependencies;

void st_depend_find(const st_order *order, st_arena *arena, st_dependencies *dependencies);

#endif
