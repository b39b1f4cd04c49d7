/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See depend.h. The profiler's records of waiting (cuda_sync) are believed. Without them a call
 * that makes a stream wait tells neither which stream nor for what; then it is read as frameworks
 * write it: wait, then launch on the stream that waits; and what it waits for is what the thread
 * launched before it recorded the event, or the last launch on another stream.
 */
#include "trace/depend.h"

#include <string.h>

enum { MOST_PENDING = 16, MOST_STREAMS = 64 };

/* Clocks of host and GPU agree to this much. */
static const int64_t TOLERANCE_NS = 50000;

typedef struct pending_wait {
    int64_t at_ns;
    uint32_t producer; /* from the record of the event, or ST_TRACE_NONE */
} pending_wait;

typedef struct thread_state {
    uint32_t last_task; /* that the thread launched */
    uint32_t recorded;  /* what stood before the last event that it recorded; one wait uses it up */
    pending_wait waits[MOST_PENDING];
    size_t wait_count;
} thread_state;

typedef struct finder {
    const st_order *order;
    const st_trace *trace;
    st_arena *arena;
    st_dependencies *found;
    uint32_t streams[MOST_STREAMS]; /* tracks that ran something */
    size_t stream_count;
} finder;

static st_status add(finder *f, uint32_t before, uint32_t after, st_dependency_kind kind)
{
    return st_depend_add(f->arena, &(st_dependency){before, after, kind, 0}, f->found);
}

static void find_streams(finder *f)
{
    for (uint32_t t = 0; t < f->trace->track_count && f->stream_count < MOST_STREAMS; t++)
        if (f->order->by_start.starts[t + 1] > f->order->by_start.starts[t])
            f->streams[f->stream_count++] = t;
}

static uint32_t stream_track(const finder *f, int64_t stream)
{
    for (size_t i = 0; stream >= 0 && i < f->stream_count; i++) {
        const st_trace_track *track = &f->trace->tracks[f->streams[i]];
        if (track->number == stream && !track->is_text)
            return f->streams[i];
    }
    return ST_TRACE_NONE;
}

static int64_t task_end(const finder *f, uint32_t task)
{
    return st_trace_end_ns(&f->trace->events[task]);
}

/* The task before a recorded event: the last on the stream that was launched before the record. */
static uint32_t recorded_task(const finder *f, const st_trace_wait *wait)
{
    uint32_t record = st_links_find(&f->order->calls, wait->record_correlation, INT64_MAX);
    uint32_t track = stream_track(f, wait->on_stream);
    if (record == ST_TRACE_NONE || track == ST_TRACE_NONE)
        return ST_TRACE_NONE;
    return st_order_last(f->order, track, f->trace->events[record].start_ns);
}

/* The profiler's record of a call's waiting, NULL without one. */
static const st_trace_wait *wait_record(const finder *f, const st_trace_event *call)
{
    uint32_t sync = st_links_find(&f->order->syncs, call->correlation, INT64_MAX);
    return sync == ST_TRACE_NONE ? NULL : &f->trace->waits[f->trace->events[sync].detail];
}

/* --- a stream for another --------------------------------------------------------------------- */

/* True where the record settles the wait, even if nothing has to be added. */
static st_status add_exact(finder *f, const st_trace_event *call, bool *settled)
{
    st_trace_edges *edges = &f->found->edges[ST_TRACE_EDGE_STREAMS];
    const st_trace_wait *wait = wait_record(f, call);
    *settled = wait != NULL && wait->record_correlation >= 0 && wait->stream >= 0;
    if (!*settled)
        return ST_OK;
    uint32_t track = stream_track(f, wait->stream);
    uint32_t producer = recorded_task(f, wait);
    if (track == ST_TRACE_NONE || producer == ST_TRACE_NONE)
        return ST_OK;
    uint32_t consumer = st_order_next(f->order, track, call->start_ns);
    if (consumer == ST_TRACE_NONE || f->trace->events[producer].track == track)
        return ST_OK;
    if (f->order->launch_ns[producer] >= f->order->launch_ns[consumer]) {
        edges->contradicted++;
        return ST_OK;
    }
    edges->exact++;
    return add(f, producer, consumer, ST_DEPEND_STREAM);
}

/* The last launch before a time on another stream than `track`; with `ends_by_ns`, the task that
 * ends last of those that end by then. */
static uint32_t other_stream(const finder *f, uint32_t track, int64_t before_ns,
                             const int64_t *ends_by_ns)
{
    uint32_t best = ST_TRACE_NONE;
    for (size_t i = 0; i < f->stream_count; i++) {
        uint32_t task = f->streams[i] == track ? ST_TRACE_NONE
                                               : st_order_last(f->order, f->streams[i], before_ns);
        if (task == ST_TRACE_NONE || (ends_by_ns != NULL && task_end(f, task) > *ends_by_ns))
            continue;
        if (best == ST_TRACE_NONE ||
            (ends_by_ns != NULL ? task_end(f, task) > task_end(f, best)
                                : f->order->launch_ns[task] > f->order->launch_ns[best]))
            best = task;
    }
    return best;
}

static st_status add_inferred(finder *f, const pending_wait *wait, uint32_t consumer)
{
    st_trace_edges *edges = &f->found->edges[ST_TRACE_EDGE_STREAMS];
    const st_trace_event *task = &f->trace->events[consumer];
    uint32_t producer = wait->producer;
    if (producer == ST_TRACE_NONE || f->trace->events[producer].track == task->track)
        producer = other_stream(f, task->track, wait->at_ns, NULL);
    if (producer == ST_TRACE_NONE)
        return ST_OK;
    if (task_end(f, producer) > task->start_ns) {
        edges->contradicted++;
        producer = other_stream(f, task->track, wait->at_ns, &task->start_ns);
    }
    if (producer == ST_TRACE_NONE)
        return ST_OK;
    edges->inferred++;
    return add(f, producer, consumer, ST_DEPEND_STREAM);
}

/* A launch is what the waits before it waited for. */
static st_status settle_waits(finder *f, thread_state *thread, uint32_t consumer)
{
    st_status status = ST_OK;
    for (size_t i = 0; i < thread->wait_count && status == ST_OK; i++)
        status = add_inferred(f, &thread->waits[i], consumer);
    thread->wait_count = 0;
    return status;
}

static st_status see_wait(finder *f, thread_state *thread, const st_trace_event *call)
{
    bool settled = false;
    st_status status = add_exact(f, call, &settled);
    if (status != ST_OK || settled || thread->wait_count == MOST_PENDING)
        return status;
    thread->waits[thread->wait_count++] = (pending_wait){call->start_ns, thread->recorded};
    thread->recorded = ST_TRACE_NONE;
    return ST_OK;
}

/* --- the host for a stream ---------------------------------------------------------------------
 */

static st_status add_sync(finder *f, uint32_t task, uint32_t call, bool exact)
{
    st_trace_edges *edges = &f->found->edges[ST_TRACE_EDGE_SYNC];
    if (task == ST_TRACE_NONE)
        return ST_OK;
    if (task_end(f, task) > st_trace_end_ns(&f->trace->events[call]) + TOLERANCE_NS) {
        edges->contradicted++;
        return ST_OK;
    }
    edges->exact += exact;
    edges->inferred += !exact;
    return add(f, task, call, ST_DEPEND_SYNC);
}

static st_status see_device_sync(finder *f, uint32_t call)
{
    st_status status = ST_OK;
    int64_t at_ns = f->trace->events[call].start_ns;
    for (size_t i = 0; i < f->stream_count && status == ST_OK; i++)
        status = add_sync(f, st_order_last(f->order, f->streams[i], at_ns), call, true);
    return status;
}

/* Which stream or event is waited for, where no record says so: what ends last inside of the call,
 * or else what the thread launched last. */
static uint32_t guess_sync(const finder *f, const thread_state *thread, uint32_t call)
{
    const st_trace_event *event = &f->trace->events[call];
    uint32_t best = ST_TRACE_NONE;
    for (size_t i = 0; i < f->stream_count; i++) {
        uint32_t task = st_order_last(f->order, f->streams[i], event->start_ns);
        if (task == ST_TRACE_NONE || task_end(f, task) <= event->start_ns ||
            task_end(f, task) > st_trace_end_ns(event))
            continue;
        if (best == ST_TRACE_NONE || task_end(f, task) > task_end(f, best))
            best = task;
    }
    if (best != ST_TRACE_NONE || thread->last_task == ST_TRACE_NONE)
        return best;
    return task_end(f, thread->last_task) <= event->start_ns ? thread->last_task : ST_TRACE_NONE;
}

static st_status see_sync(finder *f, const thread_state *thread, uint32_t call)
{
    const st_trace_event *event = &f->trace->events[call];
    const st_trace_wait *wait = wait_record(f, event);
    uint32_t track = wait != NULL ? stream_track(f, wait->stream) : ST_TRACE_NONE;
    if (event->class_ == ST_CALL_SYNC_DEVICE)
        return see_device_sync(f, call);
    if (event->class_ == ST_CALL_SYNC_STREAM && track != ST_TRACE_NONE)
        return add_sync(f, st_order_last(f->order, track, event->start_ns), call, true);
    if (event->class_ == ST_CALL_SYNC_EVENT && wait != NULL && wait->record_correlation >= 0)
        return add_sync(f, recorded_task(f, wait), call, true);
    return add_sync(f, guess_sync(f, thread, call), call, false);
}

/* A copy that blocks the host: its call returns when the copy is done. */
static bool blocks(const finder *f, const st_trace_event *call, uint32_t task)
{
    const st_trace_event *copy = &f->trace->events[task];
    const char *name = f->trace->names[call->name];
    return copy->kind == ST_TRACE_MEMCPY && copy->start_ns >= call->start_ns &&
           st_trace_end_ns(copy) <= st_trace_end_ns(call) && strstr(name, "emcpy") != NULL;
}

/* --- all calls ----------------------------------------------------------------------------------
 */

static st_status see_launch(finder *f, thread_state *thread, uint32_t call)
{
    const st_lists *tasks = &f->order->call_tasks;
    uint32_t first = tasks->starts[call];
    uint32_t end = tasks->starts[call + 1];
    if (first == end)
        return ST_OK;
    st_status status = settle_waits(f, thread, tasks->items[first]);
    thread->last_task = tasks->items[end - 1];
    if (status == ST_OK && end - first == 1 &&
        blocks(f, &f->trace->events[call], tasks->items[first]))
        status = add_sync(f, tasks->items[first], call, true);
    return status;
}

static st_status see_call(finder *f, thread_state *thread, uint32_t call)
{
    const st_trace_event *event = &f->trace->events[call];
    switch ((st_trace_call)event->class_) {
    case ST_CALL_RECORD:
        thread->recorded = thread->last_task;
        return ST_OK;
    case ST_CALL_WAIT:
        return see_wait(f, thread, event);
    case ST_CALL_SYNC_STREAM:
    case ST_CALL_SYNC_EVENT:
    case ST_CALL_SYNC_DEVICE:
        return see_sync(f, thread, call);
    default:
        return see_launch(f, thread, call);
    }
}

static st_status see_thread(finder *f, uint32_t track)
{
    const st_lists *calls = &f->order->thread_calls;
    thread_state thread = {.last_task = ST_TRACE_NONE, .recorded = ST_TRACE_NONE};
    st_status status = ST_OK;
    uint32_t count = calls->starts[track + 1] - calls->starts[track];
    if (count > 0)
        f->found->edges[ST_TRACE_EDGE_THREAD].exact += count - 1;
    for (uint32_t i = 0; i < count && status == ST_OK; i++)
        status = see_call(f, &thread, calls->items[calls->starts[track] + i]);
    return status;
}

static void count_certain(finder *f)
{
    const st_order *order = f->order;
    st_trace_edges *edges = f->found->edges;
    for (size_t i = 0; i < f->stream_count; i++) {
        uint32_t track = f->streams[i];
        edges[ST_TRACE_EDGE_STREAM].exact +=
            order->by_start.starts[track + 1] - order->by_start.starts[track] - 1;
    }
    for (size_t i = 0; i < f->trace->event_count; i++)
        edges[ST_TRACE_EDGE_LAUNCH].exact += order->call_of[i] != ST_TRACE_NONE;
}

st_status st_depend_find(const st_order *order, st_arena *arena, st_dependencies *dependencies)
{
    *dependencies = (st_dependencies){0};
    finder f = {.order = order, .trace = order->trace, .arena = arena, .found = dependencies};
    find_streams(&f);
    count_certain(&f);
    st_status status = ST_OK;
    for (uint32_t t = 0; t < f.trace->track_count && status == ST_OK; t++)
        status = see_thread(&f, t);
    if (status == ST_OK)
        status = st_depend_graphs(order, arena, dependencies);
    if (status == ST_OK)
        status = st_depend_pauses(order, arena, dependencies);
    return status == ST_OK ? st_depend_threads(order, arena, dependencies) : status;
}
