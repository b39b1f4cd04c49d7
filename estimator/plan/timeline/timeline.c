/* SPDX-License-Identifier: Apache-2.0 */
/* Building and replaying a job's timeline, and what it is made of. */
#include "timeline/timeline.h"

#include "schedule/graph_internal.h"

#include <stdlib.h>
#include <string.h>

/* Of a timeline: some 5 GB, and a minute. */
enum { MOST_TASKS = 60000000 };

const char *st_term_name(st_term term)
{
    static const char *const names[ST_TERMS] = {"steady", "bubble",   "transfers", "data",
                                                "tied",   "slowdown", "optimizer"};
    return (unsigned)term < ST_TERMS ? names[term] : "";
}

const char *st_term_reason(st_term term)
{
    static const char *const reasons[ST_TERMS] = {
        "chunks of the slowest stage last as long as their layers, the sheet's stages as the "
        "fullest one",
        "the sheet knows a first, a middle and a last stage and counts what one of them waits for; "
        "in the replay several may hold each other up",
        "the sheet counts those that a micro-batch's way waits for; the replay those that a stage "
        "waits for",
        "early stages communicate while others still work; weights that are asked for late wait in "
        "the middle of a step, which the sheet leaves out",
        "only first and last stage wait for it",
        "stages slow down one after the other while the pipeline fills and drains, which the sheet "
        "counts once; a message may run alongside another pass than the sheet counts it for",
        "stages that end early run it while others work",
    };
    return (unsigned)term < ST_TERMS ? reasons[term] : "";
}

const char *st_timeline_schedule(const st_timeline_plan *plan)
{
    return plan->order_name != NULL ? plan->order_name
                                    : st_schedule_name(plan->schedule.shape.kind);
}

const char *st_hiding_name(st_hiding hiding)
{
    static const char *const names[ST_HIDINGS] = {"exposed communication", "hidden communication",
                                                  "overlap slowdown"};
    return (unsigned)hiding < ST_HIDINGS ? names[hiding] : "";
}

const char *st_hiding_reason(st_hiding hiding)
{
    static const char *const reasons[ST_HIDINGS] = {
        "the sheet hides what there is computation for and counts what holds up the step; the "
        "replay counts messages of the slowest stage that nothing runs alongside, and what that "
        "stage "
        "waits for as idle",
        "the sheet hides as much as there is computation to hide it, the replay what meets "
        "computation on the slowest stage",
        "the replay slows down the computation that a message meets on the slowest stage, the "
        "sheet as much as lasts like the message",
    };
    return (unsigned)hiding < ST_HIDINGS ? reasons[hiding] : "";
}

/* --- replays ------------------------------------------------------------------------------------
 */

typedef struct interference {
    const double *slowdown;  /* by st_slowed */
    const st_slowed *slowed; /* by category of the graph */
} interference;

/* Computation runs at 1/slowdown of its speed while its rank communicates. */
static double rate_beside(void *self, const st_graph *graph, st_task_id task,
                          const st_task_id *beside, size_t count)
{
    const interference *own = self;
    bool communicates = false;
    for (size_t i = 0; i < count; i++)
        communicates = communicates || st_graph_work(graph, beside[i]) == ST_WORK_COMMUNICATION;
    return communicates && st_graph_work(graph, task) == ST_WORK_COMPUTE
               ? 1 / own->slowdown[own->slowed[graph->category[task]]]
               : 1;
}

static st_slowed slowed_of(const char *category, bool splits)
{
    if (strcmp(category, "forward") == 0)
        return ST_SLOWED_FORWARD;
    if (strcmp(category, "backward") == 0)
        return splits ? ST_SLOWED_INPUTS : ST_SLOWED_BACKWARD;
    return strcmp(category, "weights") == 0 ? ST_SLOWED_WEIGHTS : ST_SLOWED_REST;
}

static bool is_slowed(const st_timeline_plan *plan)
{
    bool slowed = false;
    for (int i = 0; i < ST_SLOWED_KINDS; i++)
        slowed = slowed || plan->slowdown[i] > 1;
    return slowed;
}

static st_status run_slowed(st_timeline *timeline, st_errors *errors)
{
    size_t count = st_graph_category_count(timeline->graph);
    st_slowed *slowed = calloc(count + 1, sizeof(*slowed));
    if (slowed == NULL)
        return st_out_of_memory(errors);
    size_t backward = 0;
    size_t weights = 0;
    for (size_t i = 0; i < st_graph_task_count(timeline->graph); i++) {
        const char *category =
            st_graph_category_name(timeline->graph, timeline->graph->category[i]);
        backward += strcmp(category, "backward") == 0 ? 1 : 0;
        weights += strcmp(category, "weights") == 0 ? 1 : 0;
    }
    bool splits = weights > 0 && 2 * weights >= backward;
    for (size_t i = 0; i < count; i++)
        slowed[i] = slowed_of(st_graph_category_name(timeline->graph, (uint16_t)i), splits);
    interference own = {timeline->plan.slowdown, slowed};
    st_rate_rule rule = {.rate = rate_beside, .self = &own};
    st_status status = st_replay_run_rates(timeline->replay, &rule, errors);
    free(slowed);
    return status;
}

/* First and last moment and slowdown of every rank; ranks are listed pipeline by pipeline. */
static void measure_rows(st_timeline *timeline)
{
    const st_graph *graph = timeline->graph;
    /* The category of computation that is nothing but the slowdown by messages; the count: none. */
    size_t count = st_graph_category_count(graph);
    size_t slowdown = 0;
    while (slowdown < count &&
           strcmp(st_graph_category_name(graph, (uint16_t)slowdown), "slowdown") != 0)
        slowdown++;
    for (size_t i = 0; i < timeline->row_count; i++)
        timeline->rows[i] =
            (st_timeline_row){.rank = st_graph_rank(graph, i),
                              .stage = st_schedule_stage_of_rank(&timeline->plan.schedule, i),
                              .first = INT64_MAX,
                              .begins = INT64_MAX};
    for (size_t i = 0; i < st_graph_task_count(graph); i++) {
        st_timeline_row *row = &timeline->rows[graph->resources[graph->resource[i]].rank_index];
        st_task_time time = st_replay_task(timeline->replay, (st_task_id)i);
        row->first = time.start_ns < row->first ? time.start_ns : row->first;
        row->last = time.end_ns > row->last ? time.end_ns : row->last;
        int64_t alone = graph->category[i] == slowdown ? 0 : graph->duration_ns[i];
        if (st_graph_work(graph, (st_task_id)i) == ST_WORK_COMPUTE) {
            row->slowdown += time.end_ns - time.start_ns - alone;
            row->begins = time.start_ns < row->begins ? time.start_ns : row->begins;
        }
    }
    for (size_t i = 0; i < timeline->row_count; i++) {
        st_timeline_row *row = &timeline->rows[i];
        /* Weights that a stage gathers before its first pass. */
        int64_t time = timeline->plan.schedule.ends.gather_exposed;
        if (timeline->plan.schedule.pieces != NULL &&
            timeline->plan.schedule.pieces[row->stage].forward_count > 0) {
            const st_schedule_piece *piece = &timeline->plan.schedule.pieces[row->stage].forward[0];
            time += piece->gather_hidden + piece->gather_exposed;
        }
        row->begins -= time;
    }
}

/* --- terms --------------------------------------------------------------------------------------
 */

/* ZB-2p's stages begin the next step without waiting for each other. */
static bool is_staggered(const st_timeline_plan *plan)
{
    return plan->order != NULL ? plan->order_staggered
                               : st_schedule_is_staggered(plan->schedule.shape.kind);
}

/* The step time of a replay. */
static int64_t step_of(const st_timeline *timeline)
{
    int64_t longest = 0;
    if (!is_staggered(&timeline->plan))
        return timeline->end;
    for (size_t i = 0; i < timeline->row_count; i++) {
        int64_t span = timeline->rows[i].last - timeline->rows[i].begins;
        longest = span > longest ? span : longest;
    }
    return longest;
}

/* Builds and replays, and tells the rows, which live in `arena`, and how long the step is. */
static st_status run(st_timeline *timeline, const st_schedule_order *order, st_arena *arena,
                     st_errors *errors)
{
    timeline->graph = st_graph_create(&(st_graph_limits){.tasks = MOST_TASKS});
    if (timeline->graph == NULL)
        return st_out_of_memory(errors);
    st_status status = st_schedule_build(&timeline->plan.schedule, order, timeline->graph, errors);
    if (status == ST_OK)
        status = st_graph_seal(timeline->graph, errors);
    if (status != ST_OK)
        return status;
    timeline->replay = st_replay_create(timeline->graph);
    timeline->row_count = st_graph_rank_count(timeline->graph);
    timeline->rows = st_arena_alloc(arena, timeline->row_count, sizeof(*timeline->rows));
    if (timeline->replay == NULL || timeline->rows == NULL)
        return st_out_of_memory(errors);
    status = is_slowed(&timeline->plan) ? run_slowed(timeline, errors)
                                        : st_replay_run(timeline->replay, errors);
    if (status != ST_OK)
        return status;
    timeline->end = st_replay_end_ns(timeline->replay);
    measure_rows(timeline);
    timeline->step = step_of(timeline);
    return ST_OK;
}

st_status st_timeline_again(const st_timeline *timeline, st_replay *replay, st_timeline_row *rows,
                            int64_t *step, st_errors *errors)
{
    st_timeline own = *timeline;
    own.replay = replay;
    own.rows = rows;
    st_status status =
        is_slowed(&own.plan) ? run_slowed(&own, errors) : st_replay_run(replay, errors);
    if (status != ST_OK)
        return status;
    own.end = st_replay_end_ns(replay);
    if (is_staggered(&own.plan))
        measure_rows(&own);
    *step = step_of(&own);
    return ST_OK;
}

/* Replays with the ends of the step or the transfers left out, one more each time. */
static st_status replay_without(const st_timeline *whole, const st_schedule_order *order, int round,
                                int64_t *step, st_errors *errors)
{
    st_timeline part = {.plan = whole->plan};
    st_schedule_plan *plan = &part.plan.schedule;
    st_arena *arena = st_arena_create();
    plan->every_rank = false;
    plan->ends.optimizer = round >= 1 ? 0 : plan->ends.optimizer;
    plan->ends.slowdown = round >= 2 ? 0 : plan->ends.slowdown;
    for (int i = 0; i < ST_SLOWED_KINDS && round >= 2; i++)
        part.plan.slowdown[i] = 1;
    plan->ends.tied = round >= 3 ? 0 : plan->ends.tied;
    if (round >= 4) {
        plan->ends = (st_schedule_ends){0};
        plan->pieces = NULL;
    }
    plan->shape.transfer = round >= 5 ? 0 : plan->shape.transfer;
    st_status status = arena == NULL ? st_out_of_memory(errors) : run(&part, order, arena, errors);
    *step = part.step;
    st_timeline_free(&part);
    st_arena_destroy(arena);
    return status;
}

/*
 * Communication of the slowest stage. Where there is but one stage, its slowdown is known without
 * leaving the messages out: what they delay each other by belongs to the data term.
 */
static void find_hiding(st_timeline *timeline, uint32_t slowest)
{
    const st_timeline_row *row = timeline->rows;
    const st_timeline_plan *plan = &timeline->plan;
    while (row->stage != slowest)
        row++;
    timeline->hiding_s[ST_HIDING_EXPOSED] =
        (double)row->time.exposed_communication_ns / ST_TICKS_PER_S;
    timeline->hiding_s[ST_HIDING_HIDDEN] =
        (double)row->time.overlapped_ns / ST_TICKS_PER_S + plan->hidden_inside_s;
    timeline->hiding_s[ST_HIDING_SLOWDOWN] = (double)row->slowdown / ST_TICKS_PER_S;
    if (is_slowed(plan) && plan->schedule.shape.stages == 1) {
        int64_t inside = 0;
        for (uint32_t i = 0; i < plan->schedule.shape.chunks; i++)
            for (int pass = 0; pass < ST_PASSES; pass++)
                inside += plan->schedule.shape.times[i].part[pass][ST_PART_SLOWDOWN];
        int64_t laid_out = row->slowdown - inside * plan->schedule.shape.micros;
        timeline->term[ST_TERM_DATA] += timeline->term[ST_TERM_SLOWDOWN] - laid_out;
        timeline->term[ST_TERM_SLOWDOWN] = laid_out;
    }
}

/* --- rows and categories ------------------------------------------------------------------------
 */

static st_status break_down(st_timeline *timeline, st_arena *arena, st_errors *errors)
{
    st_rank_time *times = st_arena_alloc(arena, timeline->row_count, sizeof(*times));
    if (times == NULL)
        return st_out_of_memory(errors);
    st_status status = st_replay_ranks(timeline->replay, times, errors);
    for (size_t i = 0; i < timeline->row_count && status == ST_OK; i++)
        timeline->rows[i].time = times[i];
    return status;
}

static st_status add_categories(st_timeline *timeline, st_arena *arena, st_errors *errors)
{
    const st_graph *graph = timeline->graph;
    size_t count = st_graph_category_count(graph);
    int64_t *sums = st_arena_alloc(arena, count, sizeof(*sums));
    uint64_t *counts = st_arena_alloc(arena, count, sizeof(*counts));
    timeline->categories = st_arena_alloc(arena, count, sizeof(*timeline->categories));
    if (sums == NULL || counts == NULL || timeline->categories == NULL)
        return st_out_of_memory(errors);
    st_status status = st_replay_categories(timeline->replay, ST_RANKS_ALL, sums, counts, errors);
    if (status == ST_OK)
        status =
            st_replay_path(timeline->replay, arena, &timeline->path, &timeline->path_count, errors);
    for (size_t i = 0; i < count && status == ST_OK; i++)
        timeline->categories[i] =
            (st_timeline_category){.name = st_graph_category_name(graph, (uint16_t)i),
                                   .count = counts[i],
                                   .time = sums[i]};
    for (size_t i = 0; i < timeline->path_count && status == ST_OK; i++)
        timeline->categories[graph->category[timeline->path[i].task]].path +=
            timeline->path[i].time_ns;
    timeline->category_count = count;
    return status;
}

/* --- all of it ----------------------------------------------------------------------------------
 */

uint64_t st_own_ranks(const st_own_stage *stages, size_t count)
{
    uint64_t ranks = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t last = stages[i].ranks[(size_t)stages[i].tp * stages[i].cp * stages[i].dp - 1];
        ranks = last + 1 > ranks ? last + 1 : ranks;
    }
    return ranks;
}

st_status st_timeline_make(const st_timeline_plan *plan, bool every_rank, st_arena *arena,
                           st_timeline *timeline, st_errors *errors)
{
    st_schedule_order order = {0};
    st_status status = ST_OK;
    *timeline = (st_timeline){.plan = *plan};
    timeline->plan.schedule.every_rank = every_rank;
    if (plan->order != NULL)
        order = *plan->order;
    else
        status = st_schedule_order_make(&plan->schedule.shape, arena, &order, errors);
    timeline->order = order;
    if (status == ST_OK)
        status = run(timeline, &order, arena, errors);
    if (status == ST_OK)
        status = break_down(timeline, arena, errors);
    if (status == ST_OK)
        status = add_categories(timeline, arena, errors);
    if (status == ST_OK) {
        static const st_term terms[] = {ST_TERM_OPTIMIZER, ST_TERM_SLOWDOWN, ST_TERM_TIED,
                                        ST_TERM_DATA, ST_TERM_TRANSFERS};
        int64_t before = 0;
        st_status term_status = replay_without(timeline, &order, 0, &before, errors);
        for (int i = 0; i < 5 && term_status == ST_OK; i++) {
            int64_t step = 0;
            term_status = replay_without(timeline, &order, i + 1, &step, errors);
            timeline->term[terms[i]] = before - step;
            before = step;
        }
        uint32_t slowest = 0;
        /* Work of the stage that has most of it, without transfers and the ends of the step. */
        const st_schedule_shape *shape = &timeline->plan.schedule.shape;
        int64_t stage_slowest = 0;
        slowest = 0;
        for (uint32_t stage = 0; stage < shape->stages; stage++) {
            int64_t sum = 0;
            uint32_t places = st_schedule_places(shape);
            for (uint32_t place = 0; place < places; place++) {
                /* The first and the last micro-batch of DualPipe go in opposite directions. */
                bool near = st_schedule_stage(shape, place, 0) == stage;
                bool far = shape->kind == ST_SCHEDULE_DUALPIPE &&
                           st_schedule_stage(shape, place, shape->micros - 1) == stage;
                for (int i = 0; i < ST_PASSES * ST_PART_ALONE && (near || far); i++) {
                    sum += (near + far) *
                           shape->times[place].part[i / ST_PART_ALONE][i % ST_PART_ALONE];
                }
            }
            sum = shape->kind == ST_SCHEDULE_DUALPIPE ? sum / 2 : sum;
            slowest = sum > stage_slowest ? stage : slowest;
            stage_slowest = sum > stage_slowest ? sum : stage_slowest;
        }
        timeline->term[ST_TERM_STEADY] = stage_slowest * shape->micros;
        timeline->term[ST_TERM_BUBBLE] = before - timeline->term[ST_TERM_STEADY];
        if (term_status == ST_OK)
            find_hiding(timeline, slowest);
        status = term_status;
    }
    /* Measured in the replay, and no formula: what it lasts beyond the work of the slowest stage.
     */
    double pipeline =
        (double)timeline->term[ST_TERM_STEADY] + (double)timeline->term[ST_TERM_BUBBLE];
    timeline->bubble = pipeline > 0 ? (double)timeline->term[ST_TERM_BUBBLE] / pipeline : 0;
    if (status != ST_OK)
        st_timeline_free(timeline);
    return status;
}

void st_timeline_free(st_timeline *timeline)
{
    st_replay_destroy(timeline->replay);
    st_graph_destroy(timeline->graph);
    timeline->replay = NULL;
    timeline->graph = NULL;
}

st_timeline_outline st_timeline_outline_of(const st_timeline *timeline)
{
    const st_timeline_plan *plan = &timeline->plan;
    return (st_timeline_outline){.job = plan->job,
                                 .sheet = plan->sheet,
                                 .schedule = st_timeline_schedule(plan),
                                 .cp = plan->schedule.groups.cp,
                                 .micros = plan->schedule.shape.micros,
                                 .chunks = plan->schedule.shape.chunks,
                                 .graph = timeline->graph,
                                 .replay = timeline->replay};
}

uint32_t st_timeline_stage(const st_timeline *timeline, size_t rank_index)
{
    return timeline->rows[rank_index].stage;
}
