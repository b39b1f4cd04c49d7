/* SPDX-License-Identifier: Apache-2.0 */
/* Delays of a graph's GPU tasks, which no dependency explains: kept, left out, changed or dropped.
 */
#include "trace/depend.h"

#include "trace/store.h"
#include <math.h>

void st_trace_graph_shed(st_trace_graph *graph, st_trace_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        graph->ranks[i].tasks = graph->ranks[i].hosts = NULL;
        st_trace_keep_events(set->ranks[i], 0);
    }
    graph->delays = NULL;
    graph->delay_count = 0;
    st_arena_destroy(graph->recorded);
    graph->recorded = NULL;
}

st_status st_trace_graph_delays(st_trace_graph *graph, bool keep, st_errors *errors)
{
    const st_delay *delays = graph->delays;
    st_status status = ST_OK;
    for (size_t i = 0; i < graph->delay_count && status == ST_OK; i++)
        status =
            st_graph_set_duration(graph->graph, delays[i].task,
                                  keep ? delays[i].recorded_ns : delays[i].explained_ns, errors);
    return status;
}

st_status st_trace_graph_unblock(st_trace_graph *graph, st_errors *errors)
{
    const st_delay *delays = graph->delays;
    st_status status = ST_OK;
    for (size_t i = 0; i < graph->delay_count && status == ST_OK; i++) {
        if (delays[i].blocker == ST_TASK_NONE || delays[i].blocker_ns <= 0)
            continue;
        double now_ns = (double)st_graph_task(graph->graph, delays[i].blocker).duration_ns;
        double part = now_ns / (double)delays[i].blocker_ns;
        status = st_graph_set_duration(graph->graph, delays[i].task,
                                       llround(part * (double)delays[i].recorded_ns), errors);
    }
    return status;
}

void st_trace_graph_move(st_trace_graph *graph, const st_task_id *moved)
{
    st_delay *delays = graph->delays;
    for (size_t i = 0; i < graph->delay_count; i++) {
        delays[i].task = moved[delays[i].task];
        if (delays[i].blocker != ST_TASK_NONE)
            delays[i].blocker = moved[delays[i].blocker];
    }
}
