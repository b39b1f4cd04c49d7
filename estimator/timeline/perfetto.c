/* SPDX-License-Identifier: Apache-2.0 */
#include "timeline/perfetto.h"

#include "timeline/graph_internal.h"

enum { MOST_TASKS = 5000000 };

/* Nanoseconds as microseconds with all their digits: the unit of the format. */
static void write_us(int64_t time_ns, st_buffer *buffer)
{
    st_buffer_printf(buffer, "%lld.%03d", (long long)(time_ns / 1000), (int)(time_ns % 1000));
}

static void write_name(const char *kind, uint32_t rank, long long thread, const char *name,
                       st_buffer *buffer)
{
    st_buffer_printf(buffer, "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%lu,", kind,
                     (unsigned long)rank);
    if (thread >= 0) {
        st_buffer_printf(buffer, "\"tid\":%lld,", thread);
    }
    st_buffer_text(buffer, "\"args\":{\"name\":");
    st_buffer_json_string(buffer, name);
    st_buffer_text(buffer, "}},\n");
}

static void write_names(const st_graph *graph, st_buffer *buffer)
{
    for (size_t i = 0; i < st_graph_rank_count(graph); i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "rank %lu", (unsigned long)st_graph_rank(graph, i));
        write_name("process_name", st_graph_rank(graph, i), -1, name, buffer);
    }
    for (size_t i = 0; i < st_graph_resource_count(graph); i++) {
        write_name("thread_name", st_graph_resource_rank(graph, (uint32_t)i), (long long)i,
                   st_graph_resource_name(graph, (uint32_t)i), buffer);
    }
}

static void write_task(const st_replay *replay, st_task_id task, int64_t ticks_per_ns, bool *first,
                       st_buffer *buffer)
{
    st_task_time time = st_replay_task(replay, task);
    int64_t start_ns = time.start_ns / ticks_per_ns;
    int64_t end_ns = time.end_ns / ticks_per_ns;
    if (end_ns == start_ns) {
        return;
    }
    st_task_view view = st_graph_task(replay->graph, task);
    st_buffer_text(buffer, *first ? "" : ",\n");
    *first = false;
    st_buffer_text(buffer, "{\"ph\":\"X\",\"name\":");
    st_buffer_json_string(buffer, view.name[0] == '\0' ? view.category_name : view.name);
    st_buffer_text(buffer, ",\"cat\":");
    st_buffer_json_string(buffer, view.category_name);
    st_buffer_printf(buffer, ",\"pid\":%lu,\"tid\":%lu,\"ts\":", (unsigned long)view.rank,
                     (unsigned long)view.resource);
    write_us(start_ns, buffer);
    st_buffer_text(buffer, ",\"dur\":");
    write_us(end_ns - start_ns, buffer);
    if (view.meeting != 0) {
        st_buffer_text(buffer, ",\"args\":{\"waited_us\":");
        write_us((time.start_ns - time.ready_ns) / ticks_per_ns, buffer);
        st_buffer_text(buffer, "}");
    }
    st_buffer_text(buffer, "}");
}

st_status st_perfetto_write(const st_replay *replay, int64_t ticks_per_ns, st_buffer *buffer,
                            st_errors *errors)
{
    size_t tasks = st_graph_task_count(replay->graph);
    bool first = true;
    if (tasks > MOST_TASKS) {
        return st_errors_add(errors,
                             &(st_error){.status = ST_ERR_LIMIT,
                                         .message = st_errors_text(
                                             errors, "%zu tasks are too many for one trace", tasks),
                                         .expected = "at most 5000000",
                                         .suggestion = "take one rank of each stage"});
    }
    st_buffer_text(buffer, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    write_names(replay->graph, buffer);
    for (size_t i = 0; i < tasks; i++) {
        write_task(replay, (st_task_id)i, ticks_per_ns, &first, buffer);
    }
    if (first && buffer->length > 1 && !buffer->failed) {
        buffer->length -= buffer->data[buffer->length - 2] == ',' ? 2 : 0;
    }
    st_buffer_text(buffer, "\n]}\n");
    return buffer->failed ? st_graph_no_memory(errors) : ST_OK;
}
