/* SPDX-License-Identifier: Apache-2.0 */
/* The replay of traces compared with their recording. */
#include "trace/devices.h"
#include "trace/trace_replay.h"

#include "base/number.h"
#include "steptime/tool/graph_arrays.h"
#include "trace/busy.h"
#include "trace/link.h"
#include "trace/xalloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a replay says of a rank, in the terms of its trace. */

/* "thread", "launch", "sync", "stream", "streams", "ranks". */
static const char *trace_edge_kind_name(st_trace_edge_kind kind)
{
    static const char *const names[ST_TRACE_EDGE_KINDS] = {
        "thread", "launch", "sync", "stream", "streams", "ranks",
    };
    return kind < ST_TRACE_EDGE_KINDS ? names[kind] : "";
}

void st_replayed_device(const st_trace_graph *graph, const st_replay *replay, size_t rank,
                        int64_t device, bool all_threads, st_trace_breakdown *time)
{
    const st_trace_rank *r = &graph->ranks[rank];
    size_t count = 0;
    st_interval *intervals =
        st_xmalloc((r->trace->event_count + r->copy_count + 1) * sizeof *intervals);
    for (size_t i = 0; i < r->trace->event_count; i++) {
        const st_trace_track *stream = &r->trace->tracks[r->trace->events[i].track];
        if (r->tasks[i] == ST_TASK_NONE || (device >= 0 && stream->process != device))
            continue;
        st_task_time when = st_replay_task(replay, r->tasks[i]);
        intervals[count++] = (st_interval){when.ready_ns, when.end_ns,
                                           r->trace->events[i].class_ == ST_TRACE_COMMUNICATION};
    }
    for (size_t i = 0; i < r->copy_count; i++) {
        st_task_time when = st_replay_task(replay, r->copies[i].task);
        const st_trace_event *event = &r->trace->events[r->copies[i].event];
        if (device >= 0 && r->trace->tracks[event->track].process != device)
            continue;
        intervals[count++] =
            (st_interval){when.ready_ns, when.end_ns, event->class_ == ST_TRACE_COMMUNICATION};
    }
    st_intervals_sort(intervals, count);
    /* When the last thread and the last GPU task of a rank end. */
    int64_t end = r->start_ns;
    for (size_t i = 0; i < r->thread_count; i++) {
        if (!all_threads && !r->thread_acts[i])
            continue;
        int64_t thread = st_replay_task(replay, r->threads[i]).end_ns;
        end = thread > end ? thread : end;
    }
    for (size_t i = 0; i < r->trace->event_count; i++) {
        if (r->tasks[i] == ST_TASK_NONE)
            continue;
        int64_t task = st_replay_task(replay, r->tasks[i]).end_ns;
        end = task > end ? task : end;
    }
    st_busy_breakdown(intervals, count, r->start_ns, end, time);
    free(intervals);
}

st_status st_replayed_path(const st_trace_graph *graph, const st_replay *replay, st_arena *arena,
                           const st_path_step **steps, size_t *count, st_errors *errors)
{
    size_t resources = st_graph_resource_count(graph->graph);
    bool *watches = st_xalloc(arena, resources + 1, sizeof *watches);
    st_task_id last = ST_TASK_NONE;
    int64_t end_ns = -1;
    for (size_t i = 0; i < graph->set->count; i++)
        for (size_t k = 0; k < graph->ranks[i].thread_count; k++)
            watches[st_graph_task(graph->graph, graph->ranks[i].threads[k]).resource] =
                !graph->ranks[i].thread_acts[k];
    for (uint32_t i = 0; i < resources; i++) {
        st_task_id task = st_graph_last_task(graph->graph, i);
        if (task == ST_TASK_NONE || watches[i] || st_replay_task(replay, task).end_ns <= end_ns)
            continue;
        last = task;
        end_ns = st_replay_task(replay, task).end_ns;
    }
    return st_replay_path_to(replay, last, arena, steps, count, errors);
}

void st_replayed_rank(const st_trace_graph *graph, const st_replay *replay, size_t rank,
                      bool all_threads, st_trace_breakdown *time)
{
    st_replayed_device(graph, replay, rank, -1, all_threads, time);
}

st_status st_replayed_times(const st_trace_graph *graph, const st_replay *replay, st_arena *arena,
                            st_trace_times *times, st_errors *errors)
{
    size_t count = st_graph_task_count(graph->graph);
    *times = (st_trace_times){.tasks = st_xalloc(arena, count + 1, sizeof *times->tasks)};
    for (size_t i = 0; i < count; i++)
        times->tasks[i] = st_replay_task(replay, (st_task_id)i);
    return st_replayed_path(graph, replay, arena, &times->path, &times->path_count, errors);
}

int64_t st_replayed_step_ns(const st_trace_mark *step, const st_replay *replay)
{
    return st_replay_task(replay, step->ends).end_ns - st_replay_task(replay, step->begins).end_ns +
           step->lead_ns;
}

void st_trace_replay_rank(const st_trace_graph *graph, const st_replay *replay, size_t rank,
                          st_trace_breakdown *time)
{
    st_replayed_rank(graph, replay, rank, true, time);
}

typedef struct checker {
    st_trace_graph *graph;
    st_replay *replay;
    st_arena *arena;
    st_errors *errors;
    int64_t *durations_ns; /* by task */
    bool *unknown;         /* by task: a wait of unknown cause */
    st_trace_left *rows;
    size_t count;
} checker;

typedef enum part { PART_HOST, PART_WAIT, PART_LAUNCH, PART_LATE, PART_GPU } part;

static part part_of(const checker *c, st_task_id task)
{
    st_task_view view = st_graph_task(c->graph->graph, task);
    bool delay = strcmp(view.category_name, "delay") == 0;
    if (delay)
        return view.kind == ST_RESOURCE_HOST ? PART_LAUNCH : PART_LATE;
    if (view.kind != ST_RESOURCE_HOST)
        return PART_GPU;
    return c->unknown[task] ? PART_WAIT : PART_HOST;
}

/* How much longer a task of a category lasts. */
typedef struct extreme {
    const char *what;
    const char *category; /* NULL: of a part */
    part part;
    double factor;
} extreme;

static st_status set_durations(checker *c, const extreme *one)
{
    st_graph *graph = c->graph->graph;
    st_status status = ST_OK;
    for (st_task_id i = 0; i < st_graph_task_count(graph) && status == ST_OK; i++) {
        bool hit =
            one != NULL && (one->category != NULL
                                ? strcmp(st_graph_task(graph, i).category_name, one->category) == 0
                                : part_of(c, i) == one->part);
        double duration_ns = (double)c->durations_ns[i] * (hit ? one->factor : 1);
        status = st_graph_set_duration(graph, i, llround(duration_ns), c->errors);
    }
    return status == ST_OK ? st_trace_graph_unblock(c->graph, c->errors) : status;
}

static st_status replay_extreme(checker *c, const extreme *one)
{
    st_trace_left *row = &c->rows[c->count++];
    row->what = one->what;
    st_status status = set_durations(c, one);
    if (status == ST_OK)
        status = st_replay_run(c->replay, c->errors);
    for (size_t i = 0; i < c->graph->set->count && status == ST_OK; i++) {
        st_trace_breakdown time;
        st_replayed_rank(c->graph, c->replay, i, false, &time);
        int64_t end_ns = c->graph->ranks[i].start_ns + time.window_ns;
        row->length_ns = end_ns > row->length_ns ? end_ns : row->length_ns;
    }
    if (status != ST_OK)
        return status;
    /* What each part adds to the end of the chain before it. */
    const st_path_step *steps = NULL;
    size_t count = 0;
    int64_t reached_ns = 0;
    int64_t *parts[] = {[PART_HOST] = &row->host_ns,
                        [PART_WAIT] = &row->wait_ns,
                        [PART_LAUNCH] = &row->launch_ns,
                        [PART_LATE] = &row->late_ns,
                        [PART_GPU] = &row->gpu_ns};
    status = st_replayed_path(c->graph, c->replay, c->arena, &steps, &count, c->errors);
    for (size_t i = 0; i < count && status == ST_OK; i++) {
        int64_t end_ns = st_replay_task(c->replay, steps[i].task).end_ns;
        if (end_ns > reached_ns)
            *parts[part_of(c, steps[i].task)] += end_ns - reached_ns;
        reached_ns = end_ns > reached_ns ? end_ns : reached_ns;
    }
    return status;
}

static st_status replay_extremes(checker *c)
{
    static const extreme all[] = {{"GPU at zero", NULL, PART_GPU, 0},
                                  {"host at zero", NULL, PART_HOST, 0}};
    st_status status = ST_OK;
    for (size_t i = 0; i < ST_COUNT(all) && status == ST_OK; i++)
        status = replay_extreme(c, &all[i]);
    for (int i = 0; i < ST_TRACE_CLASSES && status == ST_OK; i++) {
        const char *name =
            i == ST_TRACE_OTHER ? "other kernels" : st_trace_class_name((st_trace_class)i);
        const char *what = st_xprintf(c->arena, "%s at a tenth", name);
        bool has_category = false;
        for (st_task_id j = 0; j < st_graph_task_count(c->graph->graph); j++)
            if (strcmp(st_graph_task(c->graph->graph, j).category_name, name) == 0) {
                has_category = true;
                break;
            }
        if (has_category)
            status = replay_extreme(c, &(extreme){what, name, PART_GPU, 0.1});
    }
    return status;
}

/* Replays with all delays, several times, and leaves durations as they were. Rows are of `arena`.
 */
static st_status trace_check_graph(st_trace_graph *graph, st_replay *replay, st_arena *arena,
                                   st_trace_left **rows, size_t *count, st_errors *errors)
{
    checker c = {.graph = graph, .replay = replay, .arena = arena, .errors = errors};
    st_status status = st_trace_graph_delays(graph, true, errors);
    if (status == ST_OK) {
        const st_graph *prepare_graph = c.graph->graph;
        size_t tasks = st_graph_task_count(prepare_graph);
        c.durations_ns = st_xalloc(c.arena, tasks + 1, sizeof *c.durations_ns);
        c.unknown = st_xalloc(c.arena, tasks + 1, sizeof *c.unknown);
        c.rows = st_xalloc(c.arena, ST_TRACE_CLASSES + 2, sizeof *c.rows);
        for (st_task_id i = 0; i < tasks; i++)
            c.durations_ns[i] = st_graph_task(prepare_graph, i).duration_ns;
        for (size_t i = 0; i < c.graph->set->count; i++)
            for (size_t k = 0; k < c.graph->ranks[i].waiting.unknown_count; k++)
                c.unknown[c.graph->ranks[i].waiting.unknown[k]] = true;
    }
    if (status == ST_OK)
        status = replay_extremes(&c);
    if (status == ST_OK)
        status = set_durations(&c, NULL);
    *rows = c.rows;
    *count = c.count;
    return status;
}

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
        for (size_t k = 0; k < rank->device_count; k++) {
            st_trace_replayed *one = &rank->devices[k];
            st_replayed_device(graph, replay, i, one->device, true,
                               delayed ? &one->replayed : &one->alone);
        }
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
        for (size_t k = 0; k < rank->device_count; k++)
            st_trace_device_time(tasks->trace, rank->devices[k].device, &summary,
                                 &rank->devices[k].recorded);
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
    st_status status = st_replayed_path(report->graph, replay, arena, &steps, &count, errors);
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

/* Devices of ranks that have several. */
static void list_devices(const st_trace_replay_report *report, st_arena *arena)
{
    for (size_t i = 0; i < report->graph->set->count; i++) {
        st_trace_replayed *rank = &report->ranks[i];
        st_trace_device *devices = NULL;
        bool are_ranks = false;
        size_t count = st_trace_devices(report->graph->set->ranks[i], arena, &devices, &are_ranks);
        rank->device_count = count > 1 ? count : 0;
        rank->devices = st_xalloc(arena, count + 1, sizeof *rank->devices);
        for (size_t k = 0; k < rank->device_count; k++)
            rank->devices[k].device = devices[k].number;
    }
}

static void compare_shares(st_trace_replay_report *report, const st_trace_replayed *one)
{
    report->most_points = fmax(report->most_points, most_points(&one->recorded, &one->replayed));
    report->most_points_alone =
        fmax(report->most_points_alone, most_points(&one->recorded, &one->alone));
}

st_status st_trace_replay_make(st_trace_graph *graph, st_replay *replay, st_arena *arena,
                               st_trace_replay_report *report, st_errors *errors)
{
    *report = (st_trace_replay_report){.graph = graph};
    report->ranks = st_xalloc(arena, graph->set->count, sizeof *report->ranks);
    list_devices(report, arena);
    st_status status =
        trace_check_graph(graph, replay, arena, &report->left, &report->left_count, errors);
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
            compare_shares(report, rank);
            for (size_t k = 0; k < rank->device_count; k++)
                compare_shares(report, &rank->devices[k]);
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
    st_node *devices = rank->device_count > 0 ? st_put_list(node, "devices") : NULL;
    for (size_t i = 0; i < rank->device_count; i++) {
        const st_trace_replayed *one = &rank->devices[i];
        st_node *device = st_put_map(devices, NULL);
        st_node *lines = st_put_list(device, ".rows");
        st_put_ns(device, "device", one->device);
        st_put_breakdown(st_put_line_map(device, "recorded"), &one->recorded);
        st_put_breakdown(st_put_line_map(device, "replayed"), &one->replayed);
        st_put_breakdown(st_put_line_map(device, "dependencies_alone"), &one->alone);
        st_put_format(st_put_breakdown_row(lines, "recorded", &one->recorded), ".name",
                      "device %lld", (long long)one->device);
        (void)st_put_breakdown_row(lines, "replayed", &one->replayed);
        (void)st_put_breakdown_row(lines, "dependencies alone", &one->alone);
        st_trace_show_breakdowns(table, lines);
    }
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

/* The dependencies of a graph that was built from traces, counted. */

static st_node *put_edges(st_node *node, const char *key, int kind, st_trace_edges edges)
{
    st_node *map = st_put_line_map(node, key);
    st_put_count(map, "exact", edges.exact);
    st_put_count(map, "inferred", edges.inferred);
    st_put_count(map, "contradicted", edges.contradicted);
    st_put_text(map, ".kind", trace_edge_kind_name((st_trace_edge_kind)kind));
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
static void put_graph_rank(const st_trace_rank *rank, st_node *node, st_node *lines)
{
    st_put_text(node, "file", rank->trace->file);
    st_node *edges = st_put_map(node, "edges");
    for (int i = 0; i < ST_TRACE_EDGE_RANKS; i++) {
        const char *key = trace_edge_kind_name((st_trace_edge_kind)i);
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
    int64_t queue_ns = 0;
    for (size_t i = 0; i < rank->blocked_call_count; i++)
        queue_ns = st_add_ns(queue_ns, rank->blocked_calls[i].wait_ns);
    st_put_count(node, "queue_depth", rank->queue.depth);
    st_put_bool(node, "queue_seen", rank->queue.is_seen);
    st_put_count(node, "queue_waits", rank->blocked_call_count);
    st_put_ns(node, "queue_waits_ns", queue_ns);
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
    if (rank->queue.waiting > 0)
        st_say(node, "  the launch queue holds %u launches, %s; %zu calls wait for room, %s\n",
               rank->queue.depth,
               rank->queue.is_seen ? "as recorded" : "assumed: the recording never fills it",
               rank->blocked_call_count, st_ms_text(queue_ns, texts[0], TEXT));
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
        const char *key = trace_edge_kind_name((st_trace_edge_kind)i);
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
        put_graph_rank(&graph->ranks[i], st_put_map(ranks, NULL), lines);
    (void)put_edges(lines, NULL, ST_TRACE_EDGE_RANKS, graph->instances);
    st_result_csv(result, ".lines", ".file=file,.kind=dependency,exact,inferred,contradicted");
}
