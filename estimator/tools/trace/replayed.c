/* SPDX-License-Identifier: Apache-2.0 */
/* What a replay says of a rank, in the terms of its trace. */
#include "trace/busy.h"
#include "trace/link.h"
#include "trace/replayed.h"
#include "trace/xalloc.h"

#include <stdlib.h>

const char *st_trace_edge_kind_name(st_trace_edge_kind kind)
{
    static const char *const names[ST_TRACE_EDGE_KINDS] = {
        "thread", "launch", "sync", "stream", "streams", "ranks",
    };
    return kind < ST_TRACE_EDGE_KINDS ? names[kind] : "";
}

void st_replayed_rank(const st_trace_graph *graph, const st_replay *replay, size_t rank,
                      bool all_threads, st_trace_breakdown *time)
{
    const st_trace_rank *r = &graph->ranks[rank];
    size_t count = 0;
    st_interval *intervals =
        st_xmalloc((r->trace->event_count + r->copy_count + 1) * sizeof *intervals);
    for (size_t i = 0; i < r->trace->event_count; i++) {
        if (r->tasks[i] == ST_TASK_NONE)
            continue;
        st_task_time when = st_replay_task(replay, r->tasks[i]);
        intervals[count++] = (st_interval){when.ready_ns, when.end_ns,
                                           r->trace->events[i].class_ == ST_TRACE_COMMUNICATION};
    }
    for (size_t i = 0; i < r->copy_count; i++) {
        st_task_time when = st_replay_task(replay, r->copies[i].task);
        const st_trace_event *event = &r->trace->events[r->copies[i].event];
        intervals[count++] =
            (st_interval){when.ready_ns, when.end_ns, event->class_ == ST_TRACE_COMMUNICATION};
    }
    st_intervals_sort(intervals, count);
    /* When the last thread and the last GPU task of a rank end. */
    int64_t end = r->start_ns;
    for (size_t i = 0; i < r->thread_count; i++) {
        if (!all_threads && !r->thread_acts[i])
            continue;
        int64_t thread = st_replay_task(replay, r->threads[i]).end_ns;
        end = thread > end ? thread : end;
    }
    for (size_t i = 0; i < r->trace->event_count; i++) {
        if (r->tasks[i] == ST_TASK_NONE)
            continue;
        int64_t task = st_replay_task(replay, r->tasks[i]).end_ns;
        end = task > end ? task : end;
    }
    st_busy_breakdown(intervals, count, r->start_ns, end, time);
    free(intervals);
}

st_status st_replayed_times(const st_trace_graph *graph, const st_replay *replay, st_arena *arena,
                            st_trace_times *times, st_errors *errors)
{
    size_t count = st_graph_task_count(graph->graph);
    *times = (st_trace_times){.tasks = st_xalloc(arena, count + 1, sizeof *times->tasks)};
    for (size_t i = 0; i < count; i++)
        times->tasks[i] = st_replay_task(replay, (st_task_id)i);
    return st_replay_path(replay, arena, &times->path, &times->path_count, errors);
}

int64_t st_replayed_step_ns(const st_trace_mark *step, const st_replay *replay)
{
    return st_replay_task(replay, step->ends).end_ns - st_replay_task(replay, step->begins).end_ns +
           step->lead_ns;
}

void st_trace_replay_rank(const st_trace_graph *graph, const st_replay *replay, size_t rank,
                          st_trace_breakdown *time)
{
    st_replayed_rank(graph, replay, rank, true, time);
}
