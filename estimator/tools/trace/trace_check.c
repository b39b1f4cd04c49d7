/* SPDX-License-Identifier: Apache-2.0 */
/* See trace_check.h. */
#include "trace/trace_check.h"

#include "trace/replayed.h"
#include "trace/xalloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
        status = ST_OK;
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
    st_status path_status = st_replay_path(c->replay, c->arena, &steps, &count, c->errors);
    for (size_t i = 0; i < count && path_status == ST_OK; i++) {
        int64_t end_ns = st_replay_task(c->replay, steps[i].task).end_ns;
        if (end_ns > reached_ns)
            *parts[part_of(c, steps[i].task)] += end_ns - reached_ns;
        reached_ns = end_ns > reached_ns ? end_ns : reached_ns;
    }
    return path_status;
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

st_status st_trace_check_graph(st_trace_graph *graph, st_replay *replay, st_arena *arena,
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
