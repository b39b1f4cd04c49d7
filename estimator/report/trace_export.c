/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A replay as a trace: Chrome's JSON, which Perfetto and chrome://tracing open. GPU tasks keep the
 * categories and arguments of the recording, so that `steptime trace` reads the file, too. A
 * process is a rank; events of a thread do not overlap, because a resource runs one task at a time.
 */
#include "report/trace_replay.h"

#include <string.h>

enum { MOST_TASKS = 5000000 };

/* Nanoseconds as microseconds, the unit of the format, with all their digits. */
static void write_times(int64_t start_ns, int64_t end_ns, st_buffer *buffer)
{
    int64_t duration_ns = end_ns - start_ns;
    st_buffer_printf(buffer, "\"ts\":%lld.%03d,\"dur\":%lld.%03d", (long long)(start_ns / 1000),
                     (int)(start_ns % 1000), (long long)(duration_ns / 1000),
                     (int)(duration_ns % 1000));
}

static void write_name(const char *what, unsigned long rank, long thread, const char *name,
                       st_buffer *buffer)
{
    st_buffer_printf(buffer,
                     ",\n{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%lu,\"tid\":%ld,\"args\":", what,
                     rank, thread);
    st_buffer_text(buffer, "{\"name\":");
    st_buffer_json_string(buffer, name);
    st_buffer_text(buffer, "}}");
}

static void write_names(const st_graph *graph, st_buffer *buffer)
{
    for (size_t i = 0; i < st_graph_rank_count(graph); i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "rank %lu", (unsigned long)st_graph_rank(graph, i));
        write_name("process_name", st_graph_rank(graph, i), 0, name, buffer);
    }
    for (size_t i = 0; i < st_graph_resource_count(graph); i++) {
        const char *name = st_graph_resource_name(graph, (uint32_t)i);
        if (strcmp(name, "launches") != 0) /* lanes of lags, which are left out */
            write_name("thread_name", st_graph_resource_rank(graph, (uint32_t)i), (long)i, name,
                       buffer);
    }
}

static void write_host(const st_graph *graph, const st_replay *replay, st_task_id task,
                       st_buffer *buffer)
{
    st_task_view view = st_graph_task(graph, task);
    st_task_time time = st_replay_task(replay, task);
    bool is_lag = strcmp(view.category_name, "host") != 0; /* of a launch: no thread does it */
    if (view.kind != ST_RESOURCE_HOST || is_lag || time.end_ns == time.start_ns)
        return;
    st_buffer_printf(buffer, ",\n{\"ph\":\"X\",\"cat\":\"%s\",\"name\":",
                     st_graph_category_name(graph, view.category));
    st_buffer_json_string(buffer, view.name);
    st_buffer_printf(buffer, ",\"pid\":%lu,\"tid\":%lu,", (unsigned long)view.rank,
                     (unsigned long)view.resource);
    write_times(time.start_ns, time.end_ns, buffer);
    st_buffer_text(buffer, "}");
}

static void write_gpu_task(const st_trace_graph *graph, const st_replay *replay, size_t rank,
                           size_t event, st_buffer *buffer)
{
    static const char *const categories[] = {"kernel", "gpu_memcpy", "gpu_memset"};
    const st_trace *trace = graph->ranks[rank].trace;
    const st_trace_event *e = &trace->events[event];
    st_task_id task = graph->ranks[rank].tasks[event];
    st_task_view view = st_graph_task(graph->graph, task);
    st_task_time time = st_replay_task(replay, task);
    st_buffer_printf(buffer, ",\n{\"ph\":\"X\",\"cat\":\"%s\",\"name\":", categories[e->kind]);
    st_buffer_json_string(buffer, view.name);
    st_buffer_printf(buffer, ",\"pid\":%lu,\"tid\":%lu,", (unsigned long)view.rank,
                     (unsigned long)view.resource);
    write_times(time.ready_ns, time.end_ns, buffer);
    st_buffer_printf(buffer,
                     ",\"args\":{\"device\":%lu,\"stream\":%lld,\"correlation\":%lld,\"class\":"
                     "\"%s\",\"waiting us\":%lld.%03d}}",
                     (unsigned long)view.rank, (long long)trace->tracks[e->track].number,
                     (long long)e->correlation, st_trace_class_name((st_trace_class)e->class_),
                     (long long)((time.start_ns - time.ready_ns) / 1000),
                     (int)((time.start_ns - time.ready_ns) % 1000));
}

st_status st_trace_export(const st_trace_graph *graph, const st_replay *replay, st_buffer *buffer,
                          st_errors *errors)
{
    size_t count = st_graph_task_count(graph->graph);
    if (count > MOST_TASKS)
        return st_errors_add(errors, &(st_error){.status = ST_ERR_LIMIT,
                                                 .message = "too many tasks to write as a trace",
                                                 .expected = "at most 5000000",
                                                 .suggestion = "give fewer ranks"});
    st_buffer_text(buffer, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
                           "{\"ph\":\"M\",\"name\":\"steptime replay\",\"pid\":0,\"tid\":0}");
    write_names(graph->graph, buffer);
    for (size_t i = 0; i < count; i++)
        write_host(graph->graph, replay, (st_task_id)i, buffer);
    for (size_t r = 0; r < graph->set->count; r++) {
        for (size_t i = 0; i < graph->set->ranks[r]->event_count; i++) {
            if (graph->ranks[r].tasks[i] != ST_TASK_NONE)
                write_gpu_task(graph, replay, r, i, buffer);
        }
    }
    st_buffer_text(buffer, "\n]}\n");
    return buffer->failed ? ST_ERR_MEMORY : ST_OK;
}
