/* SPDX-License-Identifier: Apache-2.0 */
/* The dependencies of a graph that was built from traces, counted. */
#include "base/number.h"
#include "trace/trace_replay.h"

enum { TEXT = 48 };

static st_node *put_edges(st_node *node, const char *key, int kind, st_trace_edges edges)
{
    st_node *map = st_put_line_map(node, key);
    st_put_count(map, "exact", edges.exact);
    st_put_count(map, "inferred", edges.inferred);
    st_put_count(map, "contradicted", edges.contradicted);
    st_put_text(map, ".kind", st_trace_edge_kind_name((st_trace_edge_kind)kind));
    static const char *const texts[ST_TRACE_EDGE_KINDS] = {
        "host after host",
        "GPU task after its call",
        "host after GPU task",
        "GPU task after the one before it on its stream",
        "GPU task after one of another stream",
        "collectives in which ranks meet",
    };
    st_put_text(map, ".doc", texts[kind]);
    return map;
}

/* `lines` has what CSV shows: each kind of dependency of each rank. */
static void put_rank(const st_trace_rank *rank, st_node *node, st_node *lines)
{
    st_put_text(node, "file", rank->trace->file);
    st_node *edges = st_put_map(node, "edges");
    for (int i = 0; i < ST_TRACE_EDGE_RANKS; i++) {
        const char *key = st_trace_edge_kind_name((st_trace_edge_kind)i);
        (void)put_edges(edges, key, i, rank->edges[i]);
        st_put_text(put_edges(lines, NULL, i, rank->edges[i]), ".file", rank->trace->file);
    }
    st_put_ns(node, "launch_lag_ns", rank->launch_lag_ns);
    st_put_ns(node, "queue_gap_ns", rank->queue_gap_ns);
    st_put_ns(node, "clock_ns", rank->clock_ns);
    st_put_ns(node, "gpu_late_ns", rank->gpu_late_ns);
    st_put_count(node, "waits", rank->waiting.count);
    st_put_ns(node, "waits_ns", rank->waiting.total_ns);
    st_put_count(node, "unknown_waits", rank->waiting.unknown_count);
    st_put_ns(node, "unknown_waits_ns", rank->waiting.unknown_ns);
    st_put_ns(node, "own_ns", rank->waiting.own_ns);
    st_put_count(node, "without_launch", rank->unlaunched);
    st_put_count(node, "blocked", rank->blocked);
    st_put_ns(node, "blocked_ns", rank->blocked_ns);
    st_put_count(node, "unexplained", rank->unexplained);
    st_put_ns(node, "unexplained_ns", rank->unexplained_ns);
    st_put_ns(node, "graphs_ns", rank->graphs_ns);
    char texts[4][TEXT];
    st_say(node, "%s\n", rank->trace->file);
    st_say(node,
           "  launch lag %s us, gap in a queue %s us; %zu tasks without a launch; %zu tasks late "
           "without a known reason, by %s; clock %s us\n",
           st_number_print('f', 2, (double)rank->launch_lag_ns / 1e3, texts[0], TEXT),
           st_number_print('f', 2, (double)rank->queue_gap_ns / 1e3, texts[1], TEXT),
           rank->unlaunched, rank->unexplained, st_ms_text(rank->unexplained_ns, texts[2], TEXT),
           st_number_print('f', 3, (double)rank->clock_ns / 1e3, texts[3], TEXT));
    if (rank->waiting.count > 0)
        st_say(node, "  the host waits %zu times, %s; %zu of them, %s, for no known cause\n",
               rank->waiting.count, st_ms_text(rank->waiting.total_ns, texts[0], TEXT),
               rank->waiting.unknown_count, st_ms_text(rank->waiting.unknown_ns, texts[1], TEXT));
    if (rank->waiting.own_ns > 0)
        st_say(node, "  waiting calls continue after the GPU is done: %s\n",
               st_ms_text(rank->waiting.own_ns, texts[0], TEXT));
    if (rank->blocked > 0)
        st_say(node, "  %zu tasks had no room while another stream's kernel ran: %s\n",
               rank->blocked, st_ms_text(rank->blocked_ns, texts[0], TEXT));
    if (rank->gpu_late_ns != 0)
        st_say(node, "  the GPU's clock is late by %s us\n",
               st_number_print('f', 3, (double)rank->gpu_late_ns / 1e3, texts[0], TEXT));
    if (rank->graphs_ns > 0)
        st_say(node, "  nodes of CUDA graphs without a record: %s\n",
               st_ms_text(rank->graphs_ns, texts[0], TEXT));
}

void st_trace_graph_result(const st_trace_graph *graph, st_arena *arena, st_result *result)
{
    char text[TEXT];
    st_node *root = st_result_begin(result, arena);
    size_t tasks = st_graph_task_count(graph->graph);
    size_t dependencies = st_graph_edge_count(graph->graph);
    st_put_count(root, "tasks", tasks);
    st_put_count(root, "dependencies", dependencies);
    st_put_ns(root, "most_apart_ns", graph->most_apart_ns);
    st_say(root, "%zu ranks, %zu tasks, %zu dependencies besides program order\n",
           graph->set->count, tasks, dependencies);
    if (graph->instances.exact + graph->instances.inferred > 0)
        st_say(root, "ends of one collective differ by up to %s us\n",
               st_number_print('f', 1, (double)graph->most_apart_ns / 1e3, text, TEXT));
    st_put_count(root, "inferred_groups", graph->inferred_groups);
    if (graph->inferred_groups > 0)
        st_say(root, "%zu groups of ranks inferred from collectives that end together\n",
               graph->inferred_groups);
    st_say(root, "\n");
    st_table *table = st_say_columns(root, "*dependency|>exact|>inferred|>contradicted|");
    st_node *map = st_put_map(root, "edges");
    for (int i = 0; i < ST_TRACE_EDGE_KINDS; i++) {
        const char *key = st_trace_edge_kind_name((st_trace_edge_kind)i);
        /* The edges of one kind over all ranks. */
        st_trace_edges sum = i == ST_TRACE_EDGE_RANKS ? graph->instances : (st_trace_edges){0};
        for (size_t j = 0; j < graph->set->count && i != ST_TRACE_EDGE_RANKS; j++) {
            sum.exact += graph->ranks[j].edges[i].exact;
            sum.inferred += graph->ranks[j].edges[i].inferred;
            sum.contradicted += graph->ranks[j].edges[i].contradicted;
        }
        st_table_show(table, put_edges(map, key, i, sum), ".kind,exact,inferred,contradicted,.doc");
    }
    st_node *lines = st_put_list(root, ".lines");
    st_node *ranks = st_put_list(root, "ranks");
    for (size_t i = 0; i < graph->set->count; i++)
        put_rank(&graph->ranks[i], st_put_map(ranks, NULL), lines);
    (void)put_edges(lines, NULL, ST_TRACE_EDGE_RANKS, graph->instances);
    st_result_csv(result, ".lines", ".file=file,.kind=dependency,exact,inferred,contradicted");
}
