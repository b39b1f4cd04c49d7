/* SPDX-License-Identifier: Apache-2.0 */
/* Task graphs as arrays, for whoever walks over all tasks and what they wait for. */
#ifndef STEPTIME_TOOL_GRAPH_ARRAYS_H
#define STEPTIME_TOOL_GRAPH_ARRAYS_H

#include "steptime/graph.h"

/* A sealed graph, by task unless said otherwise; durations change as the graph's do. */
typedef struct st_graph_arrays {
    size_t task_count;
    const int64_t *duration_ns;
    const int64_t *earliest_ns; /* NULL: every task may start at 0 */
    const uint32_t *resource;
    const uint32_t *name;
    const uint32_t *instance;
    const uint16_t *category;
    const st_task_id *previous; /* on the same resource */
    const st_task_id *order;    /* every task after those it waits for */
    /* Predecessors of task i are before[before_first[i]] up to before[before_first[i + 1]]. */
    const uint32_t *before_first;
    const st_task_id *before;
    const uint8_t *before_kind; /* st_edge_kind of each of them */
    const char *const *names;   /* by number */
    size_t name_count;
    const uint32_t *instance_size; /* by number, from 1 on */
} st_graph_arrays;

st_graph_arrays st_graph_arrays_of(const st_graph *graph);

/* What a task, or a category, counts for in the breakdown. */
st_work st_graph_work(const st_graph *graph, st_task_id task);
st_work st_graph_category_work(const st_graph *graph, uint16_t category);

/* The place of a resource's rank among those of the graph, and the last task on the resource. */
uint32_t st_graph_rank_index(const st_graph *graph, uint32_t resource);
st_task_id st_graph_last_task(const st_graph *graph, uint32_t resource);

/* As st_replay_path, to the end of a task; empty where the graph has no such task. */
st_status st_replay_path_to(const st_replay *replay, st_task_id task, st_arena *arena,
                            const st_path_step **steps, size_t *count,
                            st_errors *errors) ST_NODISCARD;

#endif
