/* SPDX-License-Identifier: Apache-2.0 */
/* A replayed execution trace as a result. */
#include "workload/execution.h"

static double seconds(int64_t time_ns)
{
    return (double)time_ns / 1e9;
}

static void fill_rank(const void *context, size_t index, st_node *node)
{
    const st_execution_replay *replay = context;
    const st_rank_time *time = &replay->times[index];
    st_put_count(node, "rank", st_graph_rank(replay->graph, index));
    st_put_seconds(node, "exposed_compute_s", seconds(time->exposed_compute_ns));
    st_put_seconds(node, "exposed_communication_s", seconds(time->exposed_communication_ns));
    st_put_seconds(node, "overlapped_s", seconds(time->overlapped_ns));
    st_put_seconds(node, "waiting_s", seconds(time->waiting_ns));
    st_put_seconds(node, "idle_s", seconds(time->idle_ns));
}

static void fill_kind(const void *context, size_t index, st_node *node)
{
    const st_execution_replay *replay = context;
    if (replay->kind_counts[index] == 0)
        return;
    st_put_text(node, "name", st_graph_category_name(replay->graph, (uint16_t)index));
    st_put_count(node, "nodes", replay->kind_counts[index]);
    st_put_seconds(node, "all_ranks_s", seconds(replay->kind_ns[index]));
}

void st_execution_report(const st_execution_replay *replay, const st_execution_prices *prices,
                         st_arena *arena, st_result *result)
{
    st_node *root = st_result_begin(result, arena);
    double step_s = seconds(st_replay_end_ns(replay->replay));
    st_say(root, "ranks      %zu\nnodes      %zu\nstep time  %.6g s\n", replay->set->count,
           st_graph_task_count(replay->graph), step_s);
    if (prices != NULL) {
        /* How much of the time is a guess, and what has none. */
        double share =
            prices->time_ns > 0 ? (double)prices->unknown_ns / (double)prices->time_ns : 0;
        st_node *map = st_put_map(root, "prices");
        st_put_text(map, "device", prices->device);
        st_put_count(map, "kernels", prices->nodes);
        st_put_seconds(map, "kernels_s", seconds(prices->time_ns));
        st_put_count(map, "unknown", prices->unknown);
        st_put_count(map, "untimed", prices->untimed);
        st_put_seconds(map, "unknown_s", seconds(prices->unknown_ns));
        st_put_count(map, "refined", prices->refined);
        st_put_count(map, "as_recorded", prices->kept);
        st_put_count(map, "collectives", prices->collectives);
        st_put_count(map, "unpriced_collectives", prices->unpriced);
        st_say(root,
               "priced for %s: %llu kernels, %llu of them (%.1f %% of their time) by a guess, %llu "
               "without a time\n",
               prices->device, (unsigned long long)prices->nodes,
               (unsigned long long)(prices->unknown - prices->untimed), 100 * share,
               (unsigned long long)prices->untimed);
        if (prices->plugins != NULL)
            st_say(root, "%llu of the kernels by %s\n", (unsigned long long)prices->refined,
                   prices->plugins);
        st_say(root, "%llu nodes as recorded; %llu collectives, %llu without a price\n",
               (unsigned long long)prices->kept, (unsigned long long)prices->collectives,
               (unsigned long long)prices->unpriced);
    }
    st_put_count(root, "nodes", st_graph_task_count(replay->graph));
    st_put_seconds(root, "step_time_s", step_s);
    st_put_count(root, "unmatched_transfers", replay->unmatched);
    const st_node *ranks =
        st_put_rows(root, "ranks", fill_rank, replay, st_graph_rank_count(replay->graph));
    const st_node *kinds =
        st_put_rows(root, "kinds", fill_kind, replay, st_graph_category_count(replay->graph));
    st_say_title(root, "Where the time goes");
    st_table_show(
        st_say_columns(root,
                       ">rank|>exposed compute|>exposed communication|>overlapped|>waiting|>idle"),
        ranks, "rank,exposed_compute_s,exposed_communication_s,overlapped_s,waiting_s,idle_s");
    st_say_title(root, "What it is made of");
    st_table_show(st_say_columns(root, "|>nodes|>all ranks"), kinds, "name,nodes,all_ranks_s");
    st_result_csv(result, "ranks",
                  "rank,exposed_compute_s,exposed_communication_s,overlapped_s,waiting_s,idle_s");
}
