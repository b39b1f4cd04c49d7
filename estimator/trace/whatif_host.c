/* SPDX-License-Identifier: Apache-2.0 */
/* See whatif_host.h. */
#include "trace/whatif_host.h"

#include "trace/link.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool st_whatif_has_kernel(const st_trace *trace, const char *pattern)
{
    for (size_t i = 0; i < trace->event_count; i++)
        if (st_trace_is_gpu(&trace->events[i]) &&
            fnmatch(pattern, trace->names[trace->events[i].name], 0) == 0)
            return true;
    return false;
}

double st_whatif_kernel_factor(const st_whatif *w, const st_trace *trace, size_t event)
{
    double factor = 1;
    for (size_t k = 0; k < w->values.kernel_count; k++) {
        const st_whatif_kernels *one = &w->values.kernels[k];
        if (fnmatch(one->pattern, trace->names[trace->events[event].name], 0) == 0)
            factor = one->speed > 0 ? factor / one->speed : 0;
    }
    return factor;
}

typedef struct host_change {
    st_whatif *w;
    const st_trace *trace;
    const st_trace_rank *rank;
    const st_whatif_launches *launches;
    st_links calls;
    struct call_tasks *tasks; /* by event: of a call */
    double *launch_ns;        /* by thread */
} host_change;

static st_status shorten(const host_change *h, st_task_id task, double by_ns)
{
    st_graph *graph = h->w->graph->graph;
    double left_ns = (double)st_graph_task(graph, task).duration_ns - by_ns;
    return st_graph_set_duration(graph, task, left_ns > 0 ? llround(left_ns) : 0, h->w->errors);
}

/* The host task behind the one that ends where a call begins: it begins with the call. */
static st_task_id task_of_call(const host_change *h, st_task_id before)
{
    const st_graph *graph = h->w->graph->graph;
    st_task_id next = before + 1;
    bool follows = next < st_graph_task_count(graph) &&
                   st_graph_task(graph, next).resource == st_graph_task(graph, before).resource;
    return follows ? next : ST_TASK_NONE;
}

/* What a call launches. */
typedef struct call_tasks {
    uint32_t first; /* the first of its tasks */
    uint32_t count; /* 0: it launches nothing */
    uint32_t gone;
    uint32_t further; /* launches behind it; nodes of a graph need none */
} call_tasks;

/* The first of the tasks that a call launches speaks for it; it goes with the last of them. */
static st_status change_launch(const host_change *h, uint32_t call, int64_t *last_end_ns)
{
    const st_whatif *w = h->w;
    const call_tasks *tasks = &h->tasks[call];
    const st_trace_event *launch = &h->trace->events[call];
    st_task_id before = h->rank->hosts[tasks->first];
    if (before == ST_TASK_NONE)
        return ST_OK;
    st_task_id during = task_of_call(h, before);
    double launches = w->values.set[ST_KEY_LAUNCH] > 0 ? w->values.set[ST_KEY_LAUNCH] : 1;
    double call_ns = (double)launch->duration_ns;
    bool gone = tasks->gone == tasks->count;
    double less_ns = gone ? call_ns : call_ns * (1 - 1 / launches);
    if (tasks->further > 0)
        less_ns -= tasks->further * h->launch_ns[launch->track] / launches;
    st_status status = ST_OK;
    if (gone && launch->start_ns > *last_end_ns && *last_end_ns > INT64_MIN)
        status = shorten(h, before, (double)(launch->start_ns - *last_end_ns));
    if (status == ST_OK && during != ST_TASK_NONE && less_ns != 0)
        status = shorten(h, during, less_ns);
    *last_end_ns = st_trace_end_ns(launch);
    return status;
}

static void list_tasks(host_change *h)
{
    for (uint32_t i = 0; i < h->trace->event_count; i++) {
        const st_trace_event *event = &h->trace->events[i];
        uint32_t call = st_trace_is_gpu(event)
                            ? st_links_find(&h->calls, event->correlation, event->start_ns)
                            : ST_TRACE_NONE;
        if (call == ST_TRACE_NONE)
            continue;
        call_tasks *tasks = &h->tasks[call];
        tasks->first = tasks->count == 0 ? i : tasks->first;
        tasks->further = tasks->count == 0 ? h->launches->further[i] : 0;
        tasks->gone += h->launches->gone[i] || st_whatif_kernel_factor(h->w, h->trace, i) <= 0;
        tasks->count++;
    }
}

/* A call that launches one kernel, as many do. */
typedef struct launch {
    uint32_t track;
    int64_t duration_ns;
} launch;

ST_COMPARE(compare_launches, launch, ST_RISING(track) ST_RISING(duration_ns));

/* The median cost of a launch, by thread. */
static st_status measure_launches(host_change *h)
{
    size_t count = 0;
    launch *all = st_arena_alloc(h->w->arena, h->trace->event_count + 1, sizeof *all);
    h->launch_ns = st_arena_alloc(h->w->arena, h->trace->track_count + 1, sizeof *h->launch_ns);
    if (all == NULL || h->launch_ns == NULL)
        return ST_ERR_MEMORY;
    for (uint32_t i = 0; i < h->trace->event_count; i++)
        if (h->tasks[i].count == 1 && h->trace->events[h->tasks[i].first].kind == ST_TRACE_KERNEL)
            all[count++] = (launch){h->trace->events[i].track, h->trace->events[i].duration_ns};
    qsort(all, count, sizeof *all, compare_launches);
    for (size_t first = 0, end = 0; first < count; first = end) {
        while (end < count && all[end].track == all[first].track)
            end++;
        size_t middle = first + (end - first) / 2;
        h->launch_ns[all[first].track] = (double)all[middle].duration_ns;
    }
    return ST_OK;
}

/* Launches of a thread in their order; graphs count once. */
static st_status change_launches(host_change *h)
{
    size_t tracks = h->trace->track_count;
    int64_t *ends_ns = st_arena_alloc(h->w->arena, tracks + 1, sizeof *ends_ns);
    h->tasks = st_arena_alloc(h->w->arena, h->trace->event_count + 1, sizeof *h->tasks);
    if (ends_ns == NULL || h->tasks == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < tracks; i++)
        ends_ns[i] = INT64_MIN;
    list_tasks(h);
    st_status status = measure_launches(h);
    for (uint32_t i = 0; i < h->trace->event_count && status == ST_OK; i++) {
        const st_trace_event *event = &h->trace->events[i];
        if (event->kind != ST_TRACE_CALL)
            continue;
        if (h->tasks[i].count > 0)
            status = change_launch(h, i, &ends_ns[event->track]);
        else if (st_trace_end_ns(event) > ends_ns[event->track])
            ends_ns[event->track] = st_trace_end_ns(event);
    }
    return status;
}

st_status st_whatif_scale(st_whatif *w, st_task_id task, double factor)
{
    st_graph *graph = w->graph->graph;
    double duration_ns = (double)st_graph_task(graph, task).duration_ns * factor;
    if (duration_ns > 0x1p62)
        return st_whatif_refuse(w, "a task would last longer than 146 years");
    return st_graph_set_duration(graph, task, llround(duration_ns), w->errors);
}

bool st_whatif_is_host_work(const st_whatif *w, const st_trace_rank *rank, st_task_id task)
{
    const st_graph *graph = w->graph->graph;
    st_task_view view = st_graph_task(graph, task);
    if (view.kind != ST_RESOURCE_HOST || strcmp(view.category_name, "host") != 0)
        return false;
    for (size_t i = 0; i < rank->thread_count; i++)
        if (rank->thread_acts[i] &&
            st_graph_task(graph, rank->threads[i]).resource == view.resource)
            return true;
    return false;
}

static st_status change_speed(const host_change *h)
{
    const st_graph *graph = h->w->graph->graph;
    double speed = h->w->values.set[ST_KEY_HOST];
    st_status status = ST_OK;
    for (st_task_id i = 0; i < st_graph_task_count(graph) && status == ST_OK; i++)
        if (st_whatif_is_host_work(h->w, h->rank, i))
            status = st_whatif_scale(h->w, i, 1 / speed);
    return status;
}

st_status st_whatif_host(st_whatif *w, size_t rank, const st_whatif_launches *launches)
{
    host_change h = {.w = w,
                     .trace = w->graph->set->ranks[rank],
                     .rank = &w->graph->ranks[rank],
                     .launches = launches};
    bool removes = w->values.edit_count > 0;
    for (size_t k = 0; k < w->values.kernel_count; k++)
        removes = removes || w->values.kernels[k].speed <= 0;
    st_status status = ST_OK;
    if (removes || w->values.set[ST_KEY_LAUNCH] > 0) {
        status = st_links_make(h.trace, ST_TRACE_CALL, &h.calls);
        if (status == ST_OK)
            status = change_launches(&h);
        st_links_free(&h.calls);
    }
    return status == ST_OK && w->values.set[ST_KEY_HOST] > 0 ? change_speed(&h) : status;
}
