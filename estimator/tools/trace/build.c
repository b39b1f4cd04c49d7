/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From traces to one task graph.
 *
 * The host is cut where something waits for it or it waits for something: between the cuts is
 * one task with all that the thread did. Every launch has a task of its own, on lanes that hardly
 * ever queue, for the lag between a call and its kernel.
 */
#include "trace/depend.h"

#include "trace/link.h"
#include "trace/queue.h"
#include "trace/xalloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 16 };

/* An edge from a GPU task that may not have been added yet. */
typedef struct late_edge {
    uint32_t event;
    st_task_id task;
    st_edge_kind kind;
} late_edge;

/* What a launch waits for while the launch queue is full. */
typedef struct slot {
    uint32_t call;     /* an event */
    uint32_t frees;    /* the task that makes room, an event */
    uint32_t usual_ns; /* of the call; at the largest number where it does not fit */
    bool lags;         /* its own task may begin as soon as there is room */
} slot;

/* A GPU task that waits for one of another stream: events, and the place among dependencies. */
typedef struct wait {
    uint32_t task;
    uint32_t before;
    uint32_t place;
} wait;

ST_COMPARE(compare_waits, wait, ST_RISING(task) ST_RISING(place));

typedef struct rank_build {
    const st_order *order;
    st_trace_rank *out;
    st_dependencies dependencies;
    uint32_t rank;    /* of the graph */
    int64_t shift_ns; /* from times of the file to those of the graph */
    wait *waits;      /* on GPU tasks of other streams, by the task that waits; ended */
    size_t wait_count;
    uint32_t *instance_of; /* by event: an instance of the graph, or 0; NULL: there are none */
    int64_t *transfer_ns;  /* by event, in an instance */
    uint32_t *before;      /* by event: the task before it on its stream */
    /* Of calls these are the lists of the rank, which mean GPU tasks alone in the end. */
    st_task_id *cut_of_call; /* by event: the host task that ends where the call begins */
    st_task_id *lag_of_call; /* by event */
    slot *slots;             /* by call */
    size_t slot_count;
    bool room_at_begin; /* tasks make room when they begin, not when they end */
    uint32_t lanes[LANES];
    uint32_t next_lane;
    late_edge *late;
    size_t late_count;
} rank_build;

typedef struct builder {
    st_trace_graph *out;
    st_graph *graph;
    st_order *orders;
    rank_build *ranks;
    st_collation collation;
    st_arena *scratch;
    st_errors *errors;
    st_status status; /* of what failed first: nothing is added after it */
    unsigned without; /* dependencies: ST_GRAPH_WITHOUT_... */
    bool for_path;    /* nothing is kept that changes of durations need */
    uint32_t host_name;
    uint32_t lag_name;
    uint32_t delay_name;
    uint16_t host_category;
    uint16_t delay_category;
    uint16_t class_categories[ST_TRACE_CLASSES];
} builder;

/* What a call waits for in the launch queue; NULL for none. */
static const slot *slot_of_call(const rank_build *r, uint32_t call)
{
    size_t low = 0;
    ST_BISECT(low, r->slot_count, r->slots[middle].call < call);
    return low < r->slot_count && r->slots[low].call == call ? &r->slots[low] : NULL;
}

/* When there is room for a call. */
static int64_t room_ns(const rank_build *r, const slot *one)
{
    const st_trace_event *event = &r->order->trace->events[one->frees];
    return r->room_at_begin ? event->start_ns : st_trace_end_ns(event);
}

/* ST_TASK_NONE after a failure, as below nothing is added. */
static st_task_id add_task(builder *b, const st_task_spec *spec)
{
    st_task_id task = ST_TASK_NONE;
    if (b->status == ST_OK)
        b->status = st_graph_add(b->graph, spec, &task, b->errors);
    return task;
}

static void add_edge(builder *b, st_task_id before, st_task_id after, st_edge_kind kind)
{
    if (b->status == ST_OK)
        b->status = st_graph_edge(b->graph, before, after, kind, b->errors);
}

static uint32_t add_resource(builder *b, const rank_build *r, st_resource_kind kind,
                             const char *name)
{
    uint32_t resource = 0;
    if (b->status == ST_OK)
        b->status = st_graph_resource(b->graph, r->rank, kind, name, &resource, b->errors);
    return resource;
}

/* Remembers an edge of a GPU task that may not have been added yet. */
static void add_late_edge(builder *b, rank_build *r, uint32_t event, st_task_id task,
                          st_edge_kind kind)
{
    ST_XAPPEND(b->scratch, r->late, r->late_count, (late_edge){event, task, kind});
}

/*
 * Kernels that are ready and have no room: another stream's kernel fills the GPU. They begin when
 * its last blocks drain, which is a little before it ends, or right after its end. How long they
 * waited then follows that kernel's time.
 */

/* A shorter wait is the lag of a launch or a queue. */
static const int64_t LEAST_NS = 20000;
/* What begins later after a kernel's end was not waiting for it. */
static const int64_t KERNEL_WAKE_UP_NS = 12000;
/* The last blocks drain within this part of a kernel: 0.7 to 1.5 % where it was seen. */
static const double DRAIN_FRAC = 1.0 / 32;
/* Of its wait the other stream must have been busy for this part. */
static const double LEAST_BUSY_FRAC = 0.9;

/* How long a stream was busy from `from_ns` to `to_ns`; `end` is the place behind its last task. */
static int64_t busy_ns(const st_order *order, uint32_t track, uint32_t end, int64_t from_ns,
                       int64_t to_ns)
{
    int64_t sum = 0;
    for (uint32_t i = end; i > order->by_start.starts[track]; i--) {
        const st_trace_event *event = &order->trace->events[order->by_start.items[i - 1]];
        int64_t begin = event->start_ns > from_ns ? event->start_ns : from_ns;
        int64_t stop = st_trace_end_ns(event) < to_ns ? st_trace_end_ns(event) : to_ns;
        if (st_trace_end_ns(event) <= from_ns)
            break;
        sum += stop > begin ? stop - begin : 0;
    }
    return sum;
}

static bool drains_at(const st_trace_event *kernel, int64_t start_ns)
{
    int64_t left_ns = st_trace_end_ns(kernel) - start_ns;
    double drain_ns = DRAIN_FRAC * (double)kernel->duration_ns;
    return kernel->kind == ST_TRACE_KERNEL && kernel->class_ != ST_TRACE_COMMUNICATION &&
           left_ns >= -KERNEL_WAKE_UP_NS && (double)left_ns <= drain_ns;
}

/*
 * The kernel of another stream that filled the GPU while a task was ready and could not begin, an
 * event; ST_TRACE_NONE where there is none.
 */
static uint32_t find_blocker(const rank_build *r, uint32_t task, int64_t ready_ns)
{
    const st_order *order = r->order;
    const st_trace *trace = order->trace;
    const st_trace_event *event = &trace->events[task];
    int64_t wait_ns = event->start_ns - ready_ns;
    if (event->kind != ST_TRACE_KERNEL || wait_ns < LEAST_NS)
        return ST_TRACE_NONE;
    for (uint32_t t = 0; t < trace->track_count; t++) {
        bool same_gpu = trace->tracks[t].process == trace->tracks[event->track].process;
        uint32_t place = st_order_begun(order, t, event->start_ns);
        if (t == event->track || !same_gpu || place == order->by_start.starts[t])
            continue;
        uint32_t last = order->by_start.items[place - 1];
        if (drains_at(&trace->events[last], event->start_ns) &&
            (double)busy_ns(order, t, place, ready_ns, event->start_ns) >=
                LEAST_BUSY_FRAC * (double)wait_ns)
            return last;
    }
    return ST_TRACE_NONE;
}

/* The host side of a rank's graph: what each thread did between the moments that matter. */

typedef enum cut_kind {
    CUT_MARK,   /* something elsewhere goes on when the thread has come here */
    CUT_LAUNCH, /* a call that launches */
    CUT_SYNC,   /* the host waits for GPU tasks */
    CUT_RESUME  /* a pause that another thread ends */
} cut_kind;

typedef struct cut {
    int64_t time_ns;
    uint32_t track;
    uint32_t item; /* call, (first) dependency or step mark */
    uint8_t kind;  /* cut_kind */
} cut;

/* Of a mark's item: a step, otherwise a dependency. */
static const uint32_t IS_STEP = UINT32_C(1) << 31;
static const uint32_t IS_END = UINT32_MAX; /* of the thread's last call */

/* A call that returns later after what it waits for has waited for something else, too. */
static const int64_t WAKE_UP_NS = 100000;

typedef struct thread_builder {
    builder *b;
    rank_build *r;
    cut *cuts;
    size_t count;
    size_t capacity;
    st_task_id *marks;   /* by dependency */
    st_task_id *resumes; /* by dependency */
    uint32_t resource;   /* of the thread that is built */
    st_task_id last;
    uint32_t room;     /* what the next task waits for, as its launch finds the queue full */
    bool acts;         /* the thread launches or waits */
    int64_t cursor_ns; /* built up to here */
} thread_builder;

/* --- cuts --- */

static void add_cut(thread_builder *t, const cut *one)
{
    st_xdone(ST_ROOM(t->cuts, t->count, t->capacity));
    if (t->cuts != NULL) /* always, which static analysis does not see */
        t->cuts[t->count++] = *one;
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
    for (uint32_t i = 0; i < found->count; i++) {
        const st_dependency *one = &found->items[i];
        if (one->kind == ST_DEPEND_SYNC && (i == 0 || !is_same_wait(&found->items[i - 1], one)))
            add_cut(t, &(cut){.track = event_at(t, one->after)->track,
                              .kind = CUT_SYNC,
                              .time_ns = one->from_ns,
                              .item = i});
    }
}

/* When what is waited for was over. */
static int64_t waited_until_ns(const thread_builder *t, uint32_t first)
{
    const st_dependencies *found = &t->r->dependencies;
    const st_dependency *one = &found->items[first];
    int64_t over_ns = one->kind == ST_DEPEND_SYNC ? one->from_ns : INT64_MIN;
    for (uint32_t i = first; i < found->count && is_same_wait(&found->items[i], one); i++) {
        if (found->items[i].before == ST_TRACE_NONE)
            continue;
        int64_t end_ns = st_trace_end_ns(event_at(t, found->items[i].before));
        over_ns = end_ns > over_ns ? end_ns : over_ns;
        if (one->kind != ST_DEPEND_SYNC)
            break;
    }
    return over_ns;
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

/* --- tasks --- */

static void add_host(thread_builder *t, int64_t duration_ns)
{
    st_task_spec spec = {.resource = t->resource,
                         .name = t->b->host_name,
                         .category = t->b->host_category,
                         .duration_ns = duration_ns > 0 ? duration_ns : 0};
    t->last = add_task(t->b, &spec);
    if (t->room != ST_TRACE_NONE)
        add_late_edge(t->b, t->r, t->room, t->last, ST_EDGE_QUEUE);
    t->room = ST_TRACE_NONE;
}

/*
 * A launch into a full queue: what the thread does from then on waits for room. A call that blocked
 * did its usual work as well, before it blocked or afterwards.
 */
static void wait_for_room(thread_builder *t, const cut *one)
{
    const slot *found = slot_of_call(t->r, one->item);
    if (found == NULL)
        return;
    const st_trace_event *call = event_at(t, one->item);
    st_trace_rank *out = t->r->out;
    int64_t free_ns = room_ns(t->r, found);
    int64_t wait_ns = free_ns - t->cursor_ns;
    if (wait_ns > 0) {
        int64_t work_ns = found->usual_ns - (st_trace_end_ns(call) - free_ns);
        work_ns = work_ns < wait_ns ? work_ns : wait_ns;
        if (work_ns > 0)
            add_host(t, work_ns);
        wait_ns -= work_ns > 0 ? work_ns : 0;
        t->cursor_ns = free_ns;
    }
    if (wait_ns > 0)
        ST_XAPPEND(t->b->out->arena, out->blocked_calls, out->blocked_call_count,
                   (st_trace_blocked){one->item, wait_ns});
    t->room = found->frees;
}

/* A task that waits for others: it lasts from the end of what is waited for. */
static void add_waiting(thread_builder *t, const cut *one)
{
    const st_dependency *waits = &t->r->dependencies.items[one->item];
    int64_t over_ns = waited_until_ns(t, one->item);
    int64_t from_ns = over_ns > t->cursor_ns ? over_ns : t->cursor_ns;
    int64_t rest_ns = waits->to_ns > from_ns ? waits->to_ns - from_ns : 0;
    if (one->kind == CUT_SYNC && (t->b->without & ST_GRAPH_WITHOUT_SYNC) != 0)
        rest_ns = 0;
    add_host(t, rest_ns);
    if (one->kind == CUT_SYNC) {
        /* Counts what the host waits for the GPU, and what of it nothing that is known explains. */
        st_trace_waiting *waiting = &t->r->out->waiting;
        waiting->count++;
        waiting->total_ns = st_add_ns(waiting->total_ns, waits->to_ns - one->time_ns);
        if (rest_ns > WAKE_UP_NS) {
            if (waits->is_own) {
                waiting->own_ns = st_add_ns(waiting->own_ns, rest_ns);
            } else {
                waiting->unknown_ns = st_add_ns(waiting->unknown_ns, rest_ns);
                ST_XAPPEND(t->b->out->arena, waiting->unknown, waiting->unknown_count, t->last);
            }
        }
    }
    t->cursor_ns = waits->to_ns > t->cursor_ns ? waits->to_ns : t->cursor_ns;
}

static void wait_for_tasks(thread_builder *t, uint32_t first)
{
    const st_dependencies *found = &t->r->dependencies;
    for (uint32_t i = first; i < found->count; i++) {
        if ((t->b->without & ST_GRAPH_WITHOUT_SYNC) != 0 ||
            !is_same_wait(&found->items[i], &found->items[first]) ||
            found->items[i].before == ST_TRACE_NONE)
            break;
        add_late_edge(t->b, t->r, found->items[i].before, t->last, ST_EDGE_SYNC);
    }
}

static void add_cut_task(thread_builder *t, const cut *one)
{
    /* All that the thread did until a time. */
    const int64_t time_ns = one->time_ns;
    if (time_ns > t->cursor_ns || t->last == ST_TASK_NONE || t->room != ST_TRACE_NONE) {
        add_host(t, time_ns - t->cursor_ns);
        t->cursor_ns = time_ns > t->cursor_ns ? time_ns : t->cursor_ns;
    }
    t->acts = t->acts || one->kind != CUT_MARK;
    switch ((cut_kind)one->kind) {
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
        wait_for_room(t, one);
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

/* Adds the host tasks of a rank, and the edges between its threads. */
static void build_threads(builder *b, rank_build *r)
{
    thread_builder t = {.b = b, .r = r, .room = ST_TRACE_NONE};
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
        t.resource = add_resource(t.b, t.r, ST_RESOURCE_HOST, name);
        t.last = ST_TASK_NONE;
        t.room = ST_TRACE_NONE;
        t.acts = false;
        t.cursor_ns = -t.r->shift_ns; /* the start of the graph, by the clock of the file */
        for (size_t i = 0; i < count; i++)
            add_cut_task(&t, &cuts[i]);
        first = end;
    }
    free(t.cuts);
    const st_dependencies *found = &t.r->dependencies;
    for (size_t i = 0; i < found->count; i++) {
        if (found->items[i].kind == ST_DEPEND_THREAD)
            add_edge(t.b, t.marks[i], t.resumes[i], ST_EDGE_PROGRAM);
    }
}

/* Fewer collectives that contradict each other may be mismatched at the ends of the recording. */
enum { LEAST_CONTRADICTED = 4 };

/* An expected delay, and none of a graph's. */
static const int64_t NOT_RECORDED = INT64_MAX - 1;
/* No launch into an empty stream takes longer: docs/traces.md lists the lags of GPUs. */
static const int64_t MOST_LAG_NS = 100000;

/* --- times --- */

/* A time of the rank's file as one of the graph. */
static int64_t at(const rank_build *r, int64_t time_ns)
{
    return time_ns + r->shift_ns;
}

/* Median launch lags and gaps: what a task may be late without a reason. */
static int64_t quantile(int64_t *values, size_t count, double share)
{
    if (count == 0)
        return 0;
    qsort(values, count, sizeof *values, st_order_times);
    return values[(size_t)(share * (double)(count - 1))];
}

/* --- GPU tasks --- */

static uint32_t add_name(builder *b, const char *text)
{
    uint32_t name = 0;
    if (b->status == ST_OK)
        b->status = st_graph_name(b->graph, text, &name, b->errors);
    return name;
}

static uint16_t add_category(builder *b, const char *name, st_work work)
{
    uint16_t category = 0;
    if (b->status == ST_OK)
        b->status = st_graph_category(b->graph, name, work, &category, b->errors);
    return category;
}

/* When a task was launched: not before there was room for it. */
static int64_t launched_ns(const rank_build *r, uint32_t task)
{
    const slot *one = slot_of_call(r, r->order->call_of[task]);
    int64_t launch_ns = st_order_launch_ns(r->order, task);
    int64_t free_ns = one == NULL ? launch_ns : room_ns(r, one);
    return free_ns > launch_ns ? free_ns : launch_ns;
}

/* What of a task's lateness is the lag of its launch. */
static int64_t lag_of(const rank_build *r, uint32_t task)
{
    int64_t late = r->order->trace->events[task].start_ns - launched_ns(r, task);
    int64_t lag = late < r->out->launch_lag_ns ? late : r->out->launch_lag_ns;
    return lag > 0 ? lag : 0;
}

/* The first wait of a task; those behind it with the same task are its own, too. */
static const wait *waits_of(const rank_build *r, uint32_t task)
{
    size_t low = 0;
    ST_BISECT(low, r->wait_count, r->waits[middle].task < task);
    return r->waits + low;
}

/* When all that the task is known to wait for was over, in the recording. */
static int64_t ready_ns(const rank_build *r, uint32_t task, int64_t stream_end_ns)
{
    int64_t ready = stream_end_ns;
    const st_trace_event *events = r->order->trace->events;
    if (r->order->call_of[task] != ST_TRACE_NONE) {
        int64_t launched = launched_ns(r, task) + lag_of(r, task);
        ready = launched > ready ? launched : ready;
    }
    for (const wait *one = waits_of(r, task); one->task == task; one++) {
        int64_t end = st_trace_end_ns(&events[one->before]);
        ready = end > ready ? end : ready;
    }
    return ready;
}

/* How long a task is late: all of it, what of that is no surprise, and the kernel that was in its
 * way. */
typedef struct lateness {
    int64_t delay_ns;
    int64_t usual_ns;
    uint32_t blocker; /* event, or ST_TRACE_NONE */
} lateness;

static st_task_id add_delay(builder *b, rank_build *r, uint32_t resource, const lateness *late)
{
    int64_t delay_ns = late->delay_ns;
    int64_t usual_ns = late->usual_ns;
    bool blocked = late->blocker != ST_TRACE_NONE;
    st_trace_graph *out = b->out;
    int64_t explained = delay_ns < usual_ns ? delay_ns : usual_ns;
    bool is_left_out = !blocked && (b->without & ST_GRAPH_WITHOUT_DELAYS) != 0;
    st_task_spec spec = {.resource = resource,
                         .name = b->delay_name,
                         .category = b->delay_category,
                         .duration_ns = is_left_out ? explained : delay_ns};
    st_task_id task = add_task(b, &spec);
    const st_delay delay = {.task = task,
                            .recorded_ns = delay_ns,
                            .explained_ns = blocked ? delay_ns : explained,
                            .blocker = blocked ? late->blocker : ST_TASK_NONE,
                            .blocker_ns =
                                blocked ? r->order->trace->events[late->blocker].duration_ns : 0};
    if (b->status == ST_OK && !b->for_path)
        ((st_delay *)out->delays)[out->delay_count++] = delay;
    if (blocked) {
        r->out->blocked++;
        r->out->blocked_ns = st_add_ns(r->out->blocked_ns, delay_ns);
        return task;
    }
    if (usual_ns == INT64_MAX)
        r->out->graphs_ns = st_add_ns(r->out->graphs_ns, delay_ns);
    r->out->unexplained += delay_ns > explained;
    r->out->unexplained_ns = st_add_ns(r->out->unexplained_ns, delay_ns - explained);
    return task;
}

static bool is_of_graph(const rank_build *r, uint32_t task)
{
    const st_trace *trace = r->order->trace;
    uint32_t call = task == ST_TRACE_NONE ? ST_TRACE_NONE : r->order->call_of[task];
    return call != ST_TRACE_NONE &&
           strstr(trace->names[trace->events[call].name], "GraphLaunch") != NULL;
}

/* The expected part of a delay: the time of a graph's nodes, and the usual gap in a queue. */
static int64_t usual_delay(const rank_build *r, uint32_t task, uint32_t before, int64_t ready_ns,
                           int64_t stream_end_ns)
{
    /* What a task without a launch waited for may have been before the recording. */
    if (r->order->call_of[task] == ST_TRACE_NONE)
        return NOT_RECORDED;
    bool queued = ready_ns == stream_end_ns;
    bool graphs = is_of_graph(r, task) || is_of_graph(r, before);
    /* When the task's graph had come to it: the end of what it follows of the same launch. What
     * passes from then on is the graph's own time, in which nodes run that profilers do not
     * record; a graph keeps it. INT64_MIN for a task that begins a launch. */
    const st_order *order = r->order;
    uint32_t call = order->call_of[task];
    int64_t graph_ns = INT64_MIN;
    if (before != ST_TRACE_NONE && order->call_of[before] == call)
        graph_ns = st_trace_end_ns(&order->trace->events[before]);
    for (const wait *one = waits_of(r, task); one->task == task; one++) {
        uint32_t other = one->before;
        int64_t end = st_trace_end_ns(&order->trace->events[other]);
        if (order->call_of[other] == call && end > graph_ns)
            graph_ns = end;
    }
    if (graph_ns >= ready_ns || (queued && graphs))
        return INT64_MAX;
    return queued ? r->out->queue_gap_ns : 0;
}

/* `before`: the one before it on its stream, or ST_TRACE_NONE. */
static void add_gpu_task(builder *b, rank_build *r, uint32_t resource, uint32_t event,
                         uint32_t before, int64_t *stream_end_ns)
{
    const st_trace_event *e = &r->order->trace->events[event];
    uint32_t call = r->order->call_of[event];
    bool waits = waits_of(r, event)->task == event;
    bool pinned = call == ST_TRACE_NONE && before == ST_TRACE_NONE && !waits;
    int64_t ready = ready_ns(r, event, *stream_end_ns);
    int64_t start = e->start_ns > *stream_end_ns ? e->start_ns : *stream_end_ns;
    int64_t end = st_trace_end_ns(e) > start ? st_trace_end_ns(e) : start;
    int64_t delay = !pinned && start > ready ? start - ready : 0;
    uint32_t instance = r->instance_of == NULL ? 0 : r->instance_of[event];
    st_task_spec spec = {.resource = resource,
                         .name = add_name(b, r->order->trace->names[e->name]),
                         .category = b->class_categories[e->class_],
                         .duration_ns = instance != 0 ? r->transfer_ns[event] : end - start,
                         .instance = instance,
                         .earliest_ns = pinned ? at(r, start) : 0};
    st_task_id first = ST_TASK_NONE;
    r->out->unlaunched += call == ST_TRACE_NONE;
    if (call != ST_TRACE_NONE && r->out->hosts != NULL)
        r->out->hosts[event] = r->cut_of_call[call];
    if (delay > 0) {
        lateness late = {delay, usual_delay(r, event, before, ready, *stream_end_ns),
                         ST_TRACE_NONE};
        if (late.usual_ns < delay)
            late.blocker = find_blocker(r, event, ready);
        first = add_delay(b, r, resource, &late);
    }
    r->out->tasks[event] = add_task(b, &spec);
    if (r->before != NULL)
        r->before[event] = before;
    *stream_end_ns = end;
    /* The first task of a GPU task: its delay, or itself. */
    const st_task_id wait_first = first != ST_TASK_NONE ? first : r->out->tasks[event];
    if (call != ST_TRACE_NONE)
        add_edge(b, r->lag_of_call[call], wait_first, ST_EDGE_LAUNCH);
    for (const wait *one = waits_of(r, event); one->task == event; one++) {
        const st_trace_event *other = &r->order->trace->events[one->before];
        if ((b->without & ST_GRAPH_WITHOUT_STREAMS) == 0 || other->class_ == ST_TRACE_COMMUNICATION)
            add_late_edge(b, r, one->before, wait_first, ST_EDGE_STREAM);
    }
}

static st_resource_kind stream_kind(const rank_build *r, uint32_t track)
{
    const st_lists *tasks = &r->order->by_start;
    uint32_t communication = 0;
    uint32_t count = tasks->starts[track + 1] - tasks->starts[track];
    for (uint32_t i = tasks->starts[track]; i < tasks->starts[track + 1]; i++)
        communication += r->order->trace->events[tasks->items[i]].class_ == ST_TRACE_COMMUNICATION;
    return 2 * communication > count ? ST_RESOURCE_COMMUNICATION : ST_RESOURCE_COMPUTE;
}

/* Whether a launch waits for room. Of a queue that was never full every 16th does, which lets the
 * host be ahead by as many, and saves memory. */
static bool waits_for_room(const st_launch_queue *q, size_t entry)
{
    enum { APART = 16 };
    return q->entries[entry].frees != ST_TRACE_NONE && (q->is_seen || entry % APART == 0);
}

ST_COMPARE(compare_slots, slot, ST_RISING(call));

/* Which launches wait for room in the launch queue. */
static void find_slots(builder *b, rank_build *r)
{
    enum { SHALLOW = 64 };
    st_launch_queues queues;
    st_trace_queue *out = &r->out->queue;
    st_arena *scratch = st_xarena();
    st_queues_find(r->order, scratch, &queues);
    size_t most = 0;
    for (size_t i = 0; i < queues.count; i++)
        for (size_t k = 0; k < queues.items[i].count; k++)
            most += waits_for_room(&queues.items[i], k);
    r->slots = st_xalloc(b->scratch, most + 1, sizeof *r->slots);
    for (size_t i = 0; i < queues.count; i++) {
        const st_launch_queue *q = &queues.items[i];
        out->depth = q->depth > out->depth ? q->depth : out->depth;
        out->is_seen = out->is_seen || q->is_seen;
        out->usual_ns = q->is_seen ? q->usual_ns : out->usual_ns;
        for (size_t k = 0; k < q->count; k++) {
            const st_queue_entry *one = &q->entries[k];
            if (!waits_for_room(q, k))
                continue;
            bool lags = q->depth < SHALLOW || !q->is_stream;
            uint32_t usual_ns = q->usual_ns < UINT32_MAX ? (uint32_t)q->usual_ns : UINT32_MAX;
            r->slots[r->slot_count++] = (slot){one->call, one->frees, usual_ns, lags};
        }
    }
    st_sort(r->slots, r->slot_count, sizeof *r->slots, compare_slots);
    out->waiting = r->slot_count;
    r->room_at_begin = queues.at_begin;
    if (r->room_at_begin && r->before == NULL)
        r->before = st_xalloc(b->scratch, r->order->trace->event_count + 2, sizeof *r->before);
    st_arena_destroy(scratch);
}

/* A task waits until a GPU task begins: for its delay, or for all that the GPU task waits for. */
static void wait_for_begin(builder *b, const rank_build *r, uint32_t event, st_task_id waiter,
                           st_edge_kind kind)
{
    st_task_id task = r->out->tasks[event];
    uint32_t before = r->before[event];
    uint32_t call = r->order->call_of[event];
    if (b->status == ST_OK && task > 0 &&
        st_graph_task(b->graph, task - 1).resource == st_graph_task(b->graph, task).resource &&
        st_graph_task(b->graph, task - 1).category == b->delay_category) {
        add_edge(b, task - 1, waiter, kind);
        return;
    }
    if (before != ST_TRACE_NONE)
        add_edge(b, r->out->tasks[before], waiter, kind);
    if (call != ST_TRACE_NONE)
        add_edge(b, r->lag_of_call[call], waiter, kind);
    for (const wait *one = waits_of(r, event); one->task == event; one++)
        add_edge(b, r->out->tasks[one->before], waiter, kind);
}

/* Edges and blockers that had to wait until all tasks of the rank are there. */
static void end_rank(builder *b, rank_build *r, size_t first)
{
    /* Blockers of the rank become tasks, which are all there now. */
    st_delay *delays = b->out->delays;
    for (size_t i = first; i < b->out->delay_count; i++)
        if (delays[i].blocker != ST_TASK_NONE)
            delays[i].blocker = r->out->tasks[delays[i].blocker];
    for (size_t i = 0; i < r->late_count; i++) {
        const late_edge *late = &r->late[i];
        if (late->kind == ST_EDGE_QUEUE && r->room_at_begin)
            wait_for_begin(b, r, late->event, late->task, late->kind);
        else
            add_edge(b, r->out->tasks[late->event], late->task, late->kind);
    }
}

static void build_rank(builder *b, rank_build *r)
{
    size_t first = b->out->delay_count;
    find_slots(b, r);
    /* The lag only of launches into an empty stream, the gap only of tasks that waited in a queue.
     */
    const st_order *order = r->order;
    const st_trace *trace = order->trace;
    int64_t *lags = st_xmalloc((order->gpu_count + 1) * sizeof *lags);
    int64_t *gaps = st_xmalloc((order->gpu_count + 1) * sizeof *gaps);
    size_t lag_count = 0;
    size_t gap_count = 0;
    for (size_t t = 0; t < trace->track_count; t++) {
        int64_t before = INT64_MIN;
        for (uint32_t i = order->by_start.starts[t]; i < order->by_start.starts[t + 1]; i++) {
            uint32_t task = order->by_start.items[i];
            int64_t start = trace->events[task].start_ns;
            int64_t launch = launched_ns(r, task);
            if (order->call_of[task] != ST_TRACE_NONE && before <= launch && start >= launch)
                lags[lag_count++] = start - launch;
            else if (before > launch && start >= before)
                gaps[gap_count++] = start - before;
            before = st_trace_end_ns(&trace->events[task]);
        }
    }
    int64_t lag_ns = quantile(lags, lag_count, 0.05);
    /* Of few launches all may have waited for something else. */
    r->out->launch_lag_ns = lag_ns < MOST_LAG_NS ? lag_ns : MOST_LAG_NS;
    r->out->queue_gap_ns = quantile(gaps, gap_count, 0.5);
    free(lags);
    free(gaps);
    build_threads(b, r);
    /* The lags of launches, from the host's cut at the call, in the order of the calls on the
     * lanes. */
    const st_lists *tasks = &r->order->call_tasks;
    for (size_t i = 0; i < LANES; i++)
        r->lanes[i] = add_resource(b, r, ST_RESOURCE_HOST, "launches");
    for (uint32_t call = 0; call < r->order->trace->event_count; call++) {
        if (tasks->starts[call] == tasks->starts[call + 1])
            continue;
        st_task_spec spec = {.resource = r->lanes[r->next_lane++ % LANES],
                             .name = b->lag_name,
                             .category = b->delay_category,
                             .duration_ns = lag_of(r, tasks->items[tasks->starts[call]])};
        st_task_id from = r->cut_of_call[call]; /* of a path, the lists are one */
        r->lag_of_call[call] = add_task(b, &spec);
        add_edge(b, from, r->lag_of_call[call], ST_EDGE_LAUNCH);
        const slot *room = slot_of_call(r, call);
        if (room != NULL && room->lags)
            add_late_edge(b, r, room->frees, r->lag_of_call[call], ST_EDGE_QUEUE);
    }
    st_order_free(&b->orders[r - b->ranks]);
    for (uint32_t t = 0; t < r->order->trace->track_count; t++) {
        const st_lists *stream_tasks = &r->order->by_start;
        char name[64];
        int64_t stream_end_ns = r->order->start_ns;
        if (stream_tasks->starts[t] == stream_tasks->starts[t + 1])
            continue;
        (void)snprintf(name, sizeof name, "stream %lld",
                       (long long)r->order->trace->tracks[t].number);
        uint32_t resource = add_resource(b, r, stream_kind(r, t), name);
        for (uint32_t i = stream_tasks->starts[t];
             i < stream_tasks->starts[t + 1] && b->status == ST_OK; i++) {
            uint32_t before =
                i > stream_tasks->starts[t] ? stream_tasks->items[i - 1] : ST_TRACE_NONE;
            add_gpu_task(b, r, resource, stream_tasks->items[i], before, &stream_end_ns);
        }
    }
    end_rank(b, r, first);
}

/* --- ranks --- */

static void allocate_rank(builder *b, rank_build *r)
{
    st_arena *arena = b->out->recorded;
    size_t events = r->order->trace->event_count + 2;
    r->out->tasks = st_xalloc(arena, events, sizeof *r->out->tasks);
    r->out->hosts = b->for_path ? NULL : st_xalloc(arena, events, sizeof *r->out->hosts);
    r->lag_of_call = r->out->tasks;
    r->cut_of_call = b->for_path ? r->out->tasks : r->out->hosts;
    if (b->collation.instance_count + b->collation.messages.count > 0) {
        r->instance_of = st_xalloc(b->scratch, events, sizeof *r->instance_of);
        r->transfer_ns = st_xalloc(b->scratch, events, sizeof *r->transfer_ns);
        r->before = st_xalloc(b->scratch, events, sizeof *r->before);
    }
    r->waits = st_xalloc(b->scratch, r->dependencies.count + 1, sizeof *r->waits);
    for (uint32_t i = 0; i < r->dependencies.count; i++) {
        const st_dependency *one = &r->dependencies.items[i];
        if (one->kind == ST_DEPEND_STREAM)
            r->waits[r->wait_count++] = (wait){one->after, one->before, i};
    }
    st_sort(r->waits, r->wait_count, sizeof *r->waits, compare_waits);
    r->waits[r->wait_count].task = ST_TRACE_NONE; /* ends the last list */
    for (size_t i = 0; i < events; i++)
        r->lag_of_call[i] = r->cut_of_call[i] = ST_TASK_NONE;
}

/* The graph begins with the first event of any rank. */
static void align(builder *b)
{
    int64_t first = INT64_MAX;
    size_t count = b->out->set->count;
    for (size_t i = 0; i < count; i++) {
        rank_build *r = &b->ranks[i];
        r->shift_ns = st_trace_base_ns(r->order->trace) + b->collation.offsets_ns[i];
        first = at(r, r->order->start_ns) < first ? at(r, r->order->start_ns) : first;
    }
    for (size_t i = 0; i < count; i++) {
        rank_build *r = &b->ranks[i];
        r->shift_ns -= first;
        r->out->clock_ns = b->collation.offsets_ns[i];
        r->out->start_ns = at(r, r->order->start_ns);
        r->out->end_ns = at(r, r->order->end_ns);
    }
    for (size_t m = 0; m < b->collation.instance_count; m++)
        b->collation.instances[m].last_start_ns -= first;
}

/* Instances of the graph, and how long each member goes on after the last has come. */
static void add_instances(builder *b)
{
    const st_collation *found = &b->collation;
    for (size_t m = 0; m < found->instance_count && b->status == ST_OK; m++) {
        const st_instance *instance = &found->instances[m];
        uint32_t number = 0;
        if (instance->dropped)
            continue;
        b->status = st_graph_instance(b->graph, instance->count, &number, b->errors);
        for (size_t i = instance->first; i < instance->first + instance->count; i++) {
            const st_instance_member *member = &found->members[i];
            rank_build *r = &b->ranks[member->rank];
            int64_t end = at(r, st_trace_end_ns(&r->order->trace->events[member->event]));
            int64_t transfer = end - instance->last_start_ns;
            r->instance_of[member->event] = number;
            r->transfer_ns[member->event] = transfer > 0 ? transfer : 0;
        }
    }
}

/*
 * Receives of buffered messages: each meets the moment at which its send begins, a task of no time
 * that waits for all that the send does. Those of one direction follow each other.
 */
static void add_arrivals(builder *b)
{
    const st_messages *found = &b->collation.messages;
    uint32_t resource = 0;
    const st_trace_message *last = NULL;
    for (size_t i = 0; i < found->count && b->status == ST_OK; i++) {
        const st_trace_message *one = &found->items[i];
        if (!one->buffered)
            continue;
        rank_build *from = &b->ranks[one->from];
        if (last == NULL || last->from != one->from || last->to != one->to)
            resource = add_resource(b, &b->ranks[one->to], ST_RESOURCE_HOST, "messages");
        last = one;
        st_task_spec spec = {.resource = resource,
                             .name = b->delay_name,
                             .category = b->delay_category,
                             .instance = b->ranks[one->to].instance_of[one->receive]};
        st_task_id arrival = add_task(b, &spec);
        wait_for_begin(b, from, one->send, arrival, ST_EDGE_USER);
    }
}

/* An instance for each buffered message: what it takes from the moment on at which it is sent and
 * awaited. */
static void add_message_instances(builder *b)
{
    const st_messages *found = &b->collation.messages;
    for (size_t i = 0; i < found->count && b->status == ST_OK; i++) {
        const st_trace_message *one = &found->items[i];
        rank_build *from = &b->ranks[one->from];
        rank_build *to = &b->ranks[one->to];
        const st_trace_event *receive = &to->order->trace->events[one->receive];
        int64_t sent_ns = at(from, from->order->trace->events[one->send].start_ns);
        int64_t begin_ns = at(to, receive->start_ns);
        begin_ns = begin_ns > sent_ns ? begin_ns : sent_ns;
        if (!one->buffered)
            continue;
        b->status = st_graph_instance(b->graph, 2, &to->instance_of[one->receive], b->errors);
        int64_t rest_ns = at(to, st_trace_end_ns(receive)) - begin_ns;
        to->transfer_ns[one->receive] = rest_ns > 0 ? rest_ns : 0;
    }
}

/* Collectives of one run end when all ranks have come; those of two seldom do. */
static st_status refuse_other_runs(builder *b)
{
    const st_trace_edges *edges = &b->collation.edges;
    uint64_t met = edges->exact + edges->inferred;
    uint64_t all = edges->contradicted + met;
    const st_trace_set *set = b->out->set;
    if (edges->contradicted > 0)
        st_report(b->errors, ST_SEVERITY_WARNING, ST_ERR_VALUE, (st_place){0},
                  "%llu of %llu collectives contradict each other across ranks: they keep their "
                  "recorded durations",
                  (unsigned long long)edges->contradicted, (unsigned long long)all);
    if (edges->contradicted < LEAST_CONTRADICTED || edges->contradicted <= met)
        return ST_OK;
    return st_fail(b->errors, ST_ERR_VALUE, (st_place){.file = set->ranks[set->count - 1]->file},
                   "the collectives of the ranks contradict each other" ST_FOUND
                   "%llu of %llu that end on one rank before another one has come" ST_EXPECTED
                   "ranks of one run",
                   (unsigned long long)edges->contradicted, (unsigned long long)all);
}

/* Ranks that have collectives, and none with any other rank, may be of different jobs. */
static void warn_alone(builder *b)
{
    const st_collation *found = &b->collation;
    size_t count = b->out->set->count;
    size_t *members = st_xalloc(b->scratch, count, sizeof *members);
    bool *meets = st_xalloc(b->scratch, count, sizeof *meets);
    for (size_t i = 0; i < found->member_count; i++)
        members[found->members[i].rank]++;
    for (size_t m = 0; m < found->instance_count; m++) {
        const st_instance *one = &found->instances[m];
        for (size_t i = one->first; i < one->first + one->count; i++)
            meets[found->members[i].rank] = meets[found->members[i].rank] || !one->dropped;
    }
    for (size_t i = 0; i < found->messages.count; i++)
        meets[found->messages.items[i].from] = meets[found->messages.items[i].to] = true;
    for (size_t i = 0; i < count; i++) {
        if (members[i] == 0 || meets[i] || count < 2)
            continue;
        st_report(b->errors, ST_SEVERITY_WARNING, ST_ERR_VALUE,
                  (st_place){.file = b->out->set->ranks[i]->file},
                  "none of its %zu collectives occurs in another file: they keep their recorded "
                  "durations",
                  members[i]);
    }
}

/* Lists of a rank forget the tasks of calls, which building alone needs. */
static void forget_calls(rank_build *r)
{
    const st_trace *trace = r->out->trace;
    for (size_t i = 0; i < trace->event_count; i++)
        if (!st_trace_is_gpu(&trace->events[i]))
            r->lag_of_call[i] = r->cut_of_call[i] = ST_TASK_NONE;
}

static st_status build(builder *b)
{
    st_trace_graph *out = b->out;
    size_t count = out->set->count;
    for (size_t i = 0; i < count; i++)
        st_gpu_clock_order(out->set->ranks[i], b->scratch, &b->orders[i],
                           &out->ranks[i].gpu_late_ns);
    st_collate(b->orders, count, b->scratch, &b->collation);
    b->status = refuse_other_runs(b);
    if (b->status == ST_OK) {
        /* Machines keep their clocks within milliseconds; further off is a rank of another run,
         * whose collectives may happen to fit, or a wrong clock. */
        static const int64_t far_ns = 1000000000;
        const st_trace_set *set = b->out->set;
        for (size_t i = 1; i < set->count; i++) {
            int64_t apart_ns = b->collation.offsets_ns[i] - b->collation.offsets_ns[0];
            if (apart_ns > far_ns || apart_ns < -far_ns)
                st_report(
                    b->errors, ST_SEVERITY_WARNING, ST_ERR_VALUE,
                    (st_place){.file = set->ranks[i]->file},
                    "its clock is %.3f s %s that of %s if both record the same collectives: it "
                    "may be of another run",
                    fabs((double)apart_ns) / 1e9, apart_ns < 0 ? "ahead of" : "behind",
                    set->ranks[0]->file);
        }
        warn_alone(b);
        for (size_t i = 0; i < count && b->without == 0; i++)
            st_order_judge(&b->orders[i], b->errors);
    }
    for (size_t i = 0; i < count && b->status == ST_OK; i++) {
        rank_build *r = &b->ranks[i];
        const st_trace *trace = b->out->set->ranks[i];
        r->order = &b->orders[i];
        r->out = &b->out->ranks[i];
        r->out->trace = trace;
        r->rank =
            trace->rank >= 0 && trace->rank < UINT32_MAX ? (uint32_t)trace->rank : (uint32_t)i;
        st_depend_find(r->order, b->scratch, &r->dependencies);
        allocate_rank(b, r);
        memcpy(r->out->edges, r->dependencies.edges, sizeof r->out->edges);
    }
    if (b->status != ST_OK)
        return b->status;
    align(b);
    out->instances = b->collation.edges;
    out->most_apart_ns = b->collation.most_apart_ns;
    out->inferred_groups = b->collation.inferred_groups;
    out->message_count = b->collation.messages.count;
    out->unmatched_messages = b->collation.messages.unmatched;
    out->outside_messages = b->collation.messages.outside;
    out->messages = st_xalloc(out->arena, out->message_count + 1, sizeof *out->messages);
    if (out->message_count > 0)
        memcpy(out->messages, b->collation.messages.items,
               out->message_count * sizeof *out->messages);
    if (out->unmatched_messages > 0)
        st_report(b->errors, ST_SEVERITY_WARNING, ST_ERR_VALUE, (st_place){0},
                  "%zu sends or receives have no partner in the recordings: they keep their "
                  "recorded durations",
                  out->unmatched_messages);
    b->host_category = add_category(b, "host", ST_WORK_NONE);
    b->delay_category = add_category(b, "delay", ST_WORK_NONE);
    for (int i = 0; i < ST_TRACE_CLASSES; i++)
        b->class_categories[i] = add_category(
            b, i == ST_TRACE_OTHER ? "other kernels" : st_trace_class_name((st_trace_class)i),
            i == ST_TRACE_COMMUNICATION ? ST_WORK_COMMUNICATION : ST_WORK_COMPUTE);
    b->host_name = add_name(b, "host");
    b->lag_name = add_name(b, "launch");
    b->delay_name = add_name(b, "delay");
    add_instances(b);
    add_message_instances(b);
    size_t delays = 1; /* of a GPU task at most one; what is not used costs no memory */
    for (size_t i = 0; i < count; i++)
        delays += b->orders[i].gpu_count;
    out->delays = st_xalloc(out->recorded, delays, sizeof(st_delay));
    for (size_t i = 0; i < count && b->status == ST_OK; i++)
        build_rank(b, &b->ranks[i]);
    add_arrivals(b);
    for (size_t i = 0; i < count; i++)
        forget_calls(&b->ranks[i]);
    return b->status;
}

st_status st_trace_graph_make_without(const st_trace_set *set, unsigned without, st_trace_set *shed,
                                      st_trace_graph **graph, st_errors *errors)
{
    st_status status = st_trace_need_work(set, errors);
    if (status != ST_OK)
        return status;
    st_arena *arena = st_xarena();
    builder b = {.scratch = st_xarena(),
                 .errors = errors,
                 .without = without,
                 .for_path = shed != NULL,
                 .graph = st_xmemory(st_graph_create(NULL))};
    b.out = st_xalloc(arena, 1, sizeof *b.out);
    *b.out =
        (st_trace_graph){.graph = b.graph, .set = set, .arena = arena, .recorded = st_xarena()};
    b.out->ranks = st_xalloc(arena, set->count, sizeof *b.out->ranks);
    b.orders = st_xalloc(b.scratch, set->count, sizeof *b.orders);
    b.ranks = st_xalloc(b.scratch, set->count, sizeof *b.ranks);
    status = build(&b);
    for (size_t i = 0; i < set->count; i++)
        st_order_free(&b.orders[i]);
    st_arena_destroy(b.scratch); /* before sealing, which needs memory of its own */
    if (shed != NULL)
        st_trace_graph_shed(b.out, shed);
    if (status == ST_OK)
        status = st_graph_seal(b.graph, errors);
    if (status == ST_OK)
        *graph = b.out;
    else
        st_trace_graph_destroy(b.out);
    return status;
}

st_status st_trace_graph_make(const st_trace_set *set, st_trace_graph **graph, st_errors *errors)
{
    return st_trace_graph_make_without(set, 0, NULL, graph, errors);
}

st_status st_trace_graph_of_path(st_trace_set *set, unsigned without, st_trace_graph **graph,
                                 st_errors *errors)
{
    for (size_t i = 0; i < set->count; i++) {
        st_depend_thin(set->ranks[i]);
        st_gpu_clock_mend(set->ranks[i]);
    }
    return st_trace_graph_make_without(set, without, set, graph, errors);
}

void st_trace_graph_destroy(st_trace_graph *graph)
{
    if (graph == NULL)
        return;
    st_graph_destroy(graph->graph);
    st_arena_destroy(graph->recorded);
    st_arena_destroy(graph->arena);
}
