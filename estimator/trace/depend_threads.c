/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that wait for each other: a thread that pauses and goes on right after another one has
 * done something (the backward thread after the one that calls it, and the other way round).
 */
#include "trace/depend.h"

enum { MOST_THREADS = 64 };

static const int64_t PAUSE_NS = 100000;   /* shorter ones are Python between two operators */
static const int64_t WAKE_UP_NS = 100000; /* a thread that goes on later was not waiting for this */

/* What a thread did last, as the sweep over all events goes on. */
typedef struct activity {
    uint32_t track;
    uint32_t event; /* that reaches furthest */
    int64_t reach_ns;
} activity;

typedef struct sweep {
    const st_trace *trace;
    st_arena *arena;
    st_dependencies *found;
    activity threads[MOST_THREADS];
    size_t count;
} sweep;

static activity *find_thread(sweep *s, uint32_t track)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->threads[i].track == track)
            return &s->threads[i];
    if (s->count == MOST_THREADS)
        return NULL;
    s->threads[s->count] = (activity){.track = track, .event = ST_TRACE_NONE};
    return &s->threads[s->count++];
}

/* The last thing that another thread of the process finished inside of the pause. */
static uint32_t find_waker(const sweep *s, const activity *paused, int64_t at_ns)
{
    uint32_t best = ST_TRACE_NONE;
    int64_t best_ns = at_ns - WAKE_UP_NS > paused->reach_ns ? at_ns - WAKE_UP_NS : paused->reach_ns;
    int64_t process = s->trace->tracks[paused->track].process;
    for (size_t i = 0; i < s->count; i++) {
        const activity *other = &s->threads[i];
        if (other->track == paused->track || other->event == ST_TRACE_NONE ||
            s->trace->tracks[other->track].process != process)
            continue;
        if (other->reach_ns > best_ns && other->reach_ns <= at_ns) {
            best = other->event;
            best_ns = other->reach_ns;
        }
    }
    return best;
}

static st_status see_event(sweep *s, uint32_t index)
{
    const st_trace_event *event = &s->trace->events[index];
    activity *thread = find_thread(s, event->track);
    st_status status = ST_OK;
    if (thread == NULL)
        return ST_OK;
    if (thread->event != ST_TRACE_NONE && event->start_ns - thread->reach_ns > PAUSE_NS) {
        uint32_t waker = find_waker(s, thread, event->start_ns);
        if (waker != ST_TRACE_NONE) {
            s->found->edges[ST_TRACE_EDGE_THREAD].inferred++;
            status = st_depend_add(
                s->arena, &(st_dependency){waker, index, ST_DEPEND_THREAD, thread->reach_ns},
                s->found);
        }
    }
    if (thread->event == ST_TRACE_NONE || st_trace_end_ns(event) >= thread->reach_ns) {
        thread->event = index;
        thread->reach_ns = st_trace_end_ns(event);
    }
    return status;
}

st_status st_depend_threads(const st_order *order, st_arena *arena, st_dependencies *dependencies)
{
    sweep s = {.trace = order->trace, .arena = arena, .found = dependencies};
    st_status status = ST_OK;
    for (uint32_t i = 0; i < order->trace->event_count && status == ST_OK; i++) {
        uint8_t kind = order->trace->events[i].kind;
        if (kind == ST_TRACE_CALL || kind == ST_TRACE_OPERATOR)
            status = see_event(&s, i);
    }
    return status;
}
