/* SPDX-License-Identifier: Apache-2.0 */
/* Events of a trace as lines of JSON; times are printed from whole ticks. */
#include "schedule/perfetto.h"

#include "base/text.h"
#include "schedule/graph_internal.h"

#include <string.h>

enum { MOST_TASKS = 5000000 };

const char *st_perfetto_time(int64_t time_ns, char *text)
{
    (void)snprintf(text, ST_PERFETTO_TIME, "%lld.%03d", (long long)(time_ns / 1000),
                   (int)(time_ns % 1000));
    return text;
}

/* ---- events ---- */

static void next_event(st_perfetto *trace)
{
    st_buffer_text(trace->buffer, trace->has_events ? ",\n" : "");
    trace->has_events = true;
}

static void write_name(st_perfetto *trace, const char *kind, uint32_t rank, uint32_t thread,
                       const char *name)
{
    next_event(trace);
    st_buffer_printf(trace->buffer,
                     "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%lu,\"tid\":%lu,\"args\":{\"name\":",
                     kind, (unsigned long)rank, (unsigned long)thread);
    st_buffer_quoted(trace->buffer, "", name, "}}");
}

st_status st_perfetto_begin(st_perfetto *trace, const st_graph *graph, const char *hidden,
                            st_buffer *buffer, st_errors *errors)
{
    size_t tasks = st_graph_task_count(graph);
    *trace = (st_perfetto){.buffer = buffer};
    if (tasks > MOST_TASKS)
        return st_fail(errors, ST_ERR_LIMIT, (st_place){0},
                       "%zu tasks are too many for one trace" ST_EXPECTED "at most 5000000" ST_HINT
                       "take fewer ranks",
                       tasks);
    st_buffer_text(buffer, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    for (size_t i = 0; i < st_graph_rank_count(graph); i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "rank %lu", (unsigned long)st_graph_rank(graph, i));
        write_name(trace, "process_name", st_graph_rank(graph, i), 0, name);
    }
    for (size_t i = 0; i < st_graph_resource_count(graph); i++) {
        const char *name = st_graph_resource_name(graph, (uint32_t)i);
        if (hidden == NULL || strcmp(name, hidden) != 0)
            write_name(trace, "thread_name", st_graph_resource_rank(graph, (uint32_t)i),
                       (uint32_t)i, name);
    }
    return ST_OK;
}

void st_perfetto_add(st_perfetto *trace, const st_perfetto_event *event)
{
    st_buffer *buffer = trace->buffer;
    char start[ST_PERFETTO_TIME];
    char length[ST_PERFETTO_TIME];
    next_event(trace);
    st_buffer_quoted(buffer, "{\"ph\":\"X\",\"name\":", event->name, ",\"cat\":");
    st_buffer_json_string(buffer, event->category);
    st_buffer_printf(buffer, ",\"pid\":%lu,\"tid\":%lu,\"ts\":%s,\"dur\":%s",
                     (unsigned long)event->rank, (unsigned long)event->resource,
                     st_perfetto_time(event->start_ns, start),
                     st_perfetto_time(event->end_ns - event->start_ns, length));
    if (event->arguments != NULL) {
        st_buffer_text(buffer, ",\"args\":{");
        st_buffer_text(buffer, event->arguments);
        st_buffer_text(buffer, "}");
    }
    st_buffer_text(buffer, "}");
}

st_status st_perfetto_end(st_perfetto *trace, st_errors *errors)
{
    st_buffer_text(trace->buffer, "\n]}\n");
    return trace->buffer->failed ? st_graph_no_memory(errors) : ST_OK;
}

/* ---- a whole replay ---- */

static void write_task(st_perfetto *trace, const st_replay *replay, st_task_id task,
                       int64_t ticks_per_ns)
{
    st_task_time time = st_replay_task(replay, task);
    st_task_view view = st_graph_task(replay->graph, task);
    char arguments[64];
    char waited[ST_PERFETTO_TIME];
    st_perfetto_event event = {.name = view.name[0] == '\0' ? view.category_name : view.name,
                               .category = view.category_name,
                               .rank = view.rank,
                               .resource = view.resource,
                               .start_ns = time.start_ns / ticks_per_ns,
                               .end_ns = time.end_ns / ticks_per_ns};
    if (event.end_ns == event.start_ns)
        return;
    if (view.instance != 0) {
        (void)snprintf(arguments, sizeof(arguments), "\"waited_us\":%s",
                       st_perfetto_time((time.start_ns - time.ready_ns) / ticks_per_ns, waited));
        event.arguments = arguments;
    }
    st_perfetto_add(trace, &event);
}

st_status st_perfetto_write(const st_replay *replay, int64_t ticks_per_ns, st_buffer *buffer,
                            st_errors *errors)
{
    st_perfetto trace;
    st_status status = st_perfetto_begin(&trace, replay->graph, NULL, buffer, errors);
    if (status != ST_OK)
        return status;
    for (size_t i = 0; i < st_graph_task_count(replay->graph); i++)
        write_task(&trace, replay, (st_task_id)i, ticks_per_ns);
    return st_perfetto_end(&trace, errors);
}
