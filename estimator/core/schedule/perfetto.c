/* SPDX-License-Identifier: Apache-2.0 */
/* A replay as lines of JSON; times are printed from whole ticks. */
#include "schedule/perfetto.h"

#include "base/number.h"
#include "base/text.h"
#include "schedule/graph_internal.h"

enum { MOST_TASKS = 5000000 };

static void write_name(st_buffer *buffer, const char *kind, uint32_t rank, uint32_t thread,
                       const char *name)
{
    st_buffer_printf(
        buffer, "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%lu,\"tid\":%lu,\"args\":{\"name\":", kind,
        (unsigned long)rank, (unsigned long)thread);
    st_buffer_quoted(buffer, "", name, "}}");
}

st_status st_perfetto_write(const st_replay *replay, int64_t ticks_per_ns, st_buffer *buffer,
                            st_errors *errors)
{
    size_t tasks = st_graph_task_count(replay->graph);
    if (tasks > MOST_TASKS)
        return st_fail(errors, ST_ERR_LIMIT, (st_place){0},
                       "%zu tasks are too many for one trace" ST_EXPECTED "at most 5000000" ST_HINT
                       "select fewer ranks",
                       tasks);
    st_buffer_text(buffer, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    const st_graph *graph = replay->graph;
    for (size_t i = 0; i < st_graph_rank_count(graph); i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "rank %lu", (unsigned long)st_graph_rank(graph, i));
        st_buffer_text(buffer, i > 0 ? ",\n" : "");
        write_name(buffer, "process_name", st_graph_rank(graph, i), 0, name);
    }
    for (uint32_t i = 0; i < st_graph_resource_count(graph); i++) {
        st_buffer_text(buffer, ",\n");
        write_name(buffer, "thread_name", st_graph_resource_rank(graph, i), i,
                   st_graph_resource_name(graph, i));
    }
    for (size_t i = 0; i < tasks; i++) {
        const st_task_id task = (st_task_id)i;
        st_task_time time = st_replay_task(replay, task);
        st_task_view view = st_graph_task(replay->graph, task);
        int64_t start_ns = time.start_ns / ticks_per_ns;
        int64_t length_ns = time.end_ns / ticks_per_ns - start_ns;
        char start[ST_MICROSECONDS_TEXT];
        char length[ST_MICROSECONDS_TEXT];
        if (length_ns == 0)
            continue;
        st_buffer_quoted(buffer, ",\n{\"ph\":\"X\",\"name\":",
                         view.name[0] == '\0' ? view.category_name : view.name, ",\"cat\":");
        st_buffer_json_string(buffer, view.category_name);
        st_buffer_printf(buffer, ",\"pid\":%lu,\"tid\":%lu,\"ts\":%s,\"dur\":%s",
                         (unsigned long)view.rank, (unsigned long)view.resource,
                         st_microseconds_print(start_ns, start),
                         st_microseconds_print(length_ns, length));
        if (view.instance != 0)
            st_buffer_printf(
                buffer, ",\"args\":{\"waited_us\":%s}",
                st_microseconds_print((time.start_ns - time.ready_ns) / ticks_per_ns, start));
        st_buffer_text(buffer, "}");
    }
    st_buffer_text(buffer, "\n]}\n");
    return buffer->failed ? st_out_of_memory(errors) : ST_OK;
}
