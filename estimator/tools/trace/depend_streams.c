/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams that wait for each other though nothing in the calls says so: CUDA graphs, and calls that
 * a profiler of that time did not know, or that came before the recording. A stream that pauses and
 * goes on right after another one has finished something was waiting for it. Where the profiler has
 * recorded what streams wait for, only graphs and what was launched before the recording are looked
 * at.
 */
#include "trace/depend.h"
#include "trace/xalloc.h"

#include <stdlib.h>
#include <string.h>

static const int64_t PAUSE_NS = 20000;   /* shorter ones are launches and queues */
static const int64_t WAKE_UP_NS = 12000; /* a task that begins later was not waiting for this */

typedef struct pauses {
    const st_order *order;
    const st_trace *trace;
    st_arena *arena;
    st_dependencies *found;
    int64_t *ready_ns; /* by event: when all that is known was over */
} pauses;

/* Launched with others by one call, as a graph is. */
static bool is_of_graph(const pauses *p, uint32_t task)
{
    uint32_t call = p->order->call_of[task];
    const uint32_t *starts = p->order->call_tasks.starts;
    return call != ST_TRACE_NONE && starts[call + 1] - starts[call] > 1;
}

/* What ended last before a task on any other stream, right before it. */
static uint32_t find_waker(const pauses *p, uint32_t task)
{
    const st_trace_event *event = &p->trace->events[task];
    int64_t best_ns = event->start_ns - WAKE_UP_NS;
    uint32_t best = ST_TRACE_NONE;
    best_ns = best_ns > p->ready_ns[task] ? best_ns : p->ready_ns[task];
    for (uint32_t t = 0; t < p->trace->track_count; t++) {
        uint32_t place = st_order_begun(p->order, t, event->start_ns);
        if (t == event->track || place == p->order->by_start.starts[t])
            continue;
        uint32_t other = p->order->by_start.items[place - 1];
        /* Of tasks without a launch nobody knows which was launched first. */
        int64_t apart_ns = p->order->launch_ns[task] - p->order->launch_ns[other];
        if (apart_ns <= 0 && (apart_ns != 0 || p->order->call_of[task] != ST_TRACE_NONE))
            continue;
        int64_t end_ns = st_trace_end_ns(&p->trace->events[other]);
        if (end_ns > best_ns && end_ns <= event->start_ns) {
            best = other;
            best_ns = end_ns;
        }
    }
    return best;
}

void st_depend_pauses(const st_order *order, st_arena *arena, st_dependencies *dependencies)
{
    pauses p = {.order = order, .trace = order->trace, .arena = arena, .found = dependencies};
    p.ready_ns = st_xmalloc((p.trace->event_count + 1) * sizeof *p.ready_ns);
    memcpy(p.ready_ns, order->launch_ns, p.trace->event_count * sizeof *p.ready_ns);
    for (size_t i = 0; i < dependencies->count; i++) {
        const st_dependency *one = &dependencies->items[i];
        if (one->kind != ST_DEPEND_STREAM)
            continue;
        int64_t end_ns = st_trace_end_ns(&p.trace->events[one->before]);
        if (end_ns > p.ready_ns[one->after])
            p.ready_ns[one->after] = end_ns;
    }
    for (uint32_t t = 0; t < p.trace->track_count; t++) {
        const st_lists *tasks = &p.order->by_start;
        int64_t reach_ns = INT64_MIN;
        bool exact = p.found->edges[ST_TRACE_EDGE_STREAMS].exact > 0;
        for (uint32_t i = tasks->starts[t]; i < tasks->starts[t + 1]; i++) {
            uint32_t task = tasks->items[i];
            int64_t *ready_ns = &p.ready_ns[task];
            *ready_ns = reach_ns > *ready_ns ? reach_ns : *ready_ns;
            uint32_t waker = ST_TRACE_NONE;
            bool unlaunched = p.order->call_of[task] == ST_TRACE_NONE;
            if ((!exact || unlaunched || is_of_graph(&p, task)) &&
                p.trace->events[task].start_ns - *ready_ns > PAUSE_NS)
                waker = find_waker(&p, task);
            if (waker != ST_TRACE_NONE) {
                p.found->edges[ST_TRACE_EDGE_STREAMS].inferred++;
                st_depend_add(
                    p.arena,
                    &(st_dependency){.before = waker, .after = task, .kind = ST_DEPEND_STREAM},
                    p.found);
            }
            int64_t end_ns = st_trace_end_ns(&p.trace->events[task]);
            reach_ns = end_ns > reach_ns ? end_ns : reach_ns;
        }
    }
    free(p.ready_ns);
}
