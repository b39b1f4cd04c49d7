/* SPDX-License-Identifier: Apache-2.0 */
/* See whatif_host.h. */
#include "trace/whatif_host.h"

#include "trace/link.h"
#include "trace/xalloc.h"

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

static void shorten(const host_change *h, st_task_id task, double by_ns)
{
    double left_ns = (double)st_graph_task(h->w->graph->graph, task).duration_ns - by_ns;
    st_whatif_set_time(h->w, task, left_ns > 0 ? left_ns : 0);
}

/* What a call launches. */
typedef struct call_tasks {
    uint32_t first; /* the first of its tasks */
    uint32_t count; /* 0: it launches nothing */
    uint32_t gone;
    uint32_t further; /* launches behind it; nodes of a graph need none */
} call_tasks;

/* The first of the tasks that a call launches speaks for it; it goes with the last of them. */
static void change_launch(const host_change *h, uint32_t call, int64_t *last_end_ns)
{
    const st_whatif *w = h->w;
    const call_tasks *tasks = &h->tasks[call];
    const st_trace_event *launch = &h->trace->events[call];
    st_task_id before = h->rank->hosts[tasks->first];
    if (before == ST_TASK_NONE)
        return;
    /* The host task behind the one that ends where a call begins: it begins with the call. */
    const st_graph *graph = h->w->graph->graph;
    st_task_id next = before + 1;
    bool follows = next < st_graph_task_count(graph) &&
                   st_graph_task(graph, next).resource == st_graph_task(graph, before).resource;
    st_task_id during = follows ? next : ST_TASK_NONE;
    double launches = w->values.set[ST_WHATIF_LAUNCH] > 0 ? w->values.set[ST_WHATIF_LAUNCH] : 1;
    double call_ns = (double)launch->duration_ns;
    bool gone = tasks->gone == tasks->count;
    double less_ns = gone ? call_ns : call_ns * (1 - 1 / launches);
    if (tasks->further > 0)
        less_ns -= tasks->further * h->launch_ns[launch->track] / launches;
    if (gone && launch->start_ns > *last_end_ns && *last_end_ns > INT64_MIN)
        shorten(h, before, (double)(launch->start_ns - *last_end_ns));
    if (during != ST_TASK_NONE && less_ns != 0)
        shorten(h, during, less_ns);
    *last_end_ns = st_trace_end_ns(launch);
}

/* A call that launches one kernel, as many do. */
typedef struct launch {
    uint32_t track;
    int64_t duration_ns;
} launch;

ST_COMPARE(compare_launches, launch, ST_RISING(track) ST_RISING(duration_ns));

/* Launches of a thread in their order; graphs count once. */
static void change_launches(host_change *h)
{
    st_arena *arena = h->w->arena;
    size_t tracks = h->trace->track_count;
    size_t events = h->trace->event_count + 1;
    int64_t *ends_ns = st_xalloc(arena, tracks + 1, sizeof *ends_ns);
    launch *all = st_xalloc(arena, events, sizeof *all);
    h->tasks = st_xalloc(arena, events, sizeof *h->tasks);
    h->launch_ns = st_xalloc(arena, tracks + 1, sizeof *h->launch_ns);
    for (size_t i = 0; i < tracks; i++)
        ends_ns[i] = INT64_MIN;
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
    /* The median cost of a launch, by thread. */
    size_t count = 0;
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
    for (uint32_t i = 0; i < h->trace->event_count; i++) {
        const st_trace_event *event = &h->trace->events[i];
        if (event->kind != ST_TRACE_CALL)
            continue;
        if (h->tasks[i].count > 0)
            change_launch(h, i, &ends_ns[event->track]);
        else if (st_trace_end_ns(event) > ends_ns[event->track])
            ends_ns[event->track] = st_trace_end_ns(event);
    }
}

void st_whatif_scale(st_whatif *w, st_task_id task, double factor)
{
    st_whatif_set_time(w, task, (double)st_graph_task(w->graph->graph, task).duration_ns * factor);
}

st_task_id st_whatif_delay_of(const st_whatif *w, st_task_id task)
{
    const st_graph *graph = w->graph->graph;
    if (task == 0)
        return ST_TASK_NONE;
    st_task_view before = st_graph_task(graph, task - 1);
    bool delays = before.resource == st_graph_task(graph, task).resource &&
                  strcmp(before.category_name, "delay") == 0;
    return delays ? task - 1 : ST_TASK_NONE;
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

void st_whatif_host(st_whatif *w, size_t rank, const st_whatif_launches *launches)
{
    host_change h = {.w = w,
                     .trace = w->graph->set->ranks[rank],
                     .rank = &w->graph->ranks[rank],
                     .launches = launches};
    bool removes = w->values.edit_count > 0;
    for (size_t k = 0; k < w->values.kernel_count; k++)
        removes = removes || w->values.kernels[k].speed <= 0;
    if (removes || w->values.set[ST_WHATIF_LAUNCH] > 0) {
        st_links_make(h.trace, ST_TRACE_CALL, &h.calls);
        change_launches(&h);
        st_links_free(&h.calls);
    }
    if (w->status == ST_OK && w->values.set[ST_WHATIF_HOST] > 0) {
        const st_graph *graph = h.w->graph->graph;
        double speed = h.w->values.set[ST_WHATIF_HOST];
        for (st_task_id i = 0; i < st_graph_task_count(graph); i++)
            if (st_whatif_is_host_work(h.w, h.rank, i))
                st_whatif_scale(h.w, i, 1 / speed);
    }
}
