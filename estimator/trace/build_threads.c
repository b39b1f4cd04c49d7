/* SPDX-License-Identifier: Apache-2.0 */
/* The host side of a rank's graph: what each thread did between the moments that matter. */
#include "trace/build.h"

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

static st_status add_cut(thread_builder *t, const cut *one)
{
    return ST_APPEND(t->b->scratch, t->cuts, t->count, *one) ? ST_OK : ST_ERR_MEMORY;
}

static const st_trace_event *event_at(const thread_builder *t, uint32_t event)
{
    return &t->r->order->trace->events[event];
}

static st_status cut_at_launches(thread_builder *t)
{
    const st_order *order = t->r->order;
    st_status status = ST_OK;
    for (uint32_t i = 0; i < order->trace->event_count && status == ST_OK; i++) {
        if (order->call_tasks.starts[i + 1] > order->call_tasks.starts[i])
            status = add_cut(t, &(cut){.track = event_at(t, i)->track,
                                       .kind = CUT_LAUNCH,
                                       .time_ns = event_at(t, i)->start_ns,
                                       .item = i});
    }
    return status;
}

static bool is_same_wait(const st_dependency *a, const st_dependency *b)
{
    return a->kind == b->kind && a->after == b->after && a->from_ns == b->from_ns;
}

/* The tasks that the host waits for at one time stand one behind the other. */
static st_status cut_at_syncs(thread_builder *t)
{
    const st_dependencies *found = &t->r->dependencies;
    st_status status = ST_OK;
    for (uint32_t i = 0; i < found->count && status == ST_OK;) {
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
        status = add_cut(t, &wait);
    }
    return status;
}

static st_status cut_at_pauses(thread_builder *t)
{
    const st_dependencies *found = &t->r->dependencies;
    st_status status = ST_OK;
    for (uint32_t i = 0; i < found->count && status == ST_OK; i++) {
        const st_dependency *one = &found->items[i];
        if (one->kind != ST_DEPEND_THREAD)
            continue;
        int64_t woken_ns = st_trace_end_ns(event_at(t, one->before));
        status = add_cut(t, &(cut){.track = event_at(t, one->before)->track,
                                   .kind = CUT_MARK,
                                   .time_ns = woken_ns,
                                   .item = i});
        if (status == ST_OK)
            status = add_cut(t, &(cut){.track = event_at(t, one->after)->track,
                                       .kind = CUT_RESUME,
                                       .time_ns = one->from_ns,
                                       .end_ns = one->to_ns,
                                       .waits_ns = woken_ns,
                                       .item = i});
    }
    return status;
}

static st_status cut_at_steps(thread_builder *t)
{
    const st_trace *trace = t->r->order->trace;
    st_trace_rank *out = t->r->out;
    st_status status = ST_OK;
    out->steps =
        st_arena_alloc(t->b->out->arena, trace->kind_counts[ST_TRACE_STEP] + 1, sizeof *out->steps);
    if (out->steps == NULL)
        return ST_ERR_MEMORY;
    for (uint32_t i = 0; i < trace->event_count && status == ST_OK; i++) {
        const st_trace_event *event = event_at(t, i);
        if (event->kind != ST_TRACE_STEP)
            continue;
        uint32_t mark = IS_STEP | (uint32_t)(2 * out->step_count);
        int64_t before_ns = -(event->start_ns + t->r->shift_ns);
        int64_t lead_ns = before_ns < event->duration_ns ? before_ns : event->duration_ns;
        out->steps[out->step_count++] = (st_trace_mark){.name = trace->names[event->name],
                                                        .lead_ns = lead_ns > 0 ? lead_ns : 0};
        status = add_cut(t, &(cut){.track = event->track,
                                   .kind = CUT_MARK,
                                   .time_ns = event->start_ns,
                                   .item = mark});
        if (status == ST_OK)
            status = add_cut(t, &(cut){.track = event->track,
                                       .kind = CUT_MARK,
                                       .time_ns = st_trace_end_ns(event),
                                       .item = mark + 1});
    }
    return status;
}

/* Where the last call of each thread returns. */
static st_status cut_at_ends(thread_builder *t)
{
    const st_lists *calls = &t->r->order->thread_calls;
    st_status status = ST_OK;
    for (uint32_t track = 0; track < t->r->order->trace->track_count && status == ST_OK; track++) {
        int64_t last = INT64_MIN;
        for (uint32_t i = calls->starts[track]; i < calls->starts[track + 1]; i++) {
            int64_t end = st_trace_end_ns(event_at(t, calls->items[i]));
            last = end > last ? end : last;
        }
        if (last > INT64_MIN)
            status = add_cut(
                t, &(cut){.track = track, .kind = CUT_MARK, .time_ns = last, .item = IS_END});
    }
    return status;
}

ST_COMPARE(compare_cuts, cut, ST_RISING(track) ST_RISING(time_ns) ST_RISING(kind) ST_RISING(item));

static st_status find_cuts(thread_builder *t)
{
    st_status status = cut_at_launches(t);
    if (status == ST_OK)
        status = cut_at_syncs(t);
    if (status == ST_OK)
        status = cut_at_pauses(t);
    if (status == ST_OK)
        status = cut_at_steps(t);
    if (status == ST_OK)
        status = cut_at_ends(t);
    if (status == ST_OK && t->count > 0)
        qsort(t->cuts, t->count, sizeof *t->cuts, compare_cuts);
    return status;
}

/* --- tasks
 * ---------------------------------------------------------------------------------------- */

static st_status add_host(thread_builder *t, int64_t duration_ns)
{
    st_task_spec spec = {.resource = t->resource,
                         .name = t->b->host_name,
                         .category = t->b->host_category,
                         .duration_ns = duration_ns > 0 ? duration_ns : 0};
    return st_graph_add(t->b->graph, &spec, &t->last, t->b->errors);
}

/* All that the thread did until a time. */
static st_status advance(thread_builder *t, int64_t time_ns)
{
    st_status status = ST_OK;
    if (time_ns > t->cursor_ns || t->last == ST_TASK_NONE) {
        status = add_host(t, time_ns - t->cursor_ns);
        t->cursor_ns = time_ns > t->cursor_ns ? time_ns : t->cursor_ns;
    }
    return status;
}

/* Counts what the host waits for the GPU, and what of it nothing that is known explains. */
static st_status note_wait(thread_builder *t, const cut *one, int64_t rest_ns)
{
    st_trace_waiting *waiting = &t->r->out->waiting;
    waiting->count++;
    waiting->total_ns = st_add_ns(waiting->total_ns, one->end_ns - one->time_ns);
    if (rest_ns <= WAKE_UP_NS)
        return ST_OK;
    if (one->is_own) {
        waiting->own_ns = st_add_ns(waiting->own_ns, rest_ns);
        return ST_OK;
    }
    waiting->unknown_ns = st_add_ns(waiting->unknown_ns, rest_ns);
    return ST_APPEND(t->b->out->arena, waiting->unknown, waiting->unknown_count, t->last)
               ? ST_OK
               : ST_ERR_MEMORY;
}

/* A task that waits for others: it lasts from the end of what is waited for. */
static st_status add_waiting(thread_builder *t, const cut *one)
{
    int64_t from_ns = one->waits_ns > t->cursor_ns ? one->waits_ns : t->cursor_ns;
    int64_t rest_ns = one->end_ns > from_ns ? one->end_ns - from_ns : 0;
    st_status status = add_host(t, rest_ns);
    if (status == ST_OK && one->kind == CUT_SYNC)
        status = note_wait(t, one, rest_ns);
    t->cursor_ns = one->end_ns > t->cursor_ns ? one->end_ns : t->cursor_ns;
    return status;
}

static st_status wait_for_tasks(thread_builder *t, uint32_t first)
{
    const st_dependencies *found = &t->r->dependencies;
    st_status status = ST_OK;
    for (uint32_t i = first; i < found->count && status == ST_OK; i++) {
        if (!is_same_wait(&found->items[i], &found->items[first]) ||
            found->items[i].before == ST_TRACE_NONE)
            break;
        status = st_build_later(t->b, t->r, found->items[i].before, t->last, ST_EDGE_SYNC);
    }
    return status;
}

static void set_mark(thread_builder *t, uint32_t item)
{
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
}

static st_status add_cut_task(thread_builder *t, const cut *one)
{
    st_status status = advance(t, one->time_ns);
    t->acts = t->acts || one->kind != CUT_MARK;
    if (status != ST_OK)
        return status;
    switch (one->kind) {
    case CUT_MARK:
        set_mark(t, one->item);
        return ST_OK;
    case CUT_LAUNCH:
        t->r->cut_of_call[one->item] = t->last;
        return ST_OK;
    case CUT_SYNC:
        status = add_waiting(t, one);
        return status == ST_OK ? wait_for_tasks(t, one->item) : status;
    case CUT_RESUME:
        status = add_waiting(t, one);
        t->resumes[one->item] = t->last;
        return status;
    }
    return ST_OK;
}

static st_status add_thread(thread_builder *t, const cut *cuts, size_t count)
{
    char name[64];
    uint32_t track = cuts[0].track;
    (void)snprintf(name, sizeof name, "thread %lld",
                   (long long)t->r->order->trace->tracks[track].number);
    st_status status = st_graph_resource(t->b->graph, t->r->rank, ST_RESOURCE_HOST, name,
                                         &t->resource, t->b->errors);
    t->last = ST_TASK_NONE;
    t->acts = false;
    t->cursor_ns = -t->r->shift_ns; /* the start of the graph, by the clock of the file */
    for (size_t i = 0; i < count && status == ST_OK; i++)
        status = add_cut_task(t, &cuts[i]);
    return status;
}

static st_status add_wakes(thread_builder *t)
{
    const st_dependencies *found = &t->r->dependencies;
    st_status status = ST_OK;
    for (size_t i = 0; i < found->count && status == ST_OK; i++) {
        if (found->items[i].kind == ST_DEPEND_THREAD)
            status = st_graph_edge(t->b->graph, t->marks[i], t->resumes[i], ST_EDGE_PROGRAM,
                                   t->b->errors);
    }
    return status;
}

st_status st_build_threads(st_build *b, st_rank_build *r)
{
    thread_builder t = {.b = b, .r = r};
    size_t dependencies = r->dependencies.count + 1;
    r->out->threads =
        st_arena_alloc(b->out->arena, r->order->trace->track_count + 1, sizeof *r->out->threads);
    r->out->thread_acts = st_arena_alloc(b->out->arena, r->order->trace->track_count + 1,
                                         sizeof *r->out->thread_acts);
    t.marks = st_arena_alloc(b->scratch, dependencies, sizeof *t.marks);
    t.resumes = st_arena_alloc(b->scratch, dependencies, sizeof *t.resumes);
    if (r->out->threads == NULL || r->out->thread_acts == NULL || t.marks == NULL ||
        t.resumes == NULL)
        return ST_ERR_MEMORY;
    st_status status = find_cuts(&t);
    for (size_t first = 0; first < t.count && status == ST_OK;) {
        size_t end = first + 1;
        while (end < t.count && t.cuts[end].track == t.cuts[first].track)
            end++;
        status = add_thread(&t, t.cuts + first, end - first);
        first = end;
    }
    return status == ST_OK ? add_wakes(&t) : status;
}

st_status st_build_later(st_build *b, st_rank_build *r, uint32_t event, st_task_id task,
                         st_edge_kind kind)
{
    return ST_APPEND(b->scratch, r->late, r->late_count, (st_late_edge){event, task, kind})
               ? ST_OK
               : ST_ERR_MEMORY;
}

st_status st_build_syncs(st_build *b, st_rank_build *r)
{
    st_status status = ST_OK;
    for (size_t i = 0; i < r->late_count && status == ST_OK; i++)
        status = st_graph_edge(b->graph, r->out->tasks[r->late[i].event], r->late[i].task,
                               r->late[i].kind, b->errors);
    return status;
}
