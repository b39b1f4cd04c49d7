/* SPDX-License-Identifier: Apache-2.0 */
/* The replay of traces compared with their recording. */
#include "trace/trace_replay.h"

#include "base/number.h"
#include "trace/replayed.h"
#include "trace/xalloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 48 };

/* --- making ---------------------------------------------------------------------------------- */

static st_status replay_ranks(const st_trace_replay_report *report, st_replay *replay, bool delayed,
                              st_errors *errors)
{
    st_trace_graph *graph = report->graph;
    st_status status = st_trace_graph_delays(graph, delayed, errors);
    if (status == ST_OK)
        status = st_replay_run(replay, errors);
    for (size_t i = 0; i < graph->set->count && status == ST_OK; i++) {
        st_trace_replayed *rank = &report->ranks[i];
        st_trace_replay_rank(graph, replay, i, delayed ? &rank->replayed : &rank->alone);
    }
    return status;
}

static void recall(const st_trace_replay_report *report, const st_replay *replay, st_arena *arena)
{
    const st_trace_graph *graph = report->graph;
    for (size_t i = 0; i < graph->set->count; i++) {
        st_trace_replayed *rank = &report->ranks[i];
        const st_trace_rank *tasks = &graph->ranks[i];
        st_trace_summary summary;
        st_trace_summarize(graph->set->ranks[i], arena, &summary);
        rank->recorded = summary.time;
        /* A collective begins when its last rank arrives; before that a rank waits in its
         * kernel. */
        rank->waits_known = tasks->trace->world_size == 1;
        for (size_t j = 0; j < tasks->trace->event_count; j++) {
            if (tasks->tasks[j] == ST_TASK_NONE ||
                tasks->trace->events[j].class_ != ST_TRACE_COMMUNICATION)
                continue;
            st_task_time time = st_replay_task(replay, tasks->tasks[j]);
            rank->waits_known |= st_graph_task(graph->graph, tasks->tasks[j]).instance != 0;
            rank->waiting_ns += time.start_ns - time.ready_ns;
            rank->transfer_ns += time.end_ns - time.start_ns;
        }
        rank->steps = summary.steps;
        rank->step_count = summary.step_count;
        rank->step_ns = st_xalloc(arena, summary.step_count + 1, sizeof *rank->step_ns);
        for (size_t k = 0; k < summary.step_count; k++)
            rank->step_ns[k] = st_replayed_step_ns(&tasks->steps[k], replay);
    }
}

static double points(int64_t a_ns, int64_t a_window_ns, int64_t b_ns, int64_t b_window_ns)
{
    if (a_window_ns <= 0 || b_window_ns <= 0)
        return 0;
    return 100 * fabs((double)a_ns / (double)a_window_ns - (double)b_ns / (double)b_window_ns);
}

static double most_points(const st_trace_breakdown *a, const st_trace_breakdown *b)
{
    double most = 0;
    const int64_t pairs[][2] = {
        {a->exposed_compute_ns, b->exposed_compute_ns},
        {a->exposed_communication_ns, b->exposed_communication_ns},
        {a->overlapped_ns, b->overlapped_ns},
        {a->idle_ns, b->idle_ns},
    };
    for (size_t i = 0; i < 4; i++)
        most = fmax(most, points(pairs[i][0], a->window_ns, pairs[i][1], b->window_ns));
    return most;
}

ST_COMPARE(compare_tallies, st_trace_tally, ST_FALLING(total_ns) ST_BY_TEXT(name));

/* What each category adds to the end of the chain before it. */
static st_status find_path(st_trace_replay_report *report, const st_replay *replay, st_arena *arena,
                           st_errors *errors)
{
    const st_graph *graph = report->graph->graph;
    const st_path_step *steps = NULL;
    size_t count = 0;
    size_t categories = st_graph_category_count(graph);
    st_trace_tally *tallies = st_xalloc(arena, categories + 1, sizeof *tallies);
    st_status status = st_replay_path(replay, arena, &steps, &count, errors);
    if (status != ST_OK)
        return status;
    int64_t reached = 0;
    for (size_t i = 0; i < count; i++) {
        st_trace_tally *tally = &tallies[st_graph_task(graph, steps[i].task).category];
        int64_t end = st_replay_task(replay, steps[i].task).end_ns;
        tally->count++;
        tally->total_ns += end > reached ? end - reached : 0;
        reached = end > reached ? end : reached;
    }
    for (size_t i = 0; i < categories; i++) {
        tallies[i].name = st_graph_category_name(graph, (uint16_t)i);
        if (tallies[i].count > 0)
            tallies[report->path_count++] = tallies[i];
    }
    qsort(tallies, report->path_count, sizeof *tallies, compare_tallies);
    report->path = tallies;
    return ST_OK;
}

st_status st_trace_replay_make(st_trace_graph *graph, st_replay *replay, st_arena *arena,
                               st_trace_replay_report *report, st_errors *errors)
{
    *report = (st_trace_replay_report){.graph = graph};
    report->ranks = st_xalloc(arena, graph->set->count, sizeof *report->ranks);
    st_status status =
        st_trace_check_graph(graph, replay, arena, &report->left, &report->left_count, errors);
    if (status == ST_OK)
        status = replay_ranks(report, replay, false, errors);
    if (status == ST_OK)
        status = replay_ranks(report, replay, true, errors);
    if (status == ST_OK)
        recall(report, replay, arena);
    if (status == ST_OK)
        status = find_path(report, replay, arena, errors);
    if (status == ST_OK) {
        for (size_t i = 0; i < report->graph->set->count; i++) {
            const st_trace_replayed *rank = &report->ranks[i];
            int64_t start = report->graph->ranks[i].start_ns;
            int64_t recorded = start + rank->recorded.window_ns;
            int64_t replayed = start + rank->replayed.window_ns;
            if (recorded > report->recorded_ns)
                report->recorded_ns = recorded;
            if (replayed > report->replayed_ns)
                report->replayed_ns = replayed;
            report->most_points =
                fmax(report->most_points, most_points(&rank->recorded, &rank->replayed));
            report->most_points_alone =
                fmax(report->most_points_alone, most_points(&rank->recorded, &rank->alone));
        }
    }
    return status;
}

/* --- the result ------------------------------------------------------------------------------ */

st_node *st_put_breakdown_row(st_node *list, const char *which, const st_trace_breakdown *time)
{
    st_node *row = st_put_map(list, NULL);
    st_put_text(row, "which", which);
    st_put_breakdown(row, time);
    st_put_ms(row, ".window", time->window_ns);
    st_put_share(row, ".compute", time->exposed_compute_ns, time->window_ns);
    st_put_share(row, ".communication", time->exposed_communication_ns, time->window_ns);
    st_put_share(row, ".overlapped", time->overlapped_ns, time->window_ns);
    st_put_share(row, ".idle", time->idle_ns, time->window_ns);
    return row;
}

st_table *st_trace_breakdown_table(st_node *root)
{
    return st_say_columns(root, "*rank||>window|>compute|>communication|>overlapped|>idle");
}

void st_trace_show_breakdowns(st_table *table, const st_node *rows)
{
    st_table_show(table, rows, ".name,which,.window,.compute,.communication,.overlapped,.idle");
}

const char *st_change_text(int64_t new_ns, int64_t old_ns, char *text, size_t size)
{
    char number[TEXT];
    double change = old_ns > 0 ? 100 * ((double)new_ns / (double)old_ns - 1) : 0;
    (void)snprintf(text, size, "%s%s %%", change >= 0 ? "+" : "",
                   st_number_print('f', 2, change, number, sizeof number));
    return text;
}

/* Two times in the columns of breakdowns, each behind its name; below 0 they are unknown. */
static void put_times(st_node *list, const char *name, int64_t time_ns, const char *other,
                      int64_t other_ns)
{
    st_node *row = st_put_map(list, NULL);
    st_put_text(row, "which", name);
    st_put_ms(row, ".window", time_ns);
    st_put_text(row, ".compute", other);
    st_put_ms_known(row, ".communication", other_ns);
}

static void put_rank(const st_trace *trace, size_t index, const st_trace_replayed *rank,
                     st_table *table, st_node *node)
{
    st_put_text(node, "file", trace->file);
    st_put_known(node, "rank", trace->rank);
    st_put_breakdown(st_put_line_map(node, "recorded"), &rank->recorded);
    st_put_breakdown(st_put_line_map(node, "replayed"), &rank->replayed);
    st_put_breakdown(st_put_line_map(node, "dependencies_alone"), &rank->alone);
    st_node *rows = st_put_list(node, ".rows");
    st_node *times = st_put_list(node, ".times");
    st_node *first = st_put_breakdown_row(rows, "recorded", &rank->recorded);
    st_put_format(first, ".name", "%lld",
                  trace->rank < 0 ? (long long)index : (long long)trace->rank);
    (void)st_put_breakdown_row(rows, "replayed", &rank->replayed);
    (void)st_put_breakdown_row(rows, "dependencies alone", &rank->alone);
    st_put_ns_known(node, "transfer_ns", rank->waits_known ? rank->transfer_ns : -1);
    st_put_ns_known(node, "waiting_ns", rank->waits_known ? rank->waiting_ns : -1);
    st_node *steps = st_put_list(node, "steps");
    if (rank->transfer_ns + rank->waiting_ns > 0)
        put_times(times, "collectives", rank->transfer_ns, "waiting",
                  rank->waits_known ? rank->waiting_ns : -1);
    for (size_t i = 0; i < rank->step_count; i++) {
        st_node *step = st_put_line_map(steps, NULL);
        st_put_text(step, "name", rank->steps[i].name);
        st_put_ns(step, "recorded_ns", rank->steps[i].duration_ns);
        st_put_ns(step, "replayed_ns", rank->step_ns[i]);
        put_times(times, rank->steps[i].name, rank->step_ns[i], "recorded",
                  rank->steps[i].duration_ns);
    }
    st_trace_show_breakdowns(table, rows);
    st_trace_show_breakdowns(table, times);
}

void st_trace_replay_result(const st_trace_replay_report *report, st_arena *arena,
                            st_result *result)
{
    const st_trace_set *set = report->graph->set;
    char texts[3][TEXT];
    st_node *root = st_result_begin(result, arena);
    st_put_ns(root, "recorded_ns", report->recorded_ns);
    st_put_ns(root, "replayed_ns", report->replayed_ns);
    st_put_number(root, "most_points", report->most_points);
    st_put_number(root, "most_points_alone", report->most_points_alone);
    st_say(root, "%zu ranks: %s recorded, %s replayed (%s)\n", set->count,
           st_ms_text(report->recorded_ns, texts[0], TEXT),
           st_ms_text(report->replayed_ns, texts[1], TEXT),
           st_change_text(report->replayed_ns, report->recorded_ns, texts[2], TEXT));
    st_say(root,
           "largest difference of a share: %s percentage points, by dependencies alone %s\n\n",
           st_number_print('f', 2, report->most_points, texts[0], TEXT),
           st_number_print('f', 2, report->most_points_alone, texts[1], TEXT));
    st_table *table = st_trace_breakdown_table(root);
    st_node *ranks = st_put_list(root, "ranks");
    for (size_t i = 0; i < set->count; i++)
        put_rank(set->ranks[i], i, &report->ranks[i], table, st_put_map(ranks, NULL));
    st_say(root, "\nCritical path\n");
    st_table *path_table = st_say_columns(root, "*|>|>|>");
    st_node *path = st_put_list(root, "critical_path");
    for (size_t i = 0; i < report->path_count; i++) {
        const st_trace_tally *tally = &report->path[i];
        st_node *node = st_put_line_map(path, NULL);
        st_put_text(node, "category", tally->name);
        st_put_count(node, "count", tally->count);
        st_put_ns(node, "time_ns", tally->total_ns);
        st_put_ms(node, ".time", tally->total_ns);
        st_put_share(node, ".share", tally->total_ns, report->replayed_ns);
        st_put_format(node, ".count", "%llu x", (unsigned long long)tally->count);
    }
    st_table_show(path_table, path, "category,.time,.share,.count");
    /* What is left of the step at extremes, and of what it consists. */
    char text[TEXT];
    st_say(root, "\n");
    st_table *left_table = st_say_columns(
        root, "*what is left|>length|>change|>host|>unknown waits|>launches|>late|>GPU");
    st_node *rows = st_put_list(root, "left");
    for (size_t i = 0; i < report->left_count; i++) {
        const st_trace_left *left = &report->left[i];
        st_node *row = st_put_line_map(rows, NULL);
        st_put_text(row, "what", left->what);
        st_put_ns(row, "length_ns", left->length_ns);
        st_put_ns(row, "host_ns", left->host_ns);
        st_put_ns(row, "unknown_waits_ns", left->wait_ns);
        st_put_ns(row, "launches_ns", left->launch_ns);
        st_put_ns(row, "late_ns", left->late_ns);
        st_put_ns(row, "gpu_ns", left->gpu_ns);
        st_put_ms(row, ".length", left->length_ns);
        st_put_format(row, ".change", "%s",
                      st_change_text(left->length_ns, report->replayed_ns, text, TEXT));
        int64_t path_ns = left->host_ns + left->wait_ns + left->launch_ns + left->late_ns;
        path_ns += left->gpu_ns;
        st_put_share(row, ".host", left->host_ns, path_ns);
        st_put_share(row, ".waits", left->wait_ns, path_ns);
        st_put_share(row, ".launches", left->launch_ns, path_ns);
        st_put_share(row, ".late", left->late_ns, path_ns);
        st_put_share(row, ".gpu", left->gpu_ns, path_ns);
    }
    st_table_show(left_table, rows, "what,.length,.change,.host,.waits,.launches,.late,.gpu");
    st_result_csv(result, "ranks/.rows", "file,rank," ST_BREAKDOWN_COLUMNS);
}
