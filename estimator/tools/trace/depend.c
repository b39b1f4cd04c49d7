/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See depend.h. The profiler's records of waiting (cuda_sync) are believed. Without them a call
 * that makes a stream wait states neither which stream nor for what; then it is read as frameworks
 * write it: wait, then launch on the stream that waits; and what it waits for is what the thread
 * launched before it recorded the event, or the last launch on another stream.
 */
#include "trace/depend.h"

#include "trace/store.h"
#include "trace/xalloc.h"

#include <stdlib.h>
#include <string.h>

static void add_dependency(st_arena *arena, const st_dependency *item,
                           st_dependencies *dependencies)
{
    ST_XAPPEND(arena, dependencies->items, dependencies->count, *item);
}

/*
 * Tasks that one call launches, as those of a CUDA graph. Between them the host has no say, and the
 * profiler records no edges of the graph: a task is taken to follow what of its graph ended
 * last before it began, on whichever stream that was. Tasks that ran at the same time stay free.
 */

enum { MOST_STREAMS = 64 };

/* What of a graph has ended on one stream, as the sweep over its starts goes on. */
typedef struct branch {
    uint32_t track;
    uint32_t next; /* the first of the graph_launch, by start, that has not been looked at */
    uint32_t last; /* that ended last of those that ended, or ST_TRACE_NONE */
} branch;

typedef struct graph_launch {
    const st_order *order;
    uint32_t first; /* in the list of tasks */
    uint32_t end;
    branch branches[MOST_STREAMS];
    size_t branch_count;
} graph_launch;

static const st_trace_event *event_of(const graph_launch *l, uint32_t task)
{
    return &l->order->trace->events[task];
}

static void see_graph(graph_launch *l, st_arena *arena, st_dependencies *found)
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
        /* What of the graph_launch ended last before the task at `place` began, of its own stream
         * if in doubt; only what precedes it, so that tasks of no length do not wait for each
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
        add_dependency(arena,
                       &(st_dependency){.before = before, .after = task, .kind = ST_DEPEND_STREAM},
                       found);
    }
}

/*
 * Streams that wait for each other though nothing in the calls says so: CUDA graphs, and calls that
 * a profiler of that time did not know, or that came before the recording. A stream that pauses and
 * goes on right after another one has finished something was waiting for it. Where the profiler has
 * recorded what streams wait for, only graphs and what was launched before the recording are looked
 * at.
 */

static const int64_t STREAM_PAUSE_NS = 20000; /* shorter ones are launches and queues */
static const int64_t STREAM_WAKE_UP_NS =
    12000; /* a task that begins later was not waiting for this */

typedef struct pauses {
    const st_order *order;
    const st_trace *trace;
    st_arena *arena;
    st_dependencies *found;
    int64_t *ready_ns; /* by event: when all that is known was over */
    st_launch *ends;   /* NULL until they are asked for */
} pauses;

/* Launched with others by one call, as a graph is. */
static bool is_of_graph(const pauses *p, uint32_t task)
{
    uint32_t call = p->order->call_of[task];
    const uint32_t *starts = p->order->call_tasks.starts;
    return call != ST_TRACE_NONE && starts[call + 1] - starts[call] > 1;
}

/* GPU tasks by their ends: few end right before another begins, however many streams there are. */
static void list_ends(pauses *p)
{
    size_t count = 0;
    p->ends = st_xmalloc((p->order->gpu_count + 1) * sizeof *p->ends);
    for (uint32_t i = 0; i < p->trace->event_count; i++)
        if (st_trace_is_gpu(&p->trace->events[i]))
            p->ends[count++] = (st_launch){st_trace_end_ns(&p->trace->events[i]), i};
    st_sort(p->ends, count, sizeof *p->ends, st_launch_compare);
}

/* Whether nothing of a task's stream began after it and before a time. */
static bool is_last_begun(const pauses *p, uint32_t task, int64_t before_ns)
{
    uint32_t track = p->trace->events[task].track;
    uint32_t place = st_order_begun(p->order, track, before_ns);
    return place > p->order->by_start.starts[track] && p->order->by_start.items[place - 1] == task;
}

/* What ended last before a task on any other stream, right before it; of several the one of the
 * first stream. */
static uint32_t find_stream_waker(pauses *p, uint32_t task)
{
    const st_trace_event *events = p->trace->events;
    const st_trace_event *event = &events[task];
    int64_t best_ns = event->start_ns - STREAM_WAKE_UP_NS;
    uint32_t best = ST_TRACE_NONE;
    size_t end = 0;
    best_ns = best_ns > p->ready_ns[task] ? best_ns : p->ready_ns[task];
    if (p->ends == NULL)
        list_ends(p);
    ST_BISECT(end, p->order->gpu_count, p->ends[middle].launch_ns <= event->start_ns);
    for (; end > 0 && p->ends[end - 1].launch_ns > best_ns; end--) {
        uint32_t other = p->ends[end - 1].event;
        if (best != ST_TRACE_NONE && p->ends[end - 1].launch_ns < st_trace_end_ns(&events[best]))
            break;
        if (events[other].track == event->track || !is_last_begun(p, other, event->start_ns))
            continue;
        /* Of tasks without a launch nobody knows which was launched first. */
        int64_t apart_ns = st_order_launch_ns(p->order, task) - st_order_launch_ns(p->order, other);
        if (apart_ns <= 0 && (apart_ns != 0 || p->order->call_of[task] != ST_TRACE_NONE))
            continue;
        if (best == ST_TRACE_NONE || events[other].track < events[best].track)
            best = other;
    }
    return best;
}

/* Pauses of streams that nothing found so far explains; called by st_depend_find. */
static void depend_pauses(const st_order *order, st_arena *arena, st_dependencies *dependencies)
{
    pauses p = {.order = order, .trace = order->trace, .arena = arena, .found = dependencies};
    p.ready_ns = st_xmalloc((p.trace->event_count + 1) * sizeof *p.ready_ns);
    for (uint32_t i = 0; i < p.trace->event_count; i++)
        if (st_trace_is_gpu(&p.trace->events[i]))
            p.ready_ns[i] = st_order_launch_ns(order, i);
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
                p.trace->events[task].start_ns - *ready_ns > STREAM_PAUSE_NS)
                waker = find_stream_waker(&p, task);
            if (waker != ST_TRACE_NONE) {
                p.found->edges[ST_TRACE_EDGE_STREAMS].inferred++;
                add_dependency(
                    p.arena,
                    &(st_dependency){.before = waker, .after = task, .kind = ST_DEPEND_STREAM},
                    p.found);
            }
            int64_t end_ns = st_trace_end_ns(&p.trace->events[task]);
            reach_ns = end_ns > reach_ns ? end_ns : reach_ns;
        }
    }
    free(p.ready_ns);
    free(p.ends);
}

/*
 * Threads that pause and go on: because another thread has done its part (the backward thread after
 * the one that calls it, and the other way round), or because the GPU has, by a wait that the
 * profiler does not record.
 *
 * Two threads hand over to each other where one is active within a pause of the other and idle when
 * that pause begins and ends. How long the one that is woken takes does not matter then; else only
 * what another thread finished right before counts.
 */

enum { MOST_THREADS = 64 };

static const int64_t PAUSE_NS = 100000;   /* shorter ones are Python between two operators */
static const int64_t WAKE_UP_NS = 100000; /* a thread that goes on later was not waiting for this */
static const int64_t HAND_OVER_NS = 5000000; /* the same of threads that hand over to each other */
static const int64_t GPU_WAKE_UP_NS = 83000; /* the same after the GPU */

/* Activity of a thread without a pause. */
typedef struct burst {
    uint32_t first; /* event */
    uint32_t last;  /* that reaches furthest */
    int64_t start_ns;
    int64_t end_ns;
} burst;

typedef struct host_thread {
    uint32_t track;
    burst *bursts;
    size_t count;
    bool acts;  /* it launches */
    bool works; /* it does more than to ask whether something is over, as watchdogs do */
} host_thread;

typedef struct thread_finder {
    const st_order *order;
    const st_trace *trace;
    st_arena *arena;
    st_dependencies *found;
    host_thread threads[MOST_THREADS];
    size_t count;
} thread_finder;

/* --- bursts ------------------------------------------------------------------------------------
 */

static host_thread *find_thread(thread_finder *f, uint32_t track)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->threads[i].track == track)
            return &f->threads[i];
    if (f->count == MOST_THREADS)
        return NULL;
    f->threads[f->count] = (host_thread){.track = track};
    return &f->threads[f->count++];
}

/* The last burst of a thread that begins by a time, NULL without one. */
static const burst *burst_by(const host_thread *t, int64_t time_ns)
{
    size_t low = 0;
    ST_BISECT(low, t->count, t->bursts[middle].start_ns <= time_ns);
    return low > 0 ? &t->bursts[low - 1] : NULL;
}

/* A step of the profiler ends when its thread has come there, whatever it did before. */
static void add_step_ends(thread_finder *f)
{
    for (uint32_t i = 0; i < f->trace->event_count; i++) {
        const st_trace_event *event = &f->trace->events[i];
        host_thread *t = event->kind == ST_TRACE_STEP ? find_thread(f, event->track) : NULL;
        if (t == NULL)
            continue;
        int64_t end_ns = st_trace_end_ns(event);
        const burst *last = burst_by(t, end_ns);
        size_t at = last == NULL ? 0 : (size_t)(last - t->bursts) + 1;
        burst step = {i, i, end_ns, end_ns};
        if (last != NULL && end_ns - last->end_ns <= PAUSE_NS)
            continue;
        ST_XAPPEND(f->arena, t->bursts, t->count, step);
        memmove(t->bursts + at + 1, t->bursts + at, (t->count - 1 - at) * sizeof *t->bursts);
        t->bursts[at] = step;
    }
}

/* --- who ends a pause --------------------------------------------------------------------------
 */

typedef struct pause {
    const host_thread *thread;
    const burst *next; /* after it */
    int64_t from_ns;
    bool is_first; /* before all that the thread did */
} pause;

static bool is_idle(const host_thread *t, int64_t time_ns)
{
    const burst *last = burst_by(t, time_ns);
    return last == NULL || last->end_ns <= time_ns;
}

/* What hands over to the thread: active in the pause, idle at its ends. */
static const burst *find_partner(const thread_finder *f, const pause *p)
{
    const burst *best = NULL;
    int64_t process = f->trace->tracks[p->thread->track].process;
    for (size_t i = 0; i < f->count; i++) {
        const host_thread *other = &f->threads[i];
        const burst *last = burst_by(other, p->next->start_ns);
        if (other == p->thread || !other->acts || last == NULL ||
            f->trace->tracks[other->track].process != process)
            continue;
        int64_t late_ns = p->next->start_ns - last->end_ns;
        if (late_ns < 0 || late_ns > HAND_OVER_NS || last->end_ns <= p->from_ns ||
            (!p->is_first && !is_idle(other, p->from_ns)))
            continue;
        if (best == NULL || last->end_ns > best->end_ns)
            best = last;
    }
    return best;
}

/* What any other thread of the process finished last, right before the pause ended. */
static uint32_t find_waker(const thread_finder *f, const pause *p)
{
    uint32_t best = ST_TRACE_NONE;
    int64_t at_ns = p->next->start_ns;
    int64_t best_ns = at_ns - WAKE_UP_NS > p->from_ns ? at_ns - WAKE_UP_NS : p->from_ns;
    int64_t process = f->trace->tracks[p->thread->track].process;
    for (uint32_t i = p->next->first; i-- > 0;) {
        const st_trace_event *event = &f->trace->events[i];
        if (event->start_ns < p->from_ns)
            break;
        int64_t end_ns = st_trace_end_ns(event);
        bool asks = event->kind == ST_TRACE_CALL && event->class_ == ST_CALL_QUERY;
        if ((event->kind == ST_TRACE_CALL || event->kind == ST_TRACE_OPERATOR) && !asks &&
            event->track != p->thread->track && f->trace->tracks[event->track].process == process &&
            end_ns > best_ns && end_ns <= at_ns) {
            best = i;
            best_ns = end_ns;
        }
    }
    return best;
}

static void see_pause(thread_finder *f, const pause *p)
{
    st_dependency one = {.after = p->next->first,
                         .kind = ST_DEPEND_THREAD,
                         .from_ns = p->from_ns,
                         .to_ns = p->next->start_ns};
    const burst *partner = find_partner(f, p);
    one.before = partner != NULL ? partner->last : ST_TRACE_NONE;
    if (partner == NULL && p->thread->acts && !p->is_first) {
        /* The last task of any stream that was launched before the pause and ended right before
         * its end. */
        uint32_t best = ST_TRACE_NONE;
        int64_t best_ns = p->next->start_ns - GPU_WAKE_UP_NS;
        for (uint32_t t = 0; t < f->trace->track_count; t++) {
            uint32_t task = st_order_last(f->order, t, p->from_ns);
            if (task == ST_TRACE_NONE)
                continue;
            int64_t end_ns = st_trace_end_ns(&f->trace->events[task]);
            if (end_ns > best_ns && end_ns > p->from_ns && end_ns <= p->next->start_ns) {
                best = task;
                best_ns = end_ns;
            }
        }
        one.before = best;
        one.kind = one.before != ST_TRACE_NONE ? ST_DEPEND_SYNC : one.kind;
    }
    if (one.before == ST_TRACE_NONE && !p->is_first)
        one.before = find_waker(f, p);
    if (one.before == ST_TRACE_NONE)
        return;
    f->found->edges[one.kind == ST_DEPEND_SYNC ? ST_TRACE_EDGE_SYNC : ST_TRACE_EDGE_THREAD]
        .inferred++;
    add_dependency(f->arena, &one, f->found);
}

/* Pauses of threads; called by st_depend_find. */
static void depend_threads(const st_order *order, st_arena *arena, st_dependencies *dependencies)
{
    thread_finder *f = st_xalloc(arena, 1, sizeof *f);
    *f = (thread_finder){
        .order = order, .trace = order->trace, .arena = arena, .found = dependencies};
    for (uint32_t i = 0; i < f->trace->event_count; i++) {
        uint8_t kind = f->trace->events[i].kind;
        if (kind == ST_TRACE_CALL || kind == ST_TRACE_OPERATOR) {
            const st_trace_event *event = &f->trace->events[i];
            host_thread *t = find_thread(f, event->track);
            if (t == NULL)
                continue;
            const uint32_t *tasks = f->order->call_tasks.starts;
            t->acts = t->acts || tasks[i + 1] > tasks[i];
            t->works = t->works || event->kind != ST_TRACE_CALL || event->class_ != ST_CALL_QUERY;
            int64_t end_ns = st_trace_end_ns(event);
            burst *last = t->count > 0 ? &t->bursts[t->count - 1] : NULL;
            if (last == NULL || event->start_ns - last->end_ns > PAUSE_NS) {
                burst next = {i, i, event->start_ns, end_ns};
                ST_XAPPEND(f->arena, t->bursts, t->count, next);
            } else if (end_ns >= last->end_ns) {
                last->last = i;
                last->end_ns = end_ns;
            }
        }
    }
    add_step_ends(f);
    for (size_t i = 0; i < f->count; i++) {
        const host_thread *t = &f->threads[i];
        for (size_t k = 0; t->works && k < t->count; k++) {
            pause p = {.thread = t,
                       .next = &t->bursts[k],
                       .from_ns = k > 0 ? t->bursts[k - 1].end_ns : order->start_ns,
                       .is_first = k == 0};
            if (p.next->start_ns - p.from_ns > PAUSE_NS)
                see_pause(f, &p);
        }
    }
}

/* --- operators that no burst begins or ends with ------------------------------------------------
 */

/* A thread's burst, and what of it is kept. */
typedef struct kept_thread {
    int64_t end_ns;      /* of all */
    int64_t kept_end_ns; /* of what is kept */
    uint32_t furthest;   /* the last event that reaches end_ns */
    bool is_known;
    bool has_operator; /* that is kept */
} kept_thread;

/* When bursts begin and steps end, in order: what pauses end with. */
static size_t find_borders(const st_trace *trace, kept_thread *threads, int64_t *borders_ns)
{
    size_t count = 0;
    for (size_t i = 0; i < trace->event_count; i++) {
        const st_trace_event *event = &trace->events[i];
        kept_thread *t = &threads[event->track];
        int64_t end_ns = st_trace_end_ns(event);
        if (event->kind == ST_TRACE_STEP)
            borders_ns[count++] = end_ns;
        if (event->kind != ST_TRACE_CALL && event->kind != ST_TRACE_OPERATOR)
            continue;
        if (!t->is_known || event->start_ns - t->end_ns > PAUSE_NS)
            borders_ns[count++] = event->start_ns;
        t->end_ns = t->is_known && t->end_ns > end_ns ? t->end_ns : end_ns;
        t->is_known = true;
    }
    st_sort(borders_ns, count, sizeof *borders_ns, st_order_times);
    return count;
}

static void keep(const st_trace *trace, uint32_t event, bool *stays, kept_thread *t)
{
    int64_t end_ns = st_trace_end_ns(&trace->events[event]);
    stays[event] = true;
    t->kept_end_ns = end_ns > t->kept_end_ns ? end_ns : t->kept_end_ns;
}

/* Marks calls, and operators without which a thread would pause elsewhere. */
static void mark_bursts(const st_trace *trace, kept_thread *threads, bool *stays)
{
    memset(threads, 0, (trace->track_count + 1) * sizeof *threads);
    for (uint32_t i = 0; i < trace->event_count; i++) {
        const st_trace_event *event = &trace->events[i];
        kept_thread *t = &threads[event->track];
        if (event->kind != ST_TRACE_CALL && event->kind != ST_TRACE_OPERATOR) {
            stays[i] = true;
            continue;
        }
        bool begins = !t->is_known || event->start_ns - t->end_ns > PAUSE_NS;
        /* What reached furthest ends the burst before, or fills what would be a pause. */
        if (t->is_known && (begins || event->start_ns - t->kept_end_ns > PAUSE_NS))
            keep(trace, t->furthest, stays, t);
        if (begins || st_trace_end_ns(event) >= t->end_ns) {
            t->end_ns = st_trace_end_ns(event);
            t->furthest = i;
        }
        if (begins)
            t->kept_end_ns = INT64_MIN;
        if (begins || event->kind == ST_TRACE_CALL || !t->has_operator)
            keep(trace, i, stays, t);
        t->has_operator = t->has_operator || event->kind == ST_TRACE_OPERATOR;
        t->is_known = true;
    }
    for (size_t i = 0; i < trace->track_count; i++)
        if (threads[i].is_known)
            stays[threads[i].furthest] = true;
}

void st_depend_thin(st_trace *trace)
{
    kept_thread *threads = st_xcalloc(trace->track_count + 1, sizeof *threads);
    int64_t *borders_ns = st_xmalloc((trace->event_count + 1) * sizeof *borders_ns);
    bool *stays = st_xcalloc(trace->event_count + 1, sizeof *stays);
    size_t borders = find_borders(trace, threads, borders_ns);
    mark_bursts(trace, threads, stays);
    size_t kept = 0;
    for (size_t i = 0; i < trace->event_count; i++) {
        /* One that ends right before a pause does may have ended it. */
        int64_t end_ns = st_trace_end_ns(&trace->events[i]);
        size_t next = 0;
        ST_BISECT(next, borders, borders_ns[middle] < end_ns);
        if (stays[i] || (next < borders && borders_ns[next] - end_ns <= WAKE_UP_NS))
            trace->events[kept++] = trace->events[i];
    }
    st_trace_keep_events(trace, kept);
    free(threads);
    free(borders_ns);
    free(stays);
}

enum { MOST_PENDING = 16 };

/* Clocks of host and GPU agree to this much. */
static const int64_t TOLERANCE_NS = 50000;
/* Calls return at times that differ by this much. */
static const int64_t SLACK_NS = 4000;
/* Threads that ask for longer than this are waiting, if they ask again within that. */
static const int64_t SPIN_NS = 20000;
static const int64_t PATIENCE_NS = 200000;

typedef struct pending_wait {
    int64_t at_ns;
    uint32_t producer; /* from the record of the event, or ST_TRACE_NONE */
} pending_wait;

typedef struct thread_state {
    uint32_t last_task; /* that the thread launched */
    uint32_t synced;    /* the last task when the thread last waited for an event */
    uint32_t recorded;  /* what stood before the last event that it recorded; one wait uses it up */
    pending_wait waits[MOST_PENDING];
    size_t wait_count;
    bool launches;  /* at all */
    size_t queries; /* one after the other, and nothing else between */
    uint32_t query; /* the last of them */
    int64_t query_from_ns;
} thread_state;

typedef struct finder {
    const st_order *order;
    const st_trace *trace;
    st_arena *arena;
    st_dependencies *found;
    uint32_t streams[MOST_STREAMS]; /* tracks that ran something */
    size_t stream_count;
    int64_t return_ns; /* from a task's end to the return of the call that waits for it */
    bool *is_known;    /* by event: a call that waits for all, and all that it may wait for */
    bool in_turn;      /* launches return when their tasks have ended (CUDA_LAUNCH_BLOCKING) */
} finder;

static void add(finder *f, uint32_t before, uint32_t after)
{
    add_dependency(f->arena,
                   &(st_dependency){.before = before, .after = after, .kind = ST_DEPEND_STREAM},
                   f->found);
}

/* Streams of several devices may have one number: that of the wait's device, if it says one. */
static uint32_t stream_track(const finder *f, const st_trace_wait *wait, int64_t stream)
{
    uint32_t found = ST_TRACE_NONE;
    for (size_t i = 0; stream >= 0 && i < f->stream_count; i++) {
        const st_trace_track *track = &f->trace->tracks[f->streams[i]];
        if (track->number != stream || track->is_text)
            continue;
        if (track->process == wait->device)
            return f->streams[i];
        found = found == ST_TRACE_NONE ? f->streams[i] : found;
    }
    return found;
}

static int64_t task_end(const finder *f, uint32_t task)
{
    return st_trace_end_ns(&f->trace->events[task]);
}

/* The task before a recorded event: the last on the stream that was launched before the record. */
static uint32_t recorded_task(const finder *f, const st_trace_wait *wait)
{
    uint32_t record = st_links_find(&f->order->calls, wait->record_correlation, INT64_MAX);
    uint32_t track = stream_track(f, wait, wait->on_stream);
    if (record == ST_TRACE_NONE || track == ST_TRACE_NONE)
        return ST_TRACE_NONE;
    return st_order_last(f->order, track, f->trace->events[record].start_ns);
}

/* Whether an event was recorded before the recording began, by the number of the call. */
static bool is_from_before(const finder *f, const st_trace_wait *wait)
{
    const st_links *calls = &f->order->calls;
    return calls->count > 0 && wait->record_correlation < st_links_number(calls, 0);
}

/* What was in flight then on the event's stream and ended by a time: its last. */
static uint32_t task_from_before(const finder *f, const st_trace_wait *wait, int64_t by_ns)
{
    const st_lists *streams = &f->order->by_start;
    uint32_t track = stream_track(f, wait, wait->on_stream);
    uint32_t found = ST_TRACE_NONE;
    for (uint32_t i = track == ST_TRACE_NONE ? 0 : streams->starts[track];
         track != ST_TRACE_NONE && i < streams->starts[track + 1]; i++) {
        uint32_t task = streams->items[i];
        if (f->order->call_of[task] != ST_TRACE_NONE || task_end(f, task) > by_ns)
            break;
        found = task;
    }
    return found;
}

/* The profiler's record of a call's waiting, NULL without one. */
static const st_trace_wait *wait_record(const finder *f, const st_trace_event *call)
{
    uint32_t sync = st_links_find(&f->order->syncs, call->link, INT64_MAX);
    return sync == ST_TRACE_NONE ? NULL
                                 : &f->trace->waits[st_trace_detail(&f->trace->events[sync])];
}

/* --- a stream for another --------------------------------------------------------------------- */

/* True where the record settles the wait, even if nothing has to be added. */
static bool add_exact(finder *f, const st_trace_event *call)
{
    st_trace_edges *edges = &f->found->edges[ST_TRACE_EDGE_STREAMS];
    const st_trace_wait *wait = wait_record(f, call);
    if (wait == NULL || wait->record_correlation < 0 || wait->stream < 0)
        return false;
    uint32_t track = stream_track(f, wait, wait->stream);
    uint32_t producer = recorded_task(f, wait);
    if (track == ST_TRACE_NONE || producer == ST_TRACE_NONE)
        return true;
    uint32_t consumer = st_order_next(f->order, track, call->start_ns);
    if (consumer == ST_TRACE_NONE || f->trace->events[producer].track == track)
        return true;
    if (st_order_launch_ns(f->order, producer) >= st_order_launch_ns(f->order, consumer)) {
        edges->contradicted++;
        return true;
    }
    edges->exact++;
    add(f, producer, consumer);
    return true;
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
        if (best == ST_TRACE_NONE || (ends_by_ns != NULL ? task_end(f, task) > task_end(f, best)
                                                         : st_order_launch_ns(f->order, task) >
                                                               st_order_launch_ns(f->order, best)))
            best = task;
    }
    return best;
}

/* --- the host for a stream ---------------------------------------------------------------------
 */

static bool is_known(const st_trace_event *call)
{
    return call->class_ == ST_CALL_SYNC_DEVICE || call->class_ == ST_CALL_FREE;
}

/*
 * How long after a task the call returns that waits for it, by the recorded clocks: below 0 where
 * the GPU's is late. Told by the calls that wait for everything; the least of them, as the others
 * may have had more to do.
 */
static void measure_return(finder *f)
{
    bool any = false;
    for (uint32_t i = 0; i < f->trace->event_count; i++) {
        const st_trace_event *call = &f->trace->events[i];
        if (call->kind != ST_TRACE_CALL || !is_known(call))
            continue;
        int64_t over_ns = st_order_over_ns(f->order, call->start_ns);
        int64_t late_ns = st_trace_end_ns(call) - over_ns;
        if (over_ns <= call->start_ns || late_ns > TOLERANCE_NS || late_ns < -TOLERANCE_NS)
            continue;
        f->return_ns = any && f->return_ns < late_ns ? f->return_ns : late_ns;
        any = true;
    }
}

static bool leaves_out(const finder *f, uint32_t call)
{
    const uint32_t *starts = f->order->call_tasks.starts;
    const st_trace_event *event = &f->trace->events[call];
    return event->kind == ST_TRACE_CALL && event->class_ == ST_CALL_LAUNCH &&
           (starts[call + 1] == starts[call] ||
            strstr(f->trace->names[event->name], "GraphLaunch") != NULL);
}

/* The host waits from `from_ns` on, at an event, until `to_ns`. */
typedef struct host_wait {
    uint32_t event;
    int64_t from_ns;
    int64_t to_ns;
} host_wait;

static host_wait wait_of_call(const finder *f, uint32_t call)
{
    const st_trace_event *event = &f->trace->events[call];
    return (host_wait){call, event->start_ns, st_trace_end_ns(event)};
}

/* The wait's dependency on a task, ST_TRACE_NONE where that is not known. */
static void add_wait(finder *f, const host_wait *wait, uint32_t task)
{
    add_dependency(f->arena,
                   &(st_dependency){.before = task,
                                    .after = wait->event,
                                    .kind = ST_DEPEND_SYNC,
                                    .from_ns = wait->from_ns,
                                    .to_ns = wait->to_ns,
                                    .is_own = f->is_known[wait->event]},
                   f->found);
}

static void add_sync(finder *f, uint32_t task, const host_wait *wait, bool exact)
{
    st_trace_edges *edges = &f->found->edges[ST_TRACE_EDGE_SYNC];
    if (task == ST_TRACE_NONE)
        return;
    if (task_end(f, task) > wait->to_ns + TOLERANCE_NS) {
        edges->contradicted++;
        return;
    }
    edges->exact += exact;
    edges->inferred += !exact;
    add_wait(f, wait, task);
}

/* The next task of the stream is of the same launch, a CUDA graph: no event is between them. */
static bool is_inside_launch(const st_order *order, uint32_t track, uint32_t place)
{
    const st_trace_event *events = order->trace->events;
    const uint32_t *tasks = order->by_start.items + place;
    int64_t launch = st_trace_correlation(order->trace, &events[tasks[0]]);
    return place + 1 < order->by_start.starts[track + 1] && launch >= 0 &&
           st_trace_correlation(order->trace, &events[tasks[1]]) == launch;
}

/*
 * The last task of a stream behind which an event can be, that was launched before `before_ns`
 * and ended by `ends_by_ns`, ST_TRACE_NONE without one.
 */
static uint32_t last_ended(const st_order *order, uint32_t track, int64_t before_ns,
                           int64_t ends_by_ns)
{
    const st_trace_event *events = order->trace->events;
    uint32_t first = order->by_start.starts[track];
    uint32_t end = order->by_start.starts[track + 1];
    while (end > first) {
        uint32_t middle = first + (end - first) / 2;
        uint32_t task = order->by_start.items[middle];
        if (st_trace_end_ns(&events[task]) > ends_by_ns ||
            st_order_launch_ns(order, task) >= before_ns)
            end = middle;
        else
            first = middle + 1;
    }
    while (first > order->by_start.starts[track] && is_inside_launch(order, track, first - 1))
        first--;
    return first > order->by_start.starts[track] ? order->by_start.items[first - 1] : ST_TRACE_NONE;
}

/*
 * Which task is waited for, where no record says so: what ended last when the call returned; of an
 * event any task of a stream, else the last that was launched.
 */
static uint32_t ended_by(const finder *f, const host_wait *wait, bool any_task, int64_t by_ns)
{
    uint32_t best = ST_TRACE_NONE;
    for (size_t i = 0; i < f->stream_count; i++) {
        uint32_t task = any_task ? last_ended(f->order, f->streams[i], wait->from_ns, by_ns)
                                 : st_order_last(f->order, f->streams[i], wait->from_ns);
        if (task == ST_TRACE_NONE || task_end(f, task) <= wait->from_ns ||
            task_end(f, task) > by_ns)
            continue;
        if (best == ST_TRACE_NONE || task_end(f, task) > task_end(f, best))
            best = task;
    }
    return best;
}

/* Where nothing ended as early as calls usually return, what ended before this one did. */
static uint32_t guess_sync(const finder *f, const host_wait *wait, bool any_task)
{
    int64_t by_ns = wait->to_ns - f->return_ns + SLACK_NS;
    by_ns = f->return_ns >= 0 && by_ns > wait->to_ns ? wait->to_ns : by_ns;
    uint32_t task = ended_by(f, wait, any_task, by_ns);
    return task == ST_TRACE_NONE && by_ns < wait->to_ns ? ended_by(f, wait, any_task, wait->to_ns)
                                                        : task;
}

/*
 * An event that was over though the thread's last task was not is one of those that take turns: a
 * step waits for the end of the step before. The last task when the thread last waited for an event
 * states which one; the call has waited for something else only where it lasted.
 */
static bool takes_turns(const finder *f, const thread_state *thread, const host_wait *wait,
                        uint32_t *task)
{
    *task = thread->synced;
    if (f->trace->events[wait->event].class_ != ST_CALL_SYNC_EVENT ||
        thread->last_task == ST_TRACE_NONE || task_end(f, thread->last_task) <= wait->to_ns)
        return false;
    bool waited = wait->to_ns - wait->from_ns > SPIN_NS;
    if (*task == ST_TRACE_NONE)
        return !waited;
    return task_end(f, *task) <= wait->to_ns && (!waited || task_end(f, *task) > wait->from_ns);
}

/* A call that waits without a record: for what ended inside of it, or else what the thread launched
 * last, if that was over. */
static void see_unknown_sync(finder *f, const thread_state *thread, const host_wait *wait)
{
    uint8_t class_ = f->trace->events[wait->event].class_;
    uint32_t task = ST_TRACE_NONE;
    if (!takes_turns(f, thread, wait, &task)) {
        task = guess_sync(f, wait, false);
        if (task == ST_TRACE_NONE && class_ == ST_CALL_SYNC_EVENT)
            task = guess_sync(f, wait, true);
        if (task == ST_TRACE_NONE && thread->last_task != ST_TRACE_NONE &&
            task_end(f, thread->last_task) <= wait->from_ns)
            task = thread->last_task;
    }
    add_sync(f, task, wait, false);
}

static bool has_device(const finder *f, int64_t device)
{
    for (size_t i = 0; i < f->stream_count; i++)
        if (f->trace->tracks[f->streams[i]].process == device)
            return true;
    return false;
}

/* Where nothing is found that the call waited for, only how long it did is known. */
static void see_any_sync(finder *f, const thread_state *thread, uint32_t call)
{
    size_t count = f->found->count;
    host_wait wait = wait_of_call(f, call);
    const st_trace_event *event = &f->trace->events[wait.event];
    const st_trace_wait *record = wait_record(f, event);
    uint32_t track = record != NULL ? stream_track(f, record, record->stream) : ST_TRACE_NONE;
    bool names_event =
        event->class_ == ST_CALL_SYNC_EVENT && record != NULL && record->record_correlation >= 0;
    if (is_known(event)) {
        for (size_t i = 0; i < f->stream_count; i++)
            if (record == NULL || !has_device(f, record->device) ||
                f->trace->tracks[f->streams[i]].process == record->device)
                add_sync(f, st_order_last(f->order, f->streams[i], wait.from_ns), &wait, true);
    } else if (event->class_ == ST_CALL_SYNC_STREAM && track != ST_TRACE_NONE) {
        add_sync(f, st_order_last(f->order, track, event->start_ns), &wait, true);
    } else if (names_event && is_from_before(f, record)) {
        add_sync(f, task_from_before(f, record, wait.to_ns + TOLERANCE_NS), &wait, true);
    } else {
        uint32_t recorded = names_event ? recorded_task(f, record) : ST_TRACE_NONE;
        if (recorded != ST_TRACE_NONE)
            add_sync(f, recorded, &wait, true);
        else
            see_unknown_sync(f, thread, &wait);
    }
    if (f->found->count == count)
        add_wait(f, &wait, ST_TRACE_NONE);
}

/*
 * A copy that blocks the host: its call returns when the copy is done. Only one of pageable memory
 * may seem to end a little later, by a clock that is late.
 */
static bool blocks(const finder *f, const st_trace_event *call, uint32_t task)
{
    const st_trace_event *copy = &f->trace->events[task];
    const char *name = f->trace->names[call->name];
    bool pageable =
        strstr(f->trace->names[copy->name], "Pageable") != NULL && call->duration_ns > TOLERANCE_NS;
    int64_t by_ns = st_trace_end_ns(call) + (pageable ? TOLERANCE_NS : 0);
    return copy->kind == ST_TRACE_MEMCPY && copy->start_ns >= call->start_ns &&
           st_trace_end_ns(copy) <= by_ns && strstr(name, "emcpy") != NULL;
}

/*
 * A thread that asks again and again, and does nothing else, waits: for what ended right before the
 * last answer. Others ask without waiting, as allocators do, or for ever, as watchdogs do.
 */
static void see_queries(finder *f, thread_state *thread)
{
    size_t queries = thread->queries;
    thread->queries = 0;
    if (queries < 2 || !thread->launches)
        return;
    const st_trace_event *last = &f->trace->events[thread->query];
    host_wait wait = {thread->query, thread->query_from_ns, st_trace_end_ns(last)};
    if (wait.to_ns - wait.from_ns <= SPIN_NS)
        return;
    uint32_t task = guess_sync(f, &wait, true);
    if (task != ST_TRACE_NONE && wait.to_ns - task_end(f, task) <= PATIENCE_NS)
        add_sync(f, task, &wait, false);
}

/* --- all calls ----------------------------------------------------------------------------------
 */

static void see_launch(finder *f, thread_state *thread, uint32_t call)
{
    const st_lists *tasks = &f->order->call_tasks;
    uint32_t first = tasks->starts[call];
    uint32_t end = tasks->starts[call + 1];
    if (first == end)
        return;
    /* A launch is what the waits before it waited for. */
    const uint32_t consumer = tasks->items[first];
    for (size_t i = 0; i < thread->wait_count; i++) {
        const pending_wait *inferred_wait = &thread->waits[i];
        st_trace_edges *edges = &f->found->edges[ST_TRACE_EDGE_STREAMS];
        const st_trace_event *task = &f->trace->events[consumer];
        uint32_t producer = inferred_wait->producer;
        if (producer == ST_TRACE_NONE || f->trace->events[producer].track == task->track)
            producer = other_stream(f, task->track, inferred_wait->at_ns, NULL);
        if (producer != ST_TRACE_NONE && task_end(f, producer) > task->start_ns) {
            edges->contradicted++;
            producer = other_stream(f, task->track, inferred_wait->at_ns, &task->start_ns);
        }
        if (producer == ST_TRACE_NONE)
            continue;
        edges->inferred++;
        add(f, producer, consumer);
    }
    thread->wait_count = 0;
    thread->last_task = tasks->items[end - 1];
    host_wait wait = wait_of_call(f, call);
    if (end - first == 1 && (f->in_turn || blocks(f, &f->trace->events[call], tasks->items[first])))
        add_sync(f, tasks->items[first], &wait, true);
}

static void see_call(finder *f, thread_state *thread, uint32_t call)
{
    const st_trace_event *event = &f->trace->events[call];
    bool asks = event->class_ == ST_CALL_QUERY;
    bool goes_on =
        asks && thread->queries > 0 &&
        event->start_ns - st_trace_end_ns(&f->trace->events[thread->query]) < PATIENCE_NS;
    if (!goes_on)
        see_queries(f, thread);
    switch ((st_trace_call)event->class_) {
    case ST_CALL_QUERY:
        if (thread->queries++ == 0)
            thread->query_from_ns = event->start_ns;
        thread->query = call;
        break;
    case ST_CALL_RECORD:
        thread->recorded = thread->last_task;
        break;
    case ST_CALL_WAIT:
        if (!add_exact(f, event) && thread->wait_count != MOST_PENDING) {
            thread->waits[thread->wait_count++] = (pending_wait){event->start_ns, thread->recorded};
            thread->recorded = ST_TRACE_NONE;
        }
        break;
    case ST_CALL_SYNC_EVENT:
        see_any_sync(f, thread, call);
        thread->synced = thread->last_task;
        break;
    case ST_CALL_SYNC_STREAM:
    case ST_CALL_SYNC_DEVICE:
    case ST_CALL_FREE:
        see_any_sync(f, thread, call);
        break;
    default:
        see_launch(f, thread, call);
    }
}

/* Whether nearly all calls that launch a kernel return after its end: chance makes few of them. */
static bool launches_in_turn(const finder *f)
{
    enum { LEAST = 8, PERCENT = 90 };
    size_t kernels = 0;
    size_t inside = 0;
    for (size_t i = 0; i < f->trace->event_count; i++) {
        const st_trace_event *event = &f->trace->events[i];
        uint32_t call = f->order->call_of[i];
        if (event->kind != ST_TRACE_KERNEL || call == ST_TRACE_NONE)
            continue;
        kernels++;
        inside += st_trace_end_ns(event) <= st_trace_end_ns(&f->trace->events[call]);
    }
    return kernels >= LEAST && 100 * inside >= PERCENT * kernels;
}

static bool has_tasks(const finder *f, uint32_t call)
{
    const uint32_t *starts = f->order->call_tasks.starts;
    return starts[call + 1] > starts[call];
}

void st_depend_find(const st_order *order, st_arena *arena, st_dependencies *dependencies)
{
    *dependencies = (st_dependencies){0};
    finder f = {.order = order, .trace = order->trace, .arena = arena, .found = dependencies};
    for (uint32_t t = 0; t < f.trace->track_count && f.stream_count < MOST_STREAMS; t++)
        if (f.order->by_start.starts[t + 1] > f.order->by_start.starts[t])
            f.streams[f.stream_count++] = t;
    measure_return(&f);
    f.in_turn = launches_in_turn(&f);
    st_trace_edges *edges = f.found->edges;
    for (size_t i = 0; i < f.stream_count; i++) {
        uint32_t track = f.streams[i];
        edges[ST_TRACE_EDGE_STREAM].exact +=
            order->by_start.starts[track + 1] - order->by_start.starts[track] - 1;
    }
    for (size_t i = 0; i < f.trace->event_count; i++)
        edges[ST_TRACE_EDGE_LAUNCH].exact += order->call_of[i] != ST_TRACE_NONE;
    /* Calls that wait for everything, and all that was launched since the last such call is
     * recorded: once that is over they only do their own work, as mapping memory, loading a
     * library, or what the profiler does when it stops. Of CUDA graphs nodes may be missing. */
    bool open = false;
    f.is_known = st_xcalloc(f.trace->event_count + 1, sizeof *f.is_known);
    for (uint32_t i = 0; i < f.trace->event_count; i++) {
        open = open || leaves_out(&f, i);
        if (f.trace->events[i].kind != ST_TRACE_CALL || !is_known(&f.trace->events[i]))
            continue;
        f.is_known[i] = !open;
        open = false;
    }
    for (uint32_t t = 0; t < f.trace->track_count; t++) {
        const st_lists *calls = &f.order->thread_calls;
        thread_state thread = {
            .last_task = ST_TRACE_NONE, .synced = ST_TRACE_NONE, .recorded = ST_TRACE_NONE};
        uint32_t count = calls->starts[t + 1] - calls->starts[t];
        for (uint32_t i = calls->starts[t]; i < calls->starts[t + 1]; i++)
            thread.launches = thread.launches || has_tasks(&f, calls->items[i]);
        if (count > 0)
            f.found->edges[ST_TRACE_EDGE_THREAD].exact += count - 1;
        for (uint32_t i = 0; i < count; i++)
            see_call(&f, &thread, calls->items[calls->starts[t] + i]);
        see_queries(&f, &thread);
    }
    free(f.is_known);
    const uint32_t *starts = order->call_tasks.starts;
    for (size_t call = 0; call < order->trace->event_count; call++) {
        graph_launch one = {.order = order, .first = starts[call], .end = starts[call + 1]};
        if (one.end - one.first > 1)
            see_graph(&one, arena, dependencies);
    }
    depend_pauses(order, arena, dependencies);
    depend_threads(order, arena, dependencies);
}
