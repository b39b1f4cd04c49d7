/* SPDX-License-Identifier: Apache-2.0 */
/* The dependencies of a graph that was built from traces, counted. */
#include "base/number.h"
#include "base/csv_write.h"
#include "trace/trace_replay.h"

enum { TEXT = 48 };

/* The edges of one kind over all ranks. */
static st_trace_edges sum_edges(const st_trace_graph *graph, int kind)
{
    st_trace_edges sum = kind == ST_TRACE_EDGE_RANKS ? graph->meetings : (st_trace_edges){0};
    for (size_t i = 0; i < graph->set->count && kind != ST_TRACE_EDGE_RANKS; i++) {
        sum.exact += graph->ranks[i].edges[kind].exact;
        sum.inferred += graph->ranks[i].edges[kind].inferred;
        sum.contradicted += graph->ranks[i].edges[kind].contradicted;
    }
    return sum;
}

static const char *describe(int kind)
{
    static const char *const texts[ST_TRACE_EDGE_KINDS] = {
        "host after host",
        "GPU task after its call",
        "host after GPU task",
        "GPU task after the one before it on its stream",
        "GPU task after one of another stream",
        "collectives in which ranks meet",
    };
    return texts[kind];
}

static void write_edges(const st_trace_graph *graph, st_arena *arena, st_buffer *buffer)
{
    static const st_table_column columns[] = {
        {.ink = ST_INK_NAME}, {.right = true}, {.right = true}, {.right = true}, {.right = false}};
    static const char *const head[] = {"dependency", "exact", "inferred", "contradicted", NULL};
    st_paint paint = {0};
    st_table *table = st_table_create(arena, columns, 5);
    if (table == NULL) {
        buffer->failed = true;
        return;
    }
    st_table_row(table, head);
    for (int i = 0; i < ST_TRACE_EDGE_KINDS; i++) {
        char texts[3][TEXT];
        st_trace_edges edges = sum_edges(graph, i);
        (void)snprintf(texts[0], TEXT, "%llu", (unsigned long long)edges.exact);
        (void)snprintf(texts[1], TEXT, "%llu", (unsigned long long)edges.inferred);
        (void)snprintf(texts[2], TEXT, "%llu", (unsigned long long)edges.contradicted);
        const char *fields[] = {st_trace_edge_kind_name((st_trace_edge_kind)i), texts[0], texts[1],
                                texts[2], describe(i)};
        st_table_row(table, fields);
    }
    st_table_write(table, &paint, 2, buffer);
}

static void write_rank(const st_trace_rank *rank, st_buffer *buffer)
{
    char texts[4][TEXT];
    st_buffer_printf(
        buffer,
        "  launch lag %s us, gap in a queue %s us; %zu tasks without a launch; %zu tasks late "
        "without a known reason, by %s; clock %s us\n",
        st_number_print('f', 2, (double)rank->launch_lag_ns / 1e3, texts[0], TEXT),
        st_number_print('f', 2, (double)rank->queue_gap_ns / 1e3, texts[1], TEXT), rank->pinned,
        rank->unexplained, st_ms_text(rank->unexplained_ns, texts[2], TEXT),
        st_number_print('f', 3, (double)rank->clock_ns / 1e3, texts[3], TEXT));
    if (rank->graphs_ns > 0)
        st_buffer_printf(buffer, "  nodes of CUDA graphs without a record: %s\n",
                         st_ms_text(rank->graphs_ns, texts[0], TEXT));
}

void st_trace_graph_text(const st_trace_graph *graph, st_arena *arena, st_buffer *buffer)
{
    char text[TEXT];
    st_buffer_printf(buffer, "%zu ranks, %zu tasks, %zu dependencies besides program order\n",
                     graph->set->count, st_graph_task_count(graph->graph),
                     st_graph_edge_count(graph->graph));
    if (graph->meetings.exact + graph->meetings.inferred > 0)
        st_buffer_printf(buffer, "ends of one collective lie up to %s us apart\n",
                         st_number_print('f', 1, (double)graph->most_apart_ns / 1e3, text, TEXT));
    st_buffer_text(buffer, "\n");
    write_edges(graph, arena, buffer);
    for (size_t i = 0; i < graph->set->count; i++) {
        st_buffer_printf(buffer, "%s\n", graph->set->ranks[i]->file);
        write_rank(&graph->ranks[i], buffer);
    }
}

static void write_edges_json(st_json *json, const char *key, st_trace_edges edges)
{
    st_json_open_line(json, key, '{');
    st_json_count(json, "exact", (size_t)edges.exact);
    st_json_count(json, "inferred", (size_t)edges.inferred);
    st_json_count(json, "contradicted", (size_t)edges.contradicted);
    st_json_close(json, '}');
}

static void write_rank_json(st_json *json, const st_trace_rank *rank)
{
    st_json_open(json, NULL, '{');
    st_json_text(json, "file", rank->trace->file);
    st_json_open(json, "edges", '{');
    for (int i = 0; i < ST_TRACE_EDGE_RANKS; i++)
        write_edges_json(json, st_trace_edge_kind_name((st_trace_edge_kind)i), rank->edges[i]);
    st_json_close(json, '}');
    st_json_number(json, "launch_lag_ns", (double)rank->launch_lag_ns);
    st_json_number(json, "queue_gap_ns", (double)rank->queue_gap_ns);
    st_json_number(json, "clock_ns", (double)rank->clock_ns);
    st_json_count(json, "without_launch", rank->pinned);
    st_json_count(json, "unexplained", rank->unexplained);
    st_json_number(json, "unexplained_ns", (double)rank->unexplained_ns);
    st_json_number(json, "graphs_ns", (double)rank->graphs_ns);
    st_json_close(json, '}');
}

void st_trace_graph_json(const st_trace_graph *graph, st_buffer *buffer)
{
    st_json json = {.buffer = buffer};
    st_json_open(&json, NULL, '{');
    st_json_count(&json, "schema_version", 1);
    st_json_text(&json, "steptime", STEPTIME_VERSION);
    st_json_count(&json, "tasks", st_graph_task_count(graph->graph));
    st_json_count(&json, "dependencies", st_graph_edge_count(graph->graph));
    st_json_number(&json, "most_apart_ns", (double)graph->most_apart_ns);
    st_json_open(&json, "edges", '{');
    for (int i = 0; i < ST_TRACE_EDGE_KINDS; i++)
        write_edges_json(&json, st_trace_edge_kind_name((st_trace_edge_kind)i),
                         sum_edges(graph, i));
    st_json_close(&json, '}');
    st_json_open(&json, "ranks", '[');
    for (size_t i = 0; i < graph->set->count; i++)
        write_rank_json(&json, &graph->ranks[i]);
    st_json_close(&json, ']');
    st_json_close(&json, '}');
}

static void write_line(const char *file, const char *kind, st_trace_edges edges, st_buffer *buffer)
{
    char texts[3][TEXT];
    (void)snprintf(texts[0], TEXT, "%llu", (unsigned long long)edges.exact);
    (void)snprintf(texts[1], TEXT, "%llu", (unsigned long long)edges.inferred);
    (void)snprintf(texts[2], TEXT, "%llu", (unsigned long long)edges.contradicted);
    const char *fields[] = {file, kind, texts[0], texts[1], texts[2]};
    st_csv_row(fields, 5, buffer);
}

void st_trace_graph_csv(const st_trace_graph *graph, st_buffer *buffer)
{
    static const char *const head[] = {"file", "dependency", "exact", "inferred", "contradicted"};
    st_csv_row(head, 5, buffer);
    for (size_t i = 0; i < graph->set->count; i++) {
        for (int k = 0; k < ST_TRACE_EDGE_RANKS; k++)
            write_line(graph->set->ranks[i]->file, st_trace_edge_kind_name((st_trace_edge_kind)k),
                       graph->ranks[i].edges[k], buffer);
    }
    write_line(NULL, st_trace_edge_kind_name(ST_TRACE_EDGE_RANKS), graph->meetings, buffer);
}
