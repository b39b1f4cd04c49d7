/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From traces to one task graph.
 *
 * The host is cut where something waits for it or it waits for something: between the cuts is
 * one task with all that the thread did. Every launch has a task of its own, on lanes that hardly
 * ever queue, for the lag between a call and its kernel.
 */
#include "trace/build.h"

#include "trace/gpu_clock.h"
#include "trace/xalloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Fewer collectives that contradict each other may be mismatched at the ends of the recording. */
enum { LEAST_CONTRADICTED = 4 };

/* An expected delay, and none of a graph's. */
static const int64_t NOT_RECORDED = INT64_MAX - 1;
/* No launch into an empty stream takes longer: docs/traces.md lists the lags of GPUs. */
static const int64_t MOST_LAG_NS = 100000;

/* --- times
 * ---------------------------------------------------------------------------------------- */

/* A time of the rank's file as one of the graph. */
static int64_t at(const st_rank_build *r, int64_t time_ns)
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

/* The lag only of launches into an empty stream, the gap only of tasks that waited in a queue. */
static void measure(st_rank_build *r)
{
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
            int64_t launch = order->launch_ns[task];
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
}

/* --- GPU tasks
 * ------------------------------------------------------------------------------------ */

static uint32_t add_name(st_build *b, const char *text)
{
    uint32_t name = 0;
    if (b->status == ST_OK)
        b->status = st_graph_name(b->graph, text, &name, b->errors);
    return name;
}

static uint16_t add_category(st_build *b, const char *name, st_work work)
{
    uint16_t category = 0;
    if (b->status == ST_OK)
        b->status = st_graph_category(b->graph, name, work, &category, b->errors);
    return category;
}

/* What of a task's lateness is the lag of its launch. */
static int64_t lag_of(const st_rank_build *r, uint32_t task)
{
    int64_t late = r->order->trace->events[task].start_ns - r->order->launch_ns[task];
    int64_t lag = late < r->out->launch_lag_ns ? late : r->out->launch_lag_ns;
    return lag > 0 ? lag : 0;
}

/* The task that is waited for, by a place in the waits of a rank. */
static uint32_t waited_for(const st_rank_build *r, uint32_t place)
{
    return r->dependencies.items[r->waits.items[place]].before;
}

/* When all that the task is known to wait for was over, in the recording. */
static int64_t ready_ns(const st_rank_build *r, uint32_t task, int64_t stream_end_ns)
{
    int64_t ready = stream_end_ns;
    const st_trace_event *events = r->order->trace->events;
    if (r->order->call_of[task] != ST_TRACE_NONE) {
        int64_t launched = r->order->launch_ns[task] + lag_of(r, task);
        ready = launched > ready ? launched : ready;
    }
    for (uint32_t i = r->waits.starts[task]; i < r->waits.starts[task + 1]; i++) {
        int64_t end = st_trace_end_ns(&events[waited_for(r, i)]);
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

static st_task_id add_delay(st_build *b, st_rank_build *r, uint32_t resource, const lateness *late)
{
    int64_t delay_ns = late->delay_ns;
    int64_t usual_ns = late->usual_ns;
    bool blocked = late->blocker != ST_TRACE_NONE;
    st_trace_graph *out = b->out;
    st_task_spec spec = {.resource = resource,
                         .name = b->delay_name,
                         .category = b->delay_category,
                         .duration_ns = delay_ns};
    st_task_id task = st_build_task(b, &spec);
    int64_t explained = delay_ns < usual_ns ? delay_ns : usual_ns;
    const st_delay delay = {.task = task,
                            .recorded_ns = delay_ns,
                            .explained_ns = blocked ? delay_ns : explained,
                            .blocker = blocked ? late->blocker : ST_TASK_NONE,
                            .blocker_ns =
                                blocked ? r->order->trace->events[late->blocker].duration_ns : 0};
    if (b->status == ST_OK)
        ST_XAPPEND(out->arena, out->delays, out->delay_count, delay);
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

static bool is_of_graph(const st_rank_build *r, uint32_t task)
{
    const st_trace *trace = r->order->trace;
    uint32_t call = task == ST_TRACE_NONE ? ST_TRACE_NONE : r->order->call_of[task];
    return call != ST_TRACE_NONE &&
           strstr(trace->names[trace->events[call].name], "GraphLaunch") != NULL;
}

/* The expected part of a delay: the time of a graph's nodes, and the usual gap in a queue. */
static int64_t usual_delay(const st_rank_build *r, uint32_t task, uint32_t before, int64_t ready_ns,
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
    if (call != ST_TRACE_NONE) {
        if (before != ST_TRACE_NONE && order->call_of[before] == call)
            graph_ns = st_trace_end_ns(&order->trace->events[before]);
        for (uint32_t i = r->waits.starts[task]; i < r->waits.starts[task + 1]; i++) {
            uint32_t other = waited_for(r, i);
            int64_t end = st_trace_end_ns(&order->trace->events[other]);
            if (order->call_of[other] == call && end > graph_ns)
                graph_ns = end;
        }
    }
    if (graph_ns >= ready_ns || (queued && graphs))
        return INT64_MAX;
    return queued ? r->out->queue_gap_ns : 0;
}

/* `before`: the one before it on its stream, or ST_TRACE_NONE. */
static void add_gpu_task(st_build *b, st_rank_build *r, uint32_t resource, uint32_t event,
                         uint32_t before, int64_t *stream_end_ns)
{
    const st_trace_event *e = &r->order->trace->events[event];
    bool launched = r->order->call_of[event] != ST_TRACE_NONE;
    bool waits = r->waits.starts[event + 1] > r->waits.starts[event];
    bool pinned = !launched && before == ST_TRACE_NONE && !waits;
    int64_t ready = ready_ns(r, event, *stream_end_ns);
    int64_t start = e->start_ns > *stream_end_ns ? e->start_ns : *stream_end_ns;
    int64_t end = st_trace_end_ns(e) > start ? st_trace_end_ns(e) : start;
    int64_t delay = !pinned && start > ready ? start - ready : 0;
    uint32_t instance = r->instance_of[event];
    st_task_spec spec = {.resource = resource,
                         .name = add_name(b, r->order->trace->names[e->name]),
                         .category = b->class_categories[e->class_],
                         .duration_ns = instance != 0 ? r->transfer_ns[event] : end - start,
                         .instance = instance,
                         .earliest_ns = pinned ? at(r, start) : 0};
    st_task_id first = ST_TASK_NONE;
    uint32_t call = r->order->call_of[event];
    r->out->unlaunched += call == ST_TRACE_NONE;
    if (call != ST_TRACE_NONE)
        r->out->hosts[event] = r->cut_of_call[call];
    if (delay > 0) {
        lateness late = {delay, usual_delay(r, event, before, ready, *stream_end_ns),
                         ST_TRACE_NONE};
        if (late.usual_ns < delay)
            late.blocker = st_build_blocker(r, event, ready);
        first = add_delay(b, r, resource, &late);
    }
    r->out->tasks[event] = st_build_task(b, &spec);
    *stream_end_ns = end;
    /* The first task of a GPU task: its delay, or itself. */
    const st_task_id wait_first = first != ST_TASK_NONE ? first : r->out->tasks[event];
    uint32_t wait_call = r->order->call_of[event];
    if (wait_call != ST_TRACE_NONE)
        st_build_edge(b, r->lag_of_call[wait_call], wait_first, ST_EDGE_LAUNCH);
    for (uint32_t i = r->waits.starts[event]; i < r->waits.starts[event + 1]; i++)
        st_build_later(b, r, waited_for(r, i), wait_first, ST_EDGE_STREAM);
}

static st_resource_kind stream_kind(const st_rank_build *r, uint32_t track)
{
    const st_lists *tasks = &r->order->by_start;
    uint32_t communication = 0;
    uint32_t count = tasks->starts[track + 1] - tasks->starts[track];
    for (uint32_t i = tasks->starts[track]; i < tasks->starts[track + 1]; i++)
        communication += r->order->trace->events[tasks->items[i]].class_ == ST_TRACE_COMMUNICATION;
    return 2 * communication > count ? ST_RESOURCE_COMMUNICATION : ST_RESOURCE_COMPUTE;
}

static void build_rank(st_build *b, st_rank_build *r)
{
    size_t first = b->out->delay_count;
    measure(r);
    st_build_threads(b, r);
    /* The lags of launches, from the host's cut at the call, in the order of the calls on the
     * lanes. */
    const st_lists *tasks = &r->order->call_tasks;
    for (size_t i = 0; i < ST_BUILD_LANES; i++)
        r->lanes[i] = st_build_resource(b, r, ST_RESOURCE_HOST, "launches");
    for (uint32_t call = 0; call < r->order->trace->event_count; call++) {
        if (tasks->starts[call] == tasks->starts[call + 1])
            continue;
        st_task_spec spec = {.resource = r->lanes[r->next_lane++ % ST_BUILD_LANES],
                             .name = b->lag_name,
                             .category = b->delay_category,
                             .duration_ns = lag_of(r, tasks->items[tasks->starts[call]])};
        r->lag_of_call[call] = st_build_task(b, &spec);
        st_build_edge(b, r->cut_of_call[call], r->lag_of_call[call], ST_EDGE_LAUNCH);
    }
    for (uint32_t t = 0; t < r->order->trace->track_count; t++) {
        const st_lists *stream_tasks = &r->order->by_start;
        char name[64];
        int64_t stream_end_ns = r->order->start_ns;
        if (stream_tasks->starts[t] == stream_tasks->starts[t + 1])
            continue;
        (void)snprintf(name, sizeof name, "stream %lld",
                       (long long)r->order->trace->tracks[t].number);
        uint32_t resource = st_build_resource(b, r, stream_kind(r, t), name);
        for (uint32_t i = stream_tasks->starts[t];
             i < stream_tasks->starts[t + 1] && b->status == ST_OK; i++) {
            uint32_t before =
                i > stream_tasks->starts[t] ? stream_tasks->items[i - 1] : ST_TRACE_NONE;
            add_gpu_task(b, r, resource, stream_tasks->items[i], before, &stream_end_ns);
        }
    }
    /* Blockers of the rank become tasks, which are all there now. */
    st_delay *delays = b->out->delays;
    for (size_t i = first; i < b->out->delay_count; i++)
        if (delays[i].blocker != ST_TASK_NONE)
            delays[i].blocker = r->out->tasks[delays[i].blocker];
    st_build_syncs(b, r);
}

/* --- ranks
 * ---------------------------------------------------------------------------------------- */

/* The GPU task that waits for one on another stream. */
static uint32_t waiter_of(const void *context, uint32_t item)
{
    const st_dependency *one = &((const st_dependencies *)context)->items[item];
    return one->kind == ST_DEPEND_STREAM ? one->after : ST_TRACE_NONE;
}

static void allocate_rank(st_build *b, st_rank_build *r)
{
    st_arena *arena = b->out->arena;
    size_t events = r->order->trace->event_count + 2;
    r->out->tasks = st_xalloc(arena, events, sizeof *r->out->tasks);
    r->out->hosts = st_xalloc(arena, events, sizeof *r->out->hosts);
    r->lag_of_call = st_xalloc(b->scratch, events, sizeof *r->lag_of_call);
    r->cut_of_call = st_xalloc(b->scratch, events, sizeof *r->cut_of_call);
    r->instance_of = st_xalloc(b->scratch, events, sizeof *r->instance_of);
    r->transfer_ns = st_xalloc(b->scratch, events, sizeof *r->transfer_ns);
    st_lists_make(&r->waits, r->order->trace->event_count, r->dependencies.count, waiter_of,
                  &r->dependencies, b->scratch);
    for (size_t i = 0; i < events; i++) {
        r->out->tasks[i] = ST_TASK_NONE;
        r->out->hosts[i] = ST_TASK_NONE;
        r->lag_of_call[i] = ST_TASK_NONE;
        r->cut_of_call[i] = ST_TASK_NONE;
    }
}

/* The graph begins with the first event of any rank. */
static void align(st_build *b)
{
    int64_t first = INT64_MAX;
    size_t count = b->out->set->count;
    for (size_t i = 0; i < count; i++) {
        st_rank_build *r = &b->ranks[i];
        r->shift_ns = st_trace_base_ns(r->order->trace) + b->collation.offsets_ns[i];
        first = at(r, r->order->start_ns) < first ? at(r, r->order->start_ns) : first;
    }
    for (size_t i = 0; i < count; i++) {
        st_rank_build *r = &b->ranks[i];
        r->shift_ns -= first;
        r->out->clock_ns = b->collation.offsets_ns[i];
        r->out->start_ns = at(r, r->order->start_ns);
        r->out->end_ns = at(r, r->order->end_ns);
    }
    for (size_t m = 0; m < b->collation.instance_count; m++)
        b->collation.instances[m].last_start_ns -= first;
}

/* Instances of the graph, and how long each member goes on after the last has come. */
static void add_instances(st_build *b)
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
            st_rank_build *r = &b->ranks[member->rank];
            int64_t end = at(r, st_trace_end_ns(&r->order->trace->events[member->event]));
            int64_t transfer = end - instance->last_start_ns;
            r->instance_of[member->event] = number;
            r->transfer_ns[member->event] = transfer > 0 ? transfer : 0;
        }
    }
}

/* Collectives of one run end when all ranks have come; those of two seldom do. */
static st_status refuse_other_runs(st_build *b)
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
static void warn_alone(st_build *b)
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

static st_status build(st_build *b)
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
    }
    for (size_t i = 0; i < count && b->status == ST_OK; i++) {
        st_rank_build *r = &b->ranks[i];
        const st_trace *trace = b->out->set->ranks[i];
        r->order = &b->orders[i];
        r->out = &b->out->ranks[i];
        r->out->trace = trace;
        r->rank =
            trace->rank >= 0 && trace->rank < UINT32_MAX ? (uint32_t)trace->rank : (uint32_t)i;
        st_depend_find(r->order, b->scratch, &r->dependencies);
        if (b->status != ST_OK)
            continue;
        allocate_rank(b, r);
        memcpy(r->out->edges, r->dependencies.edges, sizeof r->out->edges);
    }
    if (b->status != ST_OK)
        return b->status;
    align(b);
    out->instances = b->collation.edges;
    out->most_apart_ns = b->collation.most_apart_ns;
    out->inferred_groups = b->collation.inferred_groups;
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
    for (size_t i = 0; i < count && b->status == ST_OK; i++)
        build_rank(b, &b->ranks[i]);
    return b->status == ST_OK ? st_graph_seal(b->graph, b->errors) : b->status;
}

st_status st_trace_graph_make(const st_trace_set *set, st_trace_graph **graph, st_errors *errors)
{
    st_status status = ST_OK;
    for (size_t i = 0; i < set->count; i++) {
        const st_trace *trace = set->ranks[i];
        size_t tasks = trace->kind_counts[ST_TRACE_KERNEL] + trace->kind_counts[ST_TRACE_MEMCPY] +
                       trace->kind_counts[ST_TRACE_MEMSET];
        if (tasks == 0)
            status =
                st_fail(errors, ST_ERR_VALUE, (st_place){.file = trace->file},
                        "the trace has no GPU work" ST_EXPECTED "kernels, to build a graph of");
    }
    if (status != ST_OK)
        return status;
    st_arena *arena = st_xarena();
    st_build b = {
        .scratch = st_xarena(), .errors = errors, .graph = st_xmemory(st_graph_create(NULL))};
    b.out = st_xalloc(arena, 1, sizeof *b.out);
    *b.out = (st_trace_graph){.graph = b.graph, .set = set, .arena = arena};
    b.out->ranks = st_xalloc(arena, set->count, sizeof *b.out->ranks);
    b.orders = st_xalloc(b.scratch, set->count, sizeof *b.orders);
    b.ranks = st_xalloc(b.scratch, set->count, sizeof *b.ranks);
    status = build(&b);
    for (size_t i = 0; i < set->count; i++)
        st_order_free(&b.orders[i]);
    if (status == ST_OK)
        *graph = b.out;
    else
        st_trace_graph_destroy(b.out);
    st_arena_destroy(b.scratch);
    return status;
}

void st_trace_graph_destroy(st_trace_graph *graph)
{
    if (graph == NULL)
        return;
    st_graph_destroy(graph->graph);
    st_arena_destroy(graph->arena);
}

st_status st_trace_graph_delays(st_trace_graph *graph, bool keep, st_errors *errors)
{
    const st_delay *delays = graph->delays;
    st_status status = ST_OK;
    for (size_t i = 0; i < graph->delay_count && status == ST_OK; i++)
        status =
            st_graph_set_duration(graph->graph, delays[i].task,
                                  keep ? delays[i].recorded_ns : delays[i].explained_ns, errors);
    return status;
}

st_status st_trace_graph_unblock(st_trace_graph *graph, st_errors *errors)
{
    const st_delay *delays = graph->delays;
    st_status status = ST_OK;
    for (size_t i = 0; i < graph->delay_count && status == ST_OK; i++) {
        if (delays[i].blocker == ST_TASK_NONE || delays[i].blocker_ns <= 0)
            continue;
        double now_ns = (double)st_graph_task(graph->graph, delays[i].blocker).duration_ns;
        double part = now_ns / (double)delays[i].blocker_ns;
        status = st_graph_set_duration(graph->graph, delays[i].task,
                                       llround(part * (double)delays[i].recorded_ns), errors);
    }
    return status;
}

void st_trace_graph_move(st_trace_graph *graph, const st_task_id *moved)
{
    st_delay *delays = graph->delays;
    for (size_t i = 0; i < graph->delay_count; i++) {
        delays[i].task = moved[delays[i].task];
        if (delays[i].blocker != ST_TASK_NONE)
            delays[i].blocker = moved[delays[i].blocker];
    }
}
