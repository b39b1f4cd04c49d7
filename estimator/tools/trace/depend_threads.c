/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that pause and go on: because another thread has done its part (the backward thread after
 * the one that calls it, and the other way round), or because the GPU has, by a wait that the
 * profiler does not record.
 *
 * Two threads hand over to each other where one is active within a pause of the other and idle when
 * that pause begins and ends. How long the one that is woken takes does not matter then; else only
 * what another thread finished right before counts.
 */
#include "trace/depend.h"
#include "trace/xalloc.h"

#include <string.h>

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

typedef struct thread {
    uint32_t track;
    burst *bursts;
    size_t count;
    bool acts;  /* it launches */
    bool works; /* it does more than to ask whether something is over, as watchdogs do */
} thread;

typedef struct finder {
    const st_order *order;
    const st_trace *trace;
    st_arena *arena;
    st_dependencies *found;
    thread threads[MOST_THREADS];
    size_t count;
} finder;

/* --- bursts ------------------------------------------------------------------------------------
 */

static thread *find_thread(finder *f, uint32_t track)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->threads[i].track == track)
            return &f->threads[i];
    if (f->count == MOST_THREADS)
        return NULL;
    f->threads[f->count] = (thread){.track = track};
    return &f->threads[f->count++];
}

/* The last burst of a thread that begins by a time, NULL without one. */
static const burst *burst_by(const thread *t, int64_t time_ns)
{
    size_t low = 0;
    ST_BISECT(low, t->count, t->bursts[middle].start_ns <= time_ns);
    return low > 0 ? &t->bursts[low - 1] : NULL;
}

/* A step of the profiler ends when its thread has come there, whatever it did before. */
static void add_step_ends(finder *f)
{
    for (uint32_t i = 0; i < f->trace->event_count; i++) {
        const st_trace_event *event = &f->trace->events[i];
        thread *t = event->kind == ST_TRACE_STEP ? find_thread(f, event->track) : NULL;
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
    const thread *thread;
    const burst *next; /* after it */
    int64_t from_ns;
    bool is_first; /* before all that the thread did */
} pause;

static bool is_idle(const thread *t, int64_t time_ns)
{
    const burst *last = burst_by(t, time_ns);
    return last == NULL || last->end_ns <= time_ns;
}

/* What hands over to the thread: active in the pause, idle at its ends. */
static const burst *find_partner(const finder *f, const pause *p)
{
    const burst *best = NULL;
    int64_t process = f->trace->tracks[p->thread->track].process;
    for (size_t i = 0; i < f->count; i++) {
        const thread *other = &f->threads[i];
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
static uint32_t find_waker(const finder *f, const pause *p)
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

static void see_pause(finder *f, const pause *p)
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
    st_depend_add(f->arena, &one, f->found);
}

void st_depend_threads(const st_order *order, st_arena *arena, st_dependencies *dependencies)
{
    finder *f = st_xalloc(arena, 1, sizeof *f);
    if (f == NULL)
        return;
    *f = (finder){.order = order, .trace = order->trace, .arena = arena, .found = dependencies};
    for (uint32_t i = 0; i < f->trace->event_count; i++) {
        uint8_t kind = f->trace->events[i].kind;
        if (kind == ST_TRACE_CALL || kind == ST_TRACE_OPERATOR) {
            const st_trace_event *event = &f->trace->events[i];
            thread *t = find_thread(f, event->track);
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
        const thread *t = &f->threads[i];
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
