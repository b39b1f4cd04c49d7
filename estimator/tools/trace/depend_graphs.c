/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks that one call launches, as those of a CUDA graph. Between them the host has no say, and the
 * profiler records no edges of the graph: a task is taken to follow what of its graph ended
 * last before it began, on whichever stream that was. Tasks that ran at the same time stay free.
 */
#include "trace/depend.h"

enum { MOST_STREAMS = 64 };

/* What of a graph has ended on one stream, as the sweep over its starts goes on. */
typedef struct branch {
    uint32_t track;
    uint32_t next; /* the first of the launch, by start, that has not been looked at */
    uint32_t last; /* that ended last of those that ended, or ST_TRACE_NONE */
} branch;

typedef struct launch {
    const st_order *order;
    uint32_t first; /* in the list of tasks */
    uint32_t end;
    branch branches[MOST_STREAMS];
    size_t branch_count;
} launch;

static const st_trace_event *event_of(const launch *l, uint32_t task)
{
    return &l->order->trace->events[task];
}

static void see_launch(launch *l, st_arena *arena, st_dependencies *found)
{
    for (uint32_t i = l->first; i < l->end; i++) {
        uint32_t track = event_of(l, l->order->call_tasks.items[i])->track;
        size_t b = 0;
        while (b < l->branch_count && l->branches[b].track != track)
            b++;
        if (b == l->branch_count && b < MOST_STREAMS)
            l->branches[l->branch_count++] = (branch){track, l->first, ST_TRACE_NONE};
    }
    for (uint32_t i = l->first; i < l->end && l->branch_count > 1; i++) {
        uint32_t task = l->order->call_tasks.items[i];
        /* What of the launch ended last before the task at `place` began, of its own stream if
         * in doubt; only what precedes it, so that tasks of no length do not wait for each
         * other. */
        const st_trace_event *event = event_of(l, l->order->call_tasks.items[i]);
        uint32_t before = ST_TRACE_NONE;
        for (size_t b = 0; b < l->branch_count; b++) {
            /* Moves on to the last task of the branch before `end` that had ended. Tasks of a
             * stream run one by one. */
            branch *follow_b = &l->branches[b];
            for (; follow_b->next < i; follow_b->next++) {
                uint32_t follow_task = l->order->call_tasks.items[follow_b->next];
                if (event_of(l, follow_task)->track != follow_b->track)
                    continue;
                if (st_trace_end_ns(event_of(l, follow_task)) > event->start_ns)
                    break;
                follow_b->last = follow_task;
            }
            uint32_t last = l->branches[b].last;
            if (last == ST_TRACE_NONE)
                continue;
            int64_t later = before == ST_TRACE_NONE ? 1
                                                    : st_trace_end_ns(event_of(l, last)) -
                                                          st_trace_end_ns(event_of(l, before));
            if (later > 0 || (later == 0 && event_of(l, last)->track == event->track))
                before = last;
        }
        if (before == ST_TRACE_NONE || event_of(l, before)->track == event_of(l, task)->track)
            continue;
        found->edges[ST_TRACE_EDGE_STREAMS].inferred++;
        st_depend_add(arena,
                      &(st_dependency){.before = before, .after = task, .kind = ST_DEPEND_STREAM},
                      found);
    }
}

void st_depend_graphs(const st_order *order, st_arena *arena, st_dependencies *dependencies)
{
    const uint32_t *starts = order->call_tasks.starts;
    for (size_t call = 0; call < order->trace->event_count; call++) {
        launch one = {.order = order, .first = starts[call], .end = starts[call + 1]};
        if (one.end - one.first > 1)
            see_launch(&one, arena, dependencies);
    }
}
