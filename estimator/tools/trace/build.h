/* SPDX-License-Identifier: Apache-2.0 */
/* A graph while it is built out of traces; see build.c. */
#ifndef STEPTIME_TRACE_BUILD_H
#define STEPTIME_TRACE_BUILD_H

#include "trace/collate.h"
#include "trace/depend.h"

enum { ST_BUILD_LANES = 16 };

/* A GPU task that began later than all that it is known to wait for. */
typedef struct st_delay {
    st_task_id task;
    int64_t recorded_ns;
    int64_t explained_ns; /* the usual gap in a queue, or all where another kernel blocked it */
    st_task_id blocker;   /* its kernel, or ST_TASK_NONE; a number of the rank while building */
    int64_t blocker_ns;   /* its recorded time */
} st_delay;

/* An edge from a GPU task that may not have been added yet. */
typedef struct st_late_edge {
    uint32_t event;
    st_task_id task;
    st_edge_kind kind;
} st_late_edge;

typedef struct st_rank_build {
    const st_order *order;
    st_trace_rank *out;
    st_dependencies dependencies;
    uint32_t rank;           /* of the graph */
    int64_t shift_ns;        /* from times of the file to those of the graph */
    st_lists waits;          /* by event: dependencies, on GPU tasks of other streams */
    uint32_t *instance_of;   /* by event: an instance of the graph, or 0 */
    int64_t *transfer_ns;    /* by event, in an instance */
    st_task_id *cut_of_call; /* by event: the host task that ends where the call begins */
    st_task_id *lag_of_call; /* by event */
    uint32_t lanes[ST_BUILD_LANES];
    uint32_t next_lane;
    st_late_edge *late;
    size_t late_count;
} st_rank_build;

typedef struct st_build {
    st_trace_graph *out;
    st_graph *graph;
    st_order *orders;
    st_rank_build *ranks;
    st_collation collation;
    st_arena *scratch;
    st_errors *errors;
    st_status status; /* of what failed first: nothing is added after it */
    uint32_t host_name;
    uint32_t lag_name;
    uint32_t delay_name;
    uint16_t host_category;
    uint16_t delay_category;
    uint16_t class_categories[ST_TRACE_CLASSES];
} st_build;

/*
 * The kernel of another stream that filled the GPU while a task was ready and could not begin, an
 * event; ST_TRACE_NONE where there is none.
 */
uint32_t st_build_blocker(const st_rank_build *r, uint32_t task, int64_t ready_ns);

/* ST_TASK_NONE after a failure, as below nothing is added. */
static inline st_task_id st_build_task(st_build *b, const st_task_spec *spec)
{
    st_task_id task = ST_TASK_NONE;
    if (b->status == ST_OK)
        b->status = st_graph_add(b->graph, spec, &task, b->errors);
    return task;
}

static inline void st_build_edge(st_build *b, st_task_id before, st_task_id after,
                                 st_edge_kind kind)
{
    if (b->status == ST_OK)
        b->status = st_graph_edge(b->graph, before, after, kind, b->errors);
}

static inline uint32_t st_build_resource(st_build *b, const st_rank_build *r, st_resource_kind kind,
                                         const char *name)
{
    uint32_t resource = 0;
    if (b->status == ST_OK)
        b->status = st_graph_resource(b->graph, r->rank, kind, name, &resource, b->errors);
    return resource;
}

/* Adds the host tasks of a rank, and the edges between its threads. */
void st_build_threads(st_build *b, st_rank_build *r);
/* Remembers an edge for st_build_syncs. */
void st_build_later(st_build *b, st_rank_build *r, uint32_t event, st_task_id task,
                    st_edge_kind kind);
/* Adds the edges that wait for GPU tasks to be there. */
void st_build_syncs(st_build *b, st_rank_build *r);

#endif
