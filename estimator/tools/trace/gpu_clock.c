/* SPDX-License-Identifier: Apache-2.0 */
/* See gpu_clock.h. */
#include "trace/gpu_clock.h"
#include "trace/xalloc.h"

#include <string.h>

/* A call returns, and a task begins, no sooner than this after what it waits for. */
static const int64_t LEAST_NS = 4000;
/* Clocks are not further apart; a call that returns later was waiting for something else. */
static const int64_t MOST_NS = 100000;

/* The shortest time from a launch to the start of its task. */
static int64_t least_lag_ns(const st_order *order)
{
    const st_trace_event *events = order->trace->events;
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < order->trace->event_count; i++) {
        if (order->call_of[i] == ST_TRACE_NONE)
            continue;
        int64_t lag_ns = events[i].start_ns - order->launch_ns[i];
        least = lag_ns < least ? lag_ns : least;
    }
    return least;
}

/* How long after what it waits for a call returns, if that is less than before. */
static int64_t sooner(int64_t least_ns, const st_trace_event *call, int64_t over_ns)
{
    int64_t return_ns = st_trace_end_ns(call) - over_ns;
    bool waited = over_ns > call->start_ns && return_ns >= -MOST_NS;
    return waited && return_ns < least_ns ? return_ns : least_ns;
}

/* By how much the clock is late, 0 where the times of calls and tasks fit together. */
static int64_t find_late_ns(const st_order *order)
{
    int64_t lag_ns = least_lag_ns(order);
    int64_t return_ns = INT64_MAX;
    for (uint32_t t = 0; t < order->trace->track_count; t++) {
        /* Of calls that wait for all, and for the stream to which their thread has launched
         * last. */
        const st_lists *calls = &order->thread_calls;
        const st_lists *tasks = &order->call_tasks;
        int64_t one_ns = INT64_MAX;
        uint32_t last = ST_TRACE_NONE;
        for (uint32_t i = calls->starts[t]; i < calls->starts[t + 1]; i++) {
            uint32_t index = calls->items[i];
            const st_trace_event *call = &order->trace->events[index];
            if (call->class_ == ST_CALL_SYNC_DEVICE || call->class_ == ST_CALL_FREE)
                one_ns = sooner(one_ns, call, st_order_over_ns(order, call->start_ns));
            else if (call->class_ == ST_CALL_SYNC_STREAM && last != ST_TRACE_NONE)
                one_ns = sooner(one_ns, call, st_trace_end_ns(&order->trace->events[last]));
            if (tasks->starts[index + 1] > tasks->starts[index])
                last = tasks->items[tasks->starts[index + 1] - 1];
        }
        return_ns = one_ns < return_ns ? one_ns : return_ns;
    }
    /* Early: tasks begin before their launch. Late: calls return before what they wait for is over,
     * by no more than what launches may come nearer. */
    if (lag_ns < 0)
        return lag_ns - LEAST_NS;
    if (return_ns >= 0 || lag_ns <= LEAST_NS)
        return 0;
    int64_t late_ns = LEAST_NS - return_ns;
    return late_ns < lag_ns - LEAST_NS ? late_ns : lag_ns - LEAST_NS;
}

void st_gpu_clock_order(const st_trace *trace, st_arena *arena, st_order *order, int64_t *late_ns)
{
    st_order_make(trace, arena, order);
    *late_ns = find_late_ns(order);
    if (*late_ns == 0)
        return;
    /* A copy in which GPU tasks are earlier; it shares everything but the events. */
    st_trace *copy = st_xalloc(arena, 1, sizeof *copy);
    st_trace_event *events = st_xalloc(arena, trace->event_count + 1, sizeof *events);
    *copy = *trace;
    memcpy(events, trace->events, trace->event_count * sizeof *events);
    for (size_t i = 0; i < trace->event_count; i++)
        events[i].start_ns -= st_trace_is_gpu(&events[i]) ? *late_ns : 0;
    copy->events = events;
    st_order_free(order);
    *order = (st_order){0};
    st_order_make(copy, arena, order);
}
