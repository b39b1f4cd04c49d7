/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a timeline to the work of each stage: tasks become nodes, edges between stages become a
 * transfer that one sends and the other receives, and the bytes of a step are shared among the
 * tasks of their kind by how long these take.
 */
#include "workload/workload.h"

#include "base/memory.h"
#include "steptime/tool/estimates.h"
#include "steptime/tool/graph_arrays.h"
#include "steptime/tool/roles.h"

#include <math.h>
#include <string.h>

/* Parts of role 'handed'. */
typedef enum part {
    PART_TP,
    PART_CP,
    PART_EP,
    PART_PP,
    PART_TIED,
    PART_REDUCE,
    PART_GATHER,
    PART_EXPERT_REDUCE,
    PART_EXPERT_GATHER,
    PART_ALL_REDUCE,
    PARTS
} part;

enum { PARTS_OF_TASK = 3 };

static const struct {
    st_group group;
    st_chakra_collective collective;
} kinds[PARTS] = {
    [PART_TP] = {ST_GROUP_TP, ST_CHAKRA_ALL_REDUCE},
    [PART_CP] = {ST_GROUP_CP, ST_CHAKRA_ALL_GATHER},
    [PART_EP] = {ST_GROUP_EP, ST_CHAKRA_ALL_TO_ALL},
    [PART_PP] = {ST_GROUP_PP, ST_CHAKRA_BARRIER},
    [PART_TIED] = {ST_GROUP_EMBEDDING, ST_CHAKRA_ALL_REDUCE},
    [PART_REDUCE] = {ST_GROUP_DP, ST_CHAKRA_ALL_REDUCE},
    [PART_GATHER] = {ST_GROUP_DP, ST_CHAKRA_ALL_GATHER},
    [PART_EXPERT_REDUCE] = {ST_GROUP_EXPERT_DP, ST_CHAKRA_ALL_REDUCE},
    [PART_EXPERT_GATHER] = {ST_GROUP_EXPERT_DP, ST_CHAKRA_ALL_GATHER},
    [PART_ALL_REDUCE] = {ST_GROUP_DP, ST_CHAKRA_ALL_REDUCE},
};

/* A task on whose end a task of another stage waits: once for each such stage. */
typedef struct crossing {
    st_task_id task;
    uint32_t stage; /* that receives */
    uint32_t next;  /* crossing of the same task */
    uint32_t tag;
    uint32_t received; /* node of the receiving stage */
} crossing;

typedef struct maker {
    const st_timeline *timeline;
    const st_replay *replay;
    const st_graph *graph;
    st_graph_arrays tasks; /* of the graph */
    st_workload *workload;
    st_arena *arena;
    st_errors *errors;
    double *handed;   /* by stage and part: bytes */
    double *time;     /* by stage and part: of all tasks that carry the part */
    double *passed_s; /* the same, of those that are nodes already */
    uint32_t *node;   /* by task: the node that ends it */
    uint32_t *first;  /* by task: its first crossing */
    crossing *crossings;
    size_t crossing_count;
    uint32_t *tags; /* by sending and receiving stage */
} maker;

static uint32_t stage_of(const maker *make, st_task_id task)
{
    return st_timeline_stage(make->timeline,
                             st_graph_rank_index(make->graph, make->tasks.resource[task]));
}

static const char *category_of(const maker *make, st_task_id task)
{
    return st_graph_category_name(make->graph, make->tasks.category[task]);
}

/* The parts whose bytes a task carries; returns how many. */
static size_t parts_of(const maker *make, st_task_id task, part parts[PARTS_OF_TASK])
{
    static const char *const names[] = {"tp", "cp", "ep", "pp", "tied"};
    const char *category = category_of(make, task);
    for (size_t i = 0; i < ST_COUNT(names); i++) {
        if (strcmp(category, names[i]) == 0) {
            parts[0] = (part)i;
            return 1;
        }
    }
    if (strcmp(category, "dp") != 0)
        return 0;
    bool gathers = strncmp(st_graph_task(make->graph, task).name, "gather", 6) == 0;
    parts[0] = gathers ? PART_GATHER : PART_REDUCE;
    parts[1] = gathers ? PART_EXPERT_GATHER : PART_EXPERT_REDUCE;
    parts[2] = PART_ALL_REDUCE;
    return gathers ? 2 : 3;
}

/* ---- bytes ---- */

static st_status ask_bytes(maker *make, st_estimate *estimate)
{
    const char *cells[PARTS];
    part asked[PARTS];
    size_t count = 0;
    size_t stages = make->workload->stage_count;
    const st_sheet *sheet = st_estimate_parts_of(estimate).sheet;
    for (int i = 0; i < PARTS; i++) {
        const char *cell = st_sheet_role_part(sheet, ST_ROLE_HANDED, (size_t)i);
        asked[count] = (part)i;
        cells[count] = cell;
        count += cell != NULL ? 1 : 0;
    }
    if (count == 0)
        return st_fail(make->errors, ST_ERR_USAGE, (st_place){0},
                       "sheet '%s' does not say how many bytes its collectives carry" ST_EXPECTED
                       "a role 'handed' with cells, such as 'handed: {tp: CELL, reduce: CELL}'",
                       st_sheet_name(sheet));
    double *values = st_arena_alloc(make->arena, stages * count, sizeof *values);
    const st_stage_question question = {cells, count, stages, 0};
    st_status status = st_estimate_by_stage(estimate, &question, make->arena, values, make->errors);
    for (size_t i = 0; i < stages * count && status == ST_OK; i++)
        make->handed[i / count * PARTS + asked[i % count]] = values[i];
    return status;
}

static double running(const maker *make, st_task_id task)
{
    st_task_time time = st_replay_task(make->replay, task);
    return (double)(time.end_ns - time.start_ns);
}

/* The share of a task in the bytes of its part; all shares add up to what is handed over. */
static uint64_t take_bytes(maker *make, st_task_id task, part kind)
{
    size_t at = stage_of(make, task) * PARTS + kind;
    if (make->time[at] <= 0)
        return 0;
    double before = make->passed_s[at] / make->time[at];
    make->passed_s[at] += running(make, task);
    double until = make->passed_s[at] / make->time[at];
    return (uint64_t)(llround(make->handed[at] * until) - llround(make->handed[at] * before));
}

/* ---- nodes ---- */

static st_work_stage *stage_at(const maker *make, uint32_t stage)
{
    return &make->workload->stages[stage];
}

/* Makes a node wait for another of its stage; twice is as good as once. */
static void wait_for(maker *make, uint32_t stage, uint32_t before)
{
    st_work_stage *work = stage_at(make, stage);
    st_work_node *node = &work->nodes[work->count - 1];
    if (before == ST_NODE_NONE)
        return;
    for (uint32_t i = 0; i < node->dep_count; i++)
        if (work->deps[node->dep_first + i] == before)
            return;
    if (ST_APPEND(make->arena, work->deps, work->dep_count, before))
        node->dep_count++;
}

/* Appends a node to a stage, that waits for `before`; returns its number. */
static uint32_t append(maker *make, uint32_t stage, const st_work_node *node, uint32_t before)
{
    st_work_stage *work = stage_at(make, stage);
    st_work_node made = *node;
    made.dep_first = (uint32_t)work->dep_count;
    if (!ST_APPEND(make->arena, work->nodes, work->count, made))
        return ST_NODE_NONE;
    wait_for(make, stage, before);
    return (uint32_t)work->count - 1;
}

static crossing *find_crossing(const maker *make, st_task_id task, uint32_t stage)
{
    uint32_t at = make->first[task];
    while (at != ST_NODE_NONE && make->crossings[at].stage != stage)
        at = make->crossings[at].next;
    return at == ST_NODE_NONE ? NULL : &make->crossings[at];
}

static st_work_node node_of(const maker *make, st_task_id task)
{
    st_task_view view = st_graph_task(make->graph, task);
    st_task_time time = st_replay_task(make->replay, task);
    return (st_work_node){.name = view.name[0] == '\0' ? view.category_name : view.name,
                          .type = ST_CHAKRA_COMP,
                          .host = view.work == ST_WORK_NONE,
                          .is_pass = st_is_pass(view.category_name),
                          .start = time.start_ns,
                          .duration = time.end_ns - time.start_ns};
}

/* Both directions over a boundary carry as many, known from the stage before it. */
static uint64_t transfer_bytes(const maker *make, uint32_t from, uint32_t to)
{
    return (uint64_t)llround(make->handed[(from < to ? from : to) * PARTS + PART_PP]);
}

/* The node at which a stage receives what a task of another one hands on. */
static uint32_t receive(maker *make, st_task_id before, uint32_t stage)
{
    crossing *from = find_crossing(make, before, stage);
    if (from == NULL)
        return ST_NODE_NONE;
    if (from->received == ST_NODE_NONE) {
        st_work_node node = node_of(make, before);
        node.type = ST_CHAKRA_RECV;
        node.bytes = transfer_bytes(make, stage_of(make, before), stage);
        node.peer = stage_of(make, before);
        node.tag = from->tag;
        from->received = append(make, stage, &node, ST_NODE_NONE);
    }
    return from->received;
}

/* Nodes of a stage that a task waits for, as if they were one. */
static void wait_for_all(maker *make, st_task_id task, const uint32_t *received)
{
    const st_graph_arrays *tasks = &make->tasks;
    uint32_t stage = stage_of(make, task);
    if (tasks->previous[task] != ST_TASK_NONE)
        wait_for(make, stage, make->node[tasks->previous[task]]);
    for (uint32_t i = tasks->before_first[task]; i < tasks->before_first[task + 1]; i++) {
        st_task_id before = tasks->before[i];
        bool own = stage_of(make, before) == stage;
        wait_for(make, stage, own ? make->node[before] : received[i - tasks->before_first[task]]);
    }
}

static void add_messages(maker *make, st_task_id task, const uint32_t *received)
{
    part parts[PARTS_OF_TASK];
    uint64_t bytes[PARTS_OF_TASK];
    uint64_t all = 0;
    st_work_node node = node_of(make, task);
    const st_work_node whole = node;
    size_t count = parts_of(make, task, parts);
    for (size_t i = 0; i < count; i++) {
        bytes[i] = take_bytes(make, task, parts[i]);
        all += bytes[i];
    }
    for (size_t i = 0; i < count; i++) {
        bool first = make->node[task] == ST_NODE_NONE;
        node.bytes = bytes[i];
        if (bytes[i] == 0)
            continue;
        node.duration = (int64_t)((double)whole.duration * ((double)bytes[i] / (double)all));
        /* A part of a message as a node; the first waits for what the task does, the second for
         * the first. */
        const part kind = parts[i];
        uint32_t stage = stage_of(make, task);
        st_work_node made = node;
        bool reduces = kind == PART_REDUCE || kind == PART_EXPERT_REDUCE;
        /* Gradients whose sums every rank needs are all-reduced; else weights are gathered later.
         */
        bool split = reduces && make->handed[stage * PARTS + kind + 1] > 0;
        made.type = ST_CHAKRA_COLL;
        made.group = kinds[kind].group;
        made.collective = split ? ST_CHAKRA_REDUCE_SCATTER : kinds[kind].collective;
        make->node[task] = append(make, stage, &made, make->node[task]);
        node.start += node.duration;
        if (first)
            wait_for_all(make, task, received);
    }
    if (make->node[task] != ST_NODE_NONE)
        return;
    node.duration = 0; /* keeps the order of those around it */
    node.host = true;
    make->node[task] = append(make, stage_of(make, task), &node, ST_NODE_NONE);
    wait_for_all(make, task, received);
}

/* Hands on what a task has made to the stages that wait for it. */
static void send_on(maker *make, st_task_id task, const uint32_t *received)
{
    uint32_t stage = stage_of(make, task);
    for (uint32_t i = make->first[task]; i != ST_NODE_NONE; i = make->crossings[i].next) {
        st_work_node node = node_of(make, task);
        node.type = ST_CHAKRA_SEND;
        node.bytes = transfer_bytes(make, stage, make->crossings[i].stage);
        node.peer = make->crossings[i].stage;
        node.tag = make->crossings[i].tag;
        uint32_t sent = append(make, stage, &node, make->node[task]);
        if (make->node[task] == ST_NODE_NONE)
            wait_for_all(make, task, received);
        if (make->crossings[i].next == ST_NODE_NONE && received != NULL)
            make->node[task] = sent;
    }
}

static void add_tasks(maker *make)
{
    const st_graph_arrays *tasks = &make->tasks;
    uint32_t most = 1;
    for (size_t i = 0; i < tasks->task_count; i++) {
        uint32_t count = tasks->before_first[i + 1] - tasks->before_first[i];
        most = count > most ? count : most;
    }
    uint32_t *received = st_arena_alloc(make->arena, most, sizeof *received);
    for (size_t i = 0; i < tasks->task_count; i++) {
        const st_task_id task = tasks->order[i];
        uint32_t stage = stage_of(make, task);
        bool transfers = strcmp(category_of(make, task), "pp") == 0;
        for (uint32_t j = tasks->before_first[task]; j < tasks->before_first[task + 1]; j++)
            received[j - tasks->before_first[task]] = stage_of(make, tasks->before[j]) == stage
                                                          ? ST_NODE_NONE
                                                          : receive(make, tasks->before[j], stage);
        if (transfers && make->first[task] != ST_NODE_NONE) {
            send_on(make, task, received);
            continue;
        }
        if (!transfers && st_graph_work(make->graph, task) == ST_WORK_COMMUNICATION) {
            add_messages(make, task, received);
        } else {
            st_work_node node = node_of(make, task);
            if (st_graph_work(make->graph, task) == ST_WORK_COMMUNICATION) {
                node.host = true; /* at the end of the model, where a stage only receives */
                node.duration = 0;
            }
            make->node[task] = append(make, stage_of(make, task), &node, ST_NODE_NONE);
            wait_for_all(make, task, received);
        }
        send_on(make, task, NULL);
    }
}

/* ---- the whole ---- */

static st_status prepare(maker *make, st_estimate *estimate)
{
    st_workload *workload = make->workload;
    size_t stages = st_graph_rank_count(make->graph);
    size_t tasks = make->tasks.task_count;
    workload->stage_count = stages;
    workload->stages = st_arena_alloc(make->arena, stages, sizeof *workload->stages);
    make->handed = st_arena_alloc(make->arena, stages * PARTS + 1, sizeof *make->handed);
    make->time = st_arena_alloc(make->arena, stages * PARTS, sizeof *make->time);
    make->passed_s = st_arena_alloc(make->arena, stages * PARTS, sizeof *make->passed_s);
    make->node = st_arena_alloc(make->arena, tasks + 1, sizeof *make->node);
    make->first = st_arena_alloc(make->arena, tasks + 1, sizeof *make->first);
    make->tags = st_arena_alloc(make->arena, stages * stages, sizeof *make->tags);
    memset(make->node, 0xff, tasks * sizeof *make->node);
    memset(make->first, 0xff, tasks * sizeof *make->first);
    return st_estimate_placement(estimate, make->arena, &workload->placement, make->errors);
}

st_status st_workload_make(st_estimate *estimate, const st_timeline *timeline, st_arena *arena,
                           st_workload *workload, st_errors *errors)
{
    const st_timeline_outline outline = st_timeline_outline_of(timeline);
    maker make = {.timeline = timeline,
                  .replay = outline.replay,
                  .graph = outline.graph,
                  .tasks = st_graph_arrays_of(outline.graph),
                  .workload = workload,
                  .arena = arena,
                  .errors = errors};
    *workload = (st_workload){.job = outline.job,
                              .sheet = outline.sheet,
                              .schedule = outline.schedule,
                              .cp = outline.cp,
                              .micros = outline.micros,
                              .chunks = outline.chunks};
    st_status status = prepare(&make, estimate);
    if (status == ST_OK)
        status = ask_bytes(&make, estimate);
    if (status != ST_OK)
        return status;
    for (st_task_id i = 0; i < make.tasks.task_count; i++) {
        part parts[PARTS_OF_TASK];
        size_t count = parts_of(&make, i, parts);
        for (size_t j = 0; j < count; j++)
            make.time[stage_of(&make, i) * PARTS + parts[j]] += running(&make, i);
    }
    for (size_t i = 0; i < workload->stage_count * PARTS; i++) {
        st_group group = kinds[i % PARTS].group;
        uint64_t bytes = (uint64_t)llround(make.handed[i]);
        if (group != ST_GROUP_PP && make.time[i] <= 0 && bytes > workload->unplaced[group])
            workload->unplaced[group] = bytes;
    }
    for (int i = 0; i < ST_GROUPS; i++)
        if (workload->unplaced[i] > 0)
            st_report(make.errors, ST_SEVERITY_WARNING, ST_ERR_VALUE, (st_place){0},
                      "%.4g MB of '%s' that a rank hands over are left out: the timeline has no "
                      "task for them",
                      (double)workload->unplaced[i] / 1e6, st_group_name((st_group)i));
    const st_graph_arrays *tasks = &make.tasks;
    for (size_t i = 0; i < tasks->task_count; i++) {
        st_task_id task = tasks->order[i];
        for (uint32_t j = tasks->before_first[task]; j < tasks->before_first[task + 1]; j++) {
            const st_task_id before = tasks->before[j];
            const uint32_t stage = stage_of(&make, task);
            uint32_t from = stage_of(&make, before);
            if (from == stage || find_crossing(&make, before, stage) != NULL)
                continue;
            crossing made = {.task = before,
                             .stage = stage,
                             .next = make.first[before],
                             .received = ST_NODE_NONE,
                             .tag = make.tags[from * make.workload->stage_count + stage]++};
            (void)ST_APPEND(make.arena, make.crossings, make.crossing_count, made);
            make.first[before] = (uint32_t)make.crossing_count - 1;
        }
    }
    add_tasks(&make);
    return ST_OK;
}
