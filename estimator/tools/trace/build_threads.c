/* SPDX-License-Identifier: Apache-2.0 */
/* The host side of a rank's graph: what each thread did between the moments that matter. */
#include "trace/build.h"
#include "trace/xalloc.h"

#include <stdlib.h>

typedef enum cut_kind {
    CUT_MARK,   /* something elsewhere goes on when the thread has come here */
    CUT_LAUNCH, /* a call that launches */
    CUT_SYNC,   /* the host waits for GPU tasks */
    CUT_RESUME  /* a pause that another thread ends */
} cut_kind;

typedef struct cut {
    uint32_t track;
    cut_kind kind;
    int64_t time_ns;
    int64_t end_ns;   /* of waiting */
    int64_t waits_ns; /* what is waited for was over then */
    uint32_t item;    /* call, (first) dependency or step mark */
    bool is_own;      /* of waiting: what is left behind that is the call's own work */
} cut;

/* Of a mark's item: a step, otherwise a dependency. */
static const uint32_t IS_STEP = UINT32_C(1) << 31;
static const uint32_t IS_END = UINT32_MAX; /* of the thread's last call */

/* A call that returns later after what it waits for has waited for something else, too. */
static const int64_t WAKE_UP_NS = 100000;

typedef struct thread_builder {
    st_build *b;
    st_rank_build *r;
    cut *cuts;
    size_t count;
    st_task_id *marks;   /* by dependency */
    st_task_id *resumes; /* by dependency */
    uint32_t resource;   /* of the thread that is built */
    st_task_id last;
    bool acts;         /* the thread launches or waits */
    int64_t cursor_ns; /* built up to here */
} thread_builder;

/* --- cuts
 * ----------------------------------------------------------------------------------------- */

static void add_cut(thread_builder *t, const cut *one)
{
    ST_XAPPEND(t->b->scratch, t->cuts, t->count, *one);
}

static const st_trace_event *event_at(const thread_builder *t, uint32_t event)
{
    return &t->r->order->trace->events[event];
}

/* Something elsewhere goes on when a thread has come to a time. */
static void add_mark(thread_builder *t, uint32_t track, int64_t time_ns, uint32_t item)
{
    add_cut(t, &(cut){.track = track, .kind = CUT_MARK, .time_ns = time_ns, .item = item});
}

static bool is_same_wait(const st_dependency *a, const st_dependency *b)
{
    return a->kind == b->kind && a->after == b->after && a->from_ns == b->from_ns;
}

/* The tasks that the host waits for at one time are adjacent. */
static void cut_at_syncs(thread_builder *t)
{
    const st_dependencies *found = &t->r->dependencies;
    for (uint32_t i = 0; i < found->count;) {
        const st_dependency *one = &found->items[i];
        cut wait = {.track = event_at(t, one->after)->track,
                    .kind = CUT_SYNC,
                    .time_ns = one->from_ns,
                    .end_ns = one->to_ns,
                    .waits_ns = one->from_ns,
                    .item = i,
                    .is_own = one->is_own};
        if (one->kind != ST_DEPEND_SYNC) {
            i++;
            continue;
        }
        for (; i < found->count && is_same_wait(&found->items[i], one); i++) {
            if (found->items[i].before == ST_TRACE_NONE)
                continue;
            int64_t end = st_trace_end_ns(event_at(t, found->items[i].before));
            wait.waits_ns = end > wait.waits_ns ? end : wait.waits_ns;
        }
        add_cut(t, &wait);
    }
}

static void cut_at_pauses(thread_builder *t)
{
    const st_dependencies *found = &t->r->dependencies;
    for (uint32_t i = 0; i < found->count; i++) {
        const st_dependency *one = &found->items[i];
        if (one->kind != ST_DEPEND_THREAD)
            continue;
        int64_t woken_ns = st_trace_end_ns(event_at(t, one->before));
        add_mark(t, event_at(t, one->before)->track, woken_ns, i);
        add_cut(t, &(cut){.track = event_at(t, one->after)->track,
                          .kind = CUT_RESUME,
                          .time_ns = one->from_ns,
                          .end_ns = one->to_ns,
                          .waits_ns = woken_ns,
                          .item = i});
    }
}

static void cut_at_steps(thread_builder *t)
{
    const st_trace *trace = t->r->order->trace;
    st_trace_rank *out = t->r->out;
    for (uint32_t i = 0; i < trace->event_count; i++) {
        const st_trace_event *event = event_at(t, i);
        if (event->kind != ST_TRACE_STEP)
            continue;
        uint32_t mark = IS_STEP | (uint32_t)(2 * out->step_count);
        int64_t before_ns = -(event->start_ns + t->r->shift_ns);
        int64_t lead_ns = before_ns < event->duration_ns ? before_ns : event->duration_ns;
        out->steps[out->step_count++] = (st_trace_mark){.name = trace->names[event->name],
                                                        .lead_ns = lead_ns > 0 ? lead_ns : 0};
        add_mark(t, event->track, event->start_ns, mark);
        add_mark(t, event->track, st_trace_end_ns(event), mark + 1);
    }
}

ST_COMPARE(compare_cuts, cut, ST_RISING(track) ST_RISING(time_ns) ST_RISING(kind) ST_RISING(item));

/* --- tasks
 * ---------------------------------------------------------------------------------------- */

static void add_host(thread_builder *t, int64_t duration_ns)
{
    st_task_spec spec = {.resource = t->resource,
                         .name = t->b->host_name,
                         .category = t->b->host_category,
                         .duration_ns = duration_ns > 0 ? duration_ns : 0};
    t->last = st_build_task(t->b, &spec);
}

/* A task that waits for others: it lasts from the end of what is waited for. */
static void add_waiting(thread_builder *t, const cut *one)
{
    int64_t from_ns = one->waits_ns > t->cursor_ns ? one->waits_ns : t->cursor_ns;
    int64_t rest_ns = one->end_ns > from_ns ? one->end_ns - from_ns : 0;
    add_host(t, rest_ns);
    if (one->kind == CUT_SYNC) {
        /* Counts what the host waits for the GPU, and what of it nothing that is known explains. */
        st_trace_waiting *waiting = &t->r->out->waiting;
        waiting->count++;
        waiting->total_ns = st_add_ns(waiting->total_ns, one->end_ns - one->time_ns);
        if (rest_ns > WAKE_UP_NS) {
            if (one->is_own) {
                waiting->own_ns = st_add_ns(waiting->own_ns, rest_ns);
            } else {
                waiting->unknown_ns = st_add_ns(waiting->unknown_ns, rest_ns);
                ST_XAPPEND(t->b->out->arena, waiting->unknown, waiting->unknown_count, t->last);
            }
        }
    }
    t->cursor_ns = one->end_ns > t->cursor_ns ? one->end_ns : t->cursor_ns;
}

static void wait_for_tasks(thread_builder *t, uint32_t first)
{
    const st_dependencies *found = &t->r->dependencies;
    for (uint32_t i = first; i < found->count; i++) {
        if (!is_same_wait(&found->items[i], &found->items[first]) ||
            found->items[i].before == ST_TRACE_NONE)
            break;
        st_build_later(t->b, t->r, found->items[i].before, t->last, ST_EDGE_SYNC);
    }
}

static void add_cut_task(thread_builder *t, const cut *one)
{
    /* All that the thread did until a time. */
    const int64_t time_ns = one->time_ns;
    if (time_ns > t->cursor_ns || t->last == ST_TASK_NONE) {
        add_host(t, time_ns - t->cursor_ns);
        t->cursor_ns = time_ns > t->cursor_ns ? time_ns : t->cursor_ns;
    }
    t->acts = t->acts || one->kind != CUT_MARK;
    switch (one->kind) {
    case CUT_MARK: {
        const uint32_t item = one->item;
        st_trace_rank *out = t->r->out;
        if (item == IS_END) {
            out->thread_acts[out->thread_count] = t->acts;
            out->threads[out->thread_count++] = t->last;
        } else if ((item & IS_STEP) != 0) {
            st_trace_mark *step = &out->steps[(item & ~IS_STEP) / 2];
            *(item % 2 == 0 ? &step->begins : &step->ends) = t->last;
        } else {
            t->marks[item] = t->last;
        }
        break;
    }
    case CUT_LAUNCH:
        t->r->cut_of_call[one->item] = t->last;
        break;
    case CUT_SYNC:
        add_waiting(t, one);
        wait_for_tasks(t, one->item);
        break;
    case CUT_RESUME:
        add_waiting(t, one);
        t->resumes[one->item] = t->last;
    }
}

void st_build_threads(st_build *b, st_rank_build *r)
{
    thread_builder t = {.b = b, .r = r};
    st_arena *arena = b->out->arena;
    st_trace_rank *out = r->out;
    size_t tracks = r->order->trace->track_count + 1;
    size_t dependencies = r->dependencies.count + 1;
    size_t steps = r->order->trace->kind_counts[ST_TRACE_STEP] + 1;
    out->threads = st_xalloc(arena, tracks, sizeof *out->threads);
    out->thread_acts = st_xalloc(arena, tracks, sizeof *out->thread_acts);
    out->steps = st_xalloc(arena, steps, sizeof *out->steps);
    t.marks = st_xalloc(b->scratch, dependencies, sizeof *t.marks);
    t.resumes = st_xalloc(b->scratch, dependencies, sizeof *t.resumes);
    const st_order *order = t.r->order;
    for (uint32_t i = 0; i < order->trace->event_count; i++) {
        if (order->call_tasks.starts[i + 1] > order->call_tasks.starts[i])
            add_cut(&t, &(cut){.track = event_at(&t, i)->track,
                               .kind = CUT_LAUNCH,
                               .time_ns = event_at(&t, i)->start_ns,
                               .item = i});
    }
    cut_at_syncs(&t);
    cut_at_pauses(&t);
    cut_at_steps(&t);
    /* Where the last call of each thread returns. */
    const st_lists *calls = &t.r->order->thread_calls;
    for (uint32_t track = 0; track < t.r->order->trace->track_count; track++) {
        int64_t last = INT64_MIN;
        for (uint32_t i = calls->starts[track]; i < calls->starts[track + 1]; i++) {
            int64_t end = st_trace_end_ns(event_at(&t, calls->items[i]));
            last = end > last ? end : last;
        }
        if (last > INT64_MIN)
            add_mark(&t, track, last, IS_END);
    }
    st_sort(t.cuts, t.count, sizeof *t.cuts, compare_cuts);
    for (size_t first = 0; first < t.count && b->status == ST_OK;) {
        size_t end = first + 1;
        while (end < t.count && t.cuts[end].track == t.cuts[first].track)
            end++;
        const cut *cuts = t.cuts + first;
        const size_t count = end - first;
        char name[64];
        (void)snprintf(name, sizeof name, "thread %lld",
                       (long long)t.r->order->trace->tracks[cuts[0].track].number);
        t.resource = st_build_resource(t.b, t.r, ST_RESOURCE_HOST, name);
        t.last = ST_TASK_NONE;
        t.acts = false;
        t.cursor_ns = -t.r->shift_ns; /* the start of the graph, by the clock of the file */
        for (size_t i = 0; i < count; i++)
            add_cut_task(&t, &cuts[i]);
        first = end;
    }
    const st_dependencies *found = &t.r->dependencies;
    for (size_t i = 0; i < found->count; i++) {
        if (found->items[i].kind == ST_DEPEND_THREAD)
            st_build_edge(t.b, t.marks[i], t.resumes[i], ST_EDGE_PROGRAM);
    }
}

void st_build_later(st_build *b, st_rank_build *r, uint32_t event, st_task_id task,
                    st_edge_kind kind)
{
    ST_XAPPEND(b->scratch, r->late, r->late_count, (st_late_edge){event, task, kind});
}

void st_build_syncs(st_build *b, st_rank_build *r)
{
    for (size_t i = 0; i < r->late_count; i++)
        st_build_edge(b, r->out->tasks[r->late[i].event], r->late[i].task, r->late[i].kind);
}
