/* SPDX-License-Identifier: Apache-2.0 */
/* See link.h. */
#include "trace/link.h"

#include "trace/xalloc.h"

#include <stdlib.h>
#include <string.h>

/* The list of an event among those of its stream, its thread or its launch. */
static uint32_t stream_of(const void *context, uint32_t event)
{
    const st_order *order = context;
    const st_trace_event *e = &order->trace->events[event];
    return st_trace_is_gpu(e) ? e->track : ST_TRACE_NONE;
}

static uint32_t thread_of(const void *context, uint32_t event)
{
    const st_order *order = context;
    const st_trace_event *e = &order->trace->events[event];
    return e->kind == ST_TRACE_CALL ? e->track : ST_TRACE_NONE;
}

static uint32_t launch_of(const void *context, uint32_t event)
{
    const st_order *order = context;
    return order->call_of[event];
}

/* Counts, then places. */
void st_lists_make(st_lists *lists, size_t count, size_t items, st_list_of *which,
                   const void *context, st_arena *arena)
{
    uint32_t *starts = st_xalloc(arena, count + 2, sizeof *starts);
    for (uint32_t i = 0; i < items; i++) {
        uint32_t list = which(context, i);
        if (list != ST_TRACE_NONE)
            starts[list + 2]++;
    }
    for (size_t i = 2; i < count + 2; i++)
        starts[i] += starts[i - 1];
    lists->items = st_xalloc(arena, (size_t)starts[count + 1] + 1, sizeof *lists->items);
    for (uint32_t i = 0; i < items; i++) {
        uint32_t list = which(context, i);
        if (list != ST_TRACE_NONE)
            lists->items[starts[list + 1]++] = i;
    }
    lists->starts = starts;
}

static void find_window(st_order *order, const st_trace_event *event, bool *any)
{
    if (!*any)
        order->start_ns = event->start_ns;
    if (!*any || st_trace_end_ns(event) > order->end_ns)
        order->end_ns = st_trace_end_ns(event);
    *any = true;
}

int64_t st_order_launch_ns(const st_order *order, uint32_t task)
{
    uint32_t call = order->call_of[task];
    if (call != ST_TRACE_NONE)
        return order->trace->events[call].start_ns;
    size_t low = 0;
    ST_BISECT(low, order->unlaunched_count, order->unlaunched[middle].event < task);
    return order->unlaunched[low].launch_ns;
}

/*
 * A stream runs its tasks in the order of their launches, so one whose call is not recorded was
 * launched right after the one before it at the earliest; the first ones of a stream before all
 * that is recorded.
 */
static void find_unlaunched(st_order *order)
{
    const st_trace *trace = order->trace;
    size_t count = 0;
    order->unlaunched =
        st_xalloc(order->arena, order->unlaunched_count + 1, sizeof *order->unlaunched);
    for (uint32_t i = 0; i < trace->event_count && order->unlaunched_count > 0; i++)
        if (st_trace_is_gpu(&trace->events[i]) && order->call_of[i] == ST_TRACE_NONE)
            order->unlaunched[count++].event = i;
    for (size_t t = 0; t < trace->track_count && count > 0; t++) {
        int64_t launch_ns = order->start_ns - 1;
        for (uint32_t i = order->by_start.starts[t]; i < order->by_start.starts[t + 1]; i++) {
            uint32_t task = order->by_start.items[i];
            size_t low = 0;
            if (order->call_of[task] == ST_TRACE_NONE) {
                ST_BISECT(low, count, order->unlaunched[middle].event < task);
                order->unlaunched[low].launch_ns = launch_ns;
            } else if (st_order_launch_ns(order, task) > launch_ns) {
                launch_ns = st_order_launch_ns(order, task);
            }
        }
    }
}

/* Whether streams begin their tasks in the order of their launches, as they should. */
static bool starts_as_launched(const st_order *order)
{
    for (size_t t = 0; t < order->trace->track_count; t++)
        for (uint32_t i = order->by_start.starts[t] + 1; i < order->by_start.starts[t + 1]; i++)
            if (st_order_launch_ns(order, order->by_start.items[i]) <
                st_order_launch_ns(order, order->by_start.items[i - 1]))
                return false;
    return true;
}

static void sort_by_launch(st_order *order)
{
    st_launch *keys = st_xmalloc((order->gpu_count + 1) * sizeof *keys);
    order->by_launch.items =
        st_xalloc(order->arena, order->gpu_count + 1, sizeof *order->by_launch.items);
    for (size_t t = 0; t < order->trace->track_count; t++) {
        uint32_t first = order->by_start.starts[t];
        uint32_t end = order->by_start.starts[t + 1];
        for (uint32_t i = first; i < end; i++)
            keys[i - first] = (st_launch){st_order_launch_ns(order, order->by_start.items[i]),
                                          order->by_start.items[i]};
        qsort(keys, end - first, sizeof *keys, st_launch_compare);
        for (uint32_t i = first; i < end; i++)
            order->by_launch.items[i] = keys[i - first].event;
    }
    free(keys);
}

void st_order_make(const st_trace *trace, st_arena *arena, st_order *order)
{
    *order = (st_order){.trace = trace, .arena = arena};
    st_links_make(trace, ST_TRACE_CALL, &order->calls);
    st_links_make(trace, ST_TRACE_SYNC, &order->syncs);
    order->call_of = st_xalloc(arena, trace->event_count + 1, sizeof *order->call_of);
    bool any = false;
    for (uint32_t i = 0; i < trace->event_count; i++) {
        const st_trace_event *event = &trace->events[i];
        order->call_of[i] = ST_TRACE_NONE;
        if (event->kind == ST_TRACE_CALL)
            find_window(order, event, &any);
        if (!st_trace_is_gpu(event))
            continue;
        find_window(order, event, &any);
        uint32_t call = st_links_call(&order->calls, event);
        order->call_of[i] = call;
        order->unlaunched_count += call == ST_TRACE_NONE;
        order->gpu_count++;
    }
    st_lists_make(&order->by_start, trace->track_count, trace->event_count, stream_of, order,
                  arena);
    find_unlaunched(order);
    order->of_calls = st_xarena();
    st_lists_make(&order->thread_calls, trace->track_count, trace->event_count, thread_of, order,
                  order->of_calls);
    st_lists_make(&order->call_tasks, trace->event_count, trace->event_count, launch_of, order,
                  order->of_calls);
    order->by_launch = order->by_start;
    if (!starts_as_launched(order))
        sort_by_launch(order);
}

void st_order_judge(const st_order *order, st_errors *errors)
{
    if (st_trace_lacks_calls(order->unlaunched_count, order->gpu_count))
        st_report(errors, ST_SEVERITY_WARNING, ST_ERR_VALUE, (st_place){.file = order->trace->file},
                  "calls are missing for %zu of %zu GPU tasks: what these wait for on the host is "
                  "unknown" ST_HINT "record the host, too, as by ProfilerActivity.CPU, nsys "
                  "--trace=cuda or rocprofv3 --hip-trace",
                  order->unlaunched_count, order->gpu_count);
}

void st_order_free(st_order *order)
{
    st_links_free(&order->calls);
    st_links_free(&order->syncs);
    st_arena_destroy(order->of_calls);
    order->of_calls = NULL;
}

/* How many tasks of a stream were launched before a time. */
static uint32_t launched_before(const st_order *order, uint32_t track, int64_t before_ns)
{
    size_t low = order->by_launch.starts[track];
    ST_BISECT(low, order->by_launch.starts[track + 1],
              st_order_launch_ns(order, order->by_launch.items[middle]) < before_ns);
    return (uint32_t)low;
}

uint32_t st_order_last(const st_order *order, uint32_t track, int64_t before_ns)
{
    uint32_t next = launched_before(order, track, before_ns);
    return next > order->by_launch.starts[track] ? order->by_launch.items[next - 1] : ST_TRACE_NONE;
}

uint32_t st_order_next(const st_order *order, uint32_t track, int64_t from_ns)
{
    uint32_t next = launched_before(order, track, from_ns);
    return next < order->by_launch.starts[track + 1] ? order->by_launch.items[next] : ST_TRACE_NONE;
}

uint32_t st_order_begun(const st_order *order, uint32_t track, int64_t before_ns)
{
    size_t low = order->by_start.starts[track];
    ST_BISECT(low, order->by_start.starts[track + 1],
              order->trace->events[order->by_start.items[middle]].start_ns < before_ns);
    return (uint32_t)low;
}

int64_t st_order_over_ns(const st_order *order, int64_t before_ns)
{
    int64_t over_ns = INT64_MIN;
    for (uint32_t t = 0; t < order->trace->track_count; t++) {
        uint32_t task = st_order_last(order, t, before_ns);
        if (task == ST_TRACE_NONE)
            continue;
        int64_t end_ns = st_trace_end_ns(&order->trace->events[task]);
        over_ns = end_ns > over_ns ? end_ns : over_ns;
    }
    return over_ns;
}

/* A call returns, and a task begins, no sooner than this after what it waits for. */
static const int64_t LEAST_NS = 4000;
/* Clocks are not further apart; a call that returns later was waiting for something else. */
static const int64_t MOST_NS = 100000;

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
    /* The shortest time from a launch to the start of its task. */
    const st_trace_event *events = order->trace->events;
    int64_t lag_ns = INT64_MAX;
    for (uint32_t i = 0; i < order->trace->event_count; i++) {
        if (order->call_of[i] == ST_TRACE_NONE)
            continue;
        int64_t one_ns = events[i].start_ns - st_order_launch_ns(order, i);
        lag_ns = one_ns < lag_ns ? one_ns : lag_ns;
    }
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

static void move_tasks(st_trace_event *events, size_t count, int64_t earlier_ns)
{
    for (size_t i = 0; i < count; i++)
        events[i].start_ns -= st_trace_is_gpu(&events[i]) ? earlier_ns : 0;
}

void st_gpu_clock_order(const st_trace *trace, st_arena *arena, st_order *order, int64_t *late_ns)
{
    st_order_make(trace, arena, order);
    *late_ns = find_late_ns(order);
    if (*late_ns == 0)
        return;
    st_trace *copy = st_xalloc(arena, 1, sizeof *copy);
    st_trace_event *events = st_xalloc(arena, trace->event_count + 1, sizeof *events);
    *copy = *trace;
    memcpy(events, trace->events, trace->event_count * sizeof *events);
    move_tasks(events, trace->event_count, *late_ns);
    copy->events = events;
    st_order_free(order);
    st_order_make(copy, arena, order);
}

void st_gpu_clock_mend(st_trace *trace)
{
    st_arena *arena = st_xarena();
    st_order order;
    st_order_make(trace, arena, &order);
    move_tasks(trace->events, trace->event_count, find_late_ns(&order));
    st_order_free(&order);
    st_arena_destroy(arena);
}
