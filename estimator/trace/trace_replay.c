/* SPDX-License-Identifier: Apache-2.0 */
/* The replay of traces beside their recording. */
#include "trace/trace_replay.h"

#include "base/number.h"
#include "base/csv_write.h"

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
        status = st_trace_replay_rank(graph, replay, i, delayed ? &rank->replayed : &rank->alone,
                                      errors);
    }
    return status;
}

/* A collective begins when its last rank arrives; before that a rank waits in its kernel. */
static void split_collectives(const st_trace_rank *tasks, const st_replay *replay,
                              st_trace_replayed *rank)
{
    for (size_t i = 0; i < tasks->trace->event_count; i++) {
        if (tasks->tasks[i] == ST_TASK_NONE ||
            tasks->trace->events[i].class_ != ST_TRACE_COMMUNICATION)
            continue;
        st_task_time time = st_replay_task(replay, tasks->tasks[i]);
        rank->waiting_ns += time.start_ns - time.ready_ns;
        rank->transfer_ns += time.end_ns - time.start_ns;
    }
}

/* What of a step passes before the first call of any rank, where the graph begins. */
static int64_t before_graph_ns(const st_trace_rank *rank, const st_trace_step *step)
{
    int64_t start_ns = rank->start_ns + step->start_ns;
    int64_t lead_ns = start_ns < 0 ? -start_ns : 0;
    return lead_ns < step->duration_ns ? lead_ns : step->duration_ns;
}

static st_status recall(const st_trace_replay_report *report, const st_replay *replay,
                        st_arena *arena, st_errors *errors)
{
    const st_trace_graph *graph = report->graph;
    for (size_t i = 0; i < graph->set->count; i++) {
        st_trace_replayed *rank = &report->ranks[i];
        const st_trace_rank *tasks = &graph->ranks[i];
        st_trace_summary summary;
        st_status status = st_trace_summarize(graph->set->ranks[i], arena, &summary, errors);
        if (status != ST_OK)
            return status;
        rank->recorded = summary.time;
        split_collectives(tasks, replay, rank);
        rank->steps = summary.steps;
        rank->step_count = summary.step_count;
        rank->step_ns = st_arena_alloc(arena, summary.step_count + 1, sizeof *rank->step_ns);
        if (rank->step_ns == NULL)
            return ST_ERR_MEMORY;
        for (size_t k = 0; k < summary.step_count; k++)
            rank->step_ns[k] = st_replay_task(replay, tasks->steps[2 * k + 1]).end_ns -
                               st_replay_task(replay, tasks->steps[2 * k]).end_ns +
                               before_graph_ns(tasks, &summary.steps[k]);
    }
    return ST_OK;
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

static void add_up(st_trace_replay_report *report)
{
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

static int compare_tallies(const void *left, const void *right)
{
    const st_trace_tally *a = left;
    const st_trace_tally *b = right;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* What each category adds to the end of the chain before it. */
static st_status find_path(st_trace_replay_report *report, const st_replay *replay, st_arena *arena,
                           st_errors *errors)
{
    const st_graph *graph = report->graph->graph;
    const st_path_step *steps = NULL;
    size_t count = 0;
    size_t categories = st_graph_category_count(graph);
    st_trace_tally *tallies = st_arena_alloc(arena, categories + 1, sizeof *tallies);
    if (tallies == NULL)
        return ST_ERR_MEMORY;
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
    report->ranks = st_arena_alloc(arena, graph->set->count, sizeof *report->ranks);
    if (report->ranks == NULL)
        return ST_ERR_MEMORY;
    st_status status = replay_ranks(report, replay, false, errors);
    if (status == ST_OK)
        status = replay_ranks(report, replay, true, errors);
    if (status == ST_OK)
        status = recall(report, replay, arena, errors);
    if (status == ST_OK)
        status = find_path(report, replay, arena, errors);
    if (status == ST_OK)
        add_up(report);
    return status;
}

/* --- text ------------------------------------------------------------------------------------ */

void st_trace_breakdown_row(st_table *table, const char *rank, const char *which,
                            const st_trace_breakdown *time)
{
    char texts[5][TEXT];
    const char *fields[] = {
        rank,
        which,
        st_ms_text(time->window_ns, texts[0], TEXT),
        st_share_text(time->exposed_compute_ns, time->window_ns, texts[1], TEXT),
        st_share_text(time->exposed_communication_ns, time->window_ns, texts[2], TEXT),
        st_share_text(time->overlapped_ns, time->window_ns, texts[3], TEXT),
        st_share_text(time->idle_ns, time->window_ns, texts[4], TEXT),
    };
    st_table_row(table, fields);
}

st_table *st_trace_breakdown_table(st_arena *arena)
{
    static const st_table_column columns[] = {
        {.ink = ST_INK_NAME}, {.right = false}, {.right = true}, {.right = true},
        {.right = true},      {.right = true},  {.right = true}};
    static const char *const head[] = {"rank",          "",           "window", "compute",
                                       "communication", "overlapped", "idle"};
    st_table *table = st_table_create(arena, columns, 7);
    if (table != NULL)
        st_table_row(table, head);
    return table;
}

static void add_steps(st_table *table, const st_trace_replayed *rank)
{
    for (size_t i = 0; i < rank->step_count; i++) {
        char recorded[TEXT];
        char replayed[TEXT];
        const char *fields[] = {NULL,
                                rank->steps[i].name,
                                st_ms_text(rank->step_ns[i], replayed, TEXT),
                                "recorded",
                                st_ms_text(rank->steps[i].duration_ns, recorded, TEXT),
                                NULL,
                                NULL};
        st_table_row(table, fields);
    }
}

static void add_collectives(st_table *table, const st_trace_replayed *rank)
{
    char transfer[TEXT];
    char waiting[TEXT];
    const char *fields[] = {NULL,
                            "collectives",
                            st_ms_text(rank->transfer_ns, transfer, TEXT),
                            "waiting",
                            st_ms_text(rank->waiting_ns, waiting, TEXT),
                            NULL,
                            NULL};
    if (rank->transfer_ns + rank->waiting_ns > 0)
        st_table_row(table, fields);
}

static void write_ranks(const st_trace_replay_report *report, st_arena *arena, st_buffer *buffer)
{
    st_paint paint = {0};
    st_table *table = st_trace_breakdown_table(arena);
    if (table == NULL) {
        buffer->failed = true;
        return;
    }
    for (size_t i = 0; i < report->graph->set->count; i++) {
        char name[TEXT];
        long long number = (long long)report->graph->set->ranks[i]->rank;
        (void)snprintf(name, sizeof name, "%lld", number < 0 ? (long long)i : number);
        st_trace_breakdown_row(table, name, "recorded", &report->ranks[i].recorded);
        st_trace_breakdown_row(table, NULL, "replayed", &report->ranks[i].replayed);
        st_trace_breakdown_row(table, NULL, "dependencies alone", &report->ranks[i].alone);
        add_collectives(table, &report->ranks[i]);
        add_steps(table, &report->ranks[i]);
    }
    st_table_write(table, &paint, 2, buffer);
}

static void write_path(const st_trace_replay_report *report, st_arena *arena, st_buffer *buffer)
{
    static const st_table_column columns[] = {
        {.ink = ST_INK_NAME}, {.right = true}, {.right = true}, {.right = true}};
    st_paint paint = {0};
    st_table *table = st_table_create(arena, columns, 4);
    if (table == NULL) {
        buffer->failed = true;
        return;
    }
    for (size_t i = 0; i < report->path_count; i++) {
        char texts[3][TEXT];
        const st_trace_tally *tally = &report->path[i];
        (void)snprintf(texts[2], TEXT, "%llu x", (unsigned long long)tally->count);
        const char *fields[] = {tally->name, st_ms_text(tally->total_ns, texts[0], TEXT),
                                st_share_text(tally->total_ns, report->replayed_ns, texts[1], TEXT),
                                texts[2]};
        st_table_row(table, fields);
    }
    st_buffer_text(buffer, "\nCritical path\n");
    st_table_write(table, &paint, 2, buffer);
}

const char *st_change_text(int64_t new_ns, int64_t old_ns, char *text, size_t size)
{
    char number[TEXT];
    double change = old_ns > 0 ? 100 * ((double)new_ns / (double)old_ns - 1) : 0;
    (void)snprintf(text, size, "%s%s %%", change >= 0 ? "+" : "",
                   st_number_print('f', 2, change, number, sizeof number));
    return text;
}

void st_trace_replay_text(const st_trace_replay_report *report, st_arena *arena, st_buffer *buffer)
{
    char texts[3][TEXT];
    st_buffer_printf(buffer, "%zu ranks: %s recorded, %s replayed (%s)\n",
                     report->graph->set->count, st_ms_text(report->recorded_ns, texts[0], TEXT),
                     st_ms_text(report->replayed_ns, texts[1], TEXT),
                     st_change_text(report->replayed_ns, report->recorded_ns, texts[2], TEXT));
    st_buffer_printf(buffer,
                     "largest difference of a share: %s percentage points, by dependencies alone "
                     "%s\n\n",
                     st_number_print('f', 2, report->most_points, texts[0], TEXT),
                     st_number_print('f', 2, report->most_points_alone, texts[1], TEXT));
    write_ranks(report, arena, buffer);
    write_path(report, arena, buffer);
}

/* --- data ------------------------------------------------------------------------------------ */

void st_trace_breakdown_json(st_json *json, const st_trace_breakdown *time)
{
    st_json_number(json, "window_ns", (double)time->window_ns);
    st_json_number(json, "exposed_compute_ns", (double)time->exposed_compute_ns);
    st_json_number(json, "exposed_comm_ns", (double)time->exposed_communication_ns);
    st_json_number(json, "overlap_ns", (double)time->overlapped_ns);
    st_json_number(json, "idle_ns", (double)time->idle_ns);
}

static void write_breakdown(st_json *json, const char *key, const st_trace_breakdown *time)
{
    st_json_open_line(json, key, '{');
    st_trace_breakdown_json(json, time);
    st_json_close(json, '}');
}

static void write_rank(st_json *json, const st_trace *trace, const st_trace_replayed *rank)
{
    st_json_open(json, NULL, '{');
    st_json_text(json, "file", trace->file);
    if (trace->rank >= 0)
        st_json_count(json, "rank", (size_t)trace->rank);
    else
        st_json_text(json, "rank", NULL);
    write_breakdown(json, "recorded", &rank->recorded);
    write_breakdown(json, "replayed", &rank->replayed);
    write_breakdown(json, "dependencies_alone", &rank->alone);
    st_json_number(json, "transfer_ns", (double)rank->transfer_ns);
    st_json_number(json, "waiting_ns", (double)rank->waiting_ns);
    st_json_open(json, "steps", '[');
    for (size_t i = 0; i < rank->step_count; i++) {
        st_json_open_line(json, NULL, '{');
        st_json_text(json, "name", rank->steps[i].name);
        st_json_number(json, "recorded_ns", (double)rank->steps[i].duration_ns);
        st_json_number(json, "replayed_ns", (double)rank->step_ns[i]);
        st_json_close(json, '}');
    }
    st_json_close(json, ']');
    st_json_close(json, '}');
}

void st_trace_replay_json(const st_trace_replay_report *report, st_buffer *buffer)
{
    st_json json = {.buffer = buffer};
    st_json_open(&json, NULL, '{');
    st_json_count(&json, "schema_version", 1);
    st_json_text(&json, "steptime", STEPTIME_VERSION);
    st_json_number(&json, "recorded_ns", (double)report->recorded_ns);
    st_json_number(&json, "replayed_ns", (double)report->replayed_ns);
    st_json_number(&json, "most_points", report->most_points);
    st_json_number(&json, "most_points_alone", report->most_points_alone);
    st_json_open(&json, "ranks", '[');
    for (size_t i = 0; i < report->graph->set->count; i++)
        write_rank(&json, report->graph->set->ranks[i], &report->ranks[i]);
    st_json_close(&json, ']');
    st_json_open(&json, "critical_path", '[');
    for (size_t i = 0; i < report->path_count; i++) {
        st_json_open_line(&json, NULL, '{');
        st_json_text(&json, "category", report->path[i].name);
        st_json_count(&json, "count", (size_t)report->path[i].count);
        st_json_number(&json, "time_ns", (double)report->path[i].total_ns);
        st_json_close(&json, '}');
    }
    st_json_close(&json, ']');
    st_json_close(&json, '}');
}

void st_trace_breakdown_csv(const st_trace *trace, const char *which,
                            const st_trace_breakdown *time, st_buffer *buffer)
{
    char texts[6][TEXT];
    const int64_t values[] = {trace->rank,
                              time->window_ns,
                              time->exposed_compute_ns,
                              time->exposed_communication_ns,
                              time->overlapped_ns,
                              time->idle_ns};
    for (size_t i = 0; i < 6; i++)
        (void)snprintf(texts[i], TEXT, "%lld", (long long)values[i]);
    const char *fields[] = {trace->file, trace->rank >= 0 ? texts[0] : NULL,
                            which,       texts[1],
                            texts[2],    texts[3],
                            texts[4],    texts[5]};
    st_csv_row(fields, 8, buffer);
}

void st_trace_breakdown_csv_head(st_buffer *buffer)
{
    static const char *const head[] = {
        "file",       "rank",   "which", "window_ns", "exposed_compute_ns", "exposed_comm_ns",
        "overlap_ns", "idle_ns"};
    st_csv_row(head, 8, buffer);
}

void st_trace_replay_csv(const st_trace_replay_report *report, st_buffer *buffer)
{
    st_trace_breakdown_csv_head(buffer);
    for (size_t i = 0; i < report->graph->set->count; i++) {
        const st_trace *trace = report->graph->set->ranks[i];
        st_trace_breakdown_csv(trace, "recorded", &report->ranks[i].recorded, buffer);
        st_trace_breakdown_csv(trace, "replayed", &report->ranks[i].replayed, buffer);
        st_trace_breakdown_csv(trace, "dependencies alone", &report->ranks[i].alone, buffer);
    }
}
