/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A replayed recording as a trace. GPU tasks keep the categories and arguments of the recording, so
 * that `steptime trace` reads the file, too. Events of a thread do not overlap, because a resource
 * runs one task at a time.
 */
#include "trace/trace_replay.h"

#include "schedule/perfetto.h"

#include <string.h>

static const char lanes[] = "launches"; /* of lags, which are left out */

static void write_host(st_perfetto *out, const st_graph *graph, const st_replay *replay,
                       st_task_id task)
{
    st_task_view view = st_graph_task(graph, task);
    st_task_time time = st_replay_task(replay, task);
    bool is_lag = strcmp(view.category_name, "host") != 0; /* of a launch: no thread does it */
    if (view.kind == ST_RESOURCE_HOST && !is_lag && time.end_ns != time.start_ns)
        st_perfetto_add(out, &(st_perfetto_event){.name = view.name,
                                                  .category = view.category_name,
                                                  .rank = view.rank,
                                                  .resource = view.resource,
                                                  .start_ns = time.start_ns,
                                                  .end_ns = time.end_ns});
}

static void write_gpu_task(st_perfetto *out, const st_trace_graph *graph, const st_replay *replay,
                           size_t rank, size_t event)
{
    static const char *const categories[] = {"kernel", "gpu_memcpy", "gpu_memset"};
    const st_trace *trace = graph->ranks[rank].trace;
    const st_trace_event *e = &trace->events[event];
    st_task_id task = graph->ranks[rank].tasks[event];
    st_task_view view = st_graph_task(graph->graph, task);
    st_task_time time = st_replay_task(replay, task);
    char arguments[256];
    char waiting[ST_PERFETTO_TIME];
    (void)snprintf(arguments, sizeof arguments,
                   "\"device\":%lu,\"stream\":%lld,\"correlation\":%lld,\"class\":\"%s\","
                   "\"waiting us\":%s",
                   (unsigned long)view.rank, (long long)trace->tracks[e->track].number,
                   (long long)e->correlation, st_trace_class_name((st_trace_class)e->class_),
                   st_perfetto_time(time.start_ns - time.ready_ns, waiting));
    st_perfetto_add(out, &(st_perfetto_event){.name = view.name,
                                              .category = categories[e->kind],
                                              .rank = view.rank,
                                              .resource = view.resource,
                                              .start_ns = time.ready_ns,
                                              .end_ns = time.end_ns,
                                              .arguments = arguments});
}

st_status st_trace_export(const st_trace_graph *graph, const st_replay *replay, st_buffer *buffer,
                          st_errors *errors)
{
    st_perfetto out;
    st_status status = st_perfetto_begin(&out, graph->graph, lanes, buffer, errors);
    if (status != ST_OK)
        return status;
    for (size_t i = 0; i < st_graph_task_count(graph->graph); i++)
        write_host(&out, graph->graph, replay, (st_task_id)i);
    for (size_t r = 0; r < graph->set->count; r++) {
        for (size_t i = 0; i < graph->set->ranks[r]->event_count; i++)
            if (graph->ranks[r].tasks[i] != ST_TASK_NONE)
                write_gpu_task(&out, graph, replay, r, i);
    }
    return st_perfetto_end(&out, errors);
}
