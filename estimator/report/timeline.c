/* SPDX-License-Identifier: Apache-2.0 */
/* Building and replaying a job's timeline, and what it is made of. */
#include "report/timeline.h"

#include "timeline/graph_internal.h"

/* Of a timeline: some 5 GB, and a minute. */
enum { MOST_TASKS = 60000000 };

const char *st_term_name(st_term term)
{
    static const char *const names[ST_TERMS] = {"steady", "ramp",     "transfers", "data",
                                                "tied",   "slowdown", "optimizer"};
    return (unsigned)term < ST_TERMS ? names[term] : "";
}

const char *st_term_reason(st_term term)
{
    static const char *const reasons[ST_TERMS] = {
        "chunks of the slowest stage last as long as their layers, the sheet's stages as the "
        "fullest one",
        "stages and chunks differ in length, or weights' gradients fill the ramp; the sheet passes "
        "every stage but the slowest once, and shares out what chunks and weights' gradients save",
        "the sheet counts 2(mv + p - 1) transfers; the replay those that a stage waits for",
        "early stages communicate while others still work, and hidden messages run beside one pass "
        "as long as it lasts",
        "only first and last stage wait for it",
        "the price of hiding stands at the end of every stage",
        "stages that end early run it while others work",
    };
    return (unsigned)term < ST_TERMS ? reasons[term] : "";
}

const char *st_timeline_schedule(const st_timeline_plan *plan)
{
    return plan->order != NULL ? plan->order_name : st_schedule_name(plan->schedule.shape.kind);
}

/* --- replays ------------------------------------------------------------------------------------
 */

static st_status run(st_timeline *timeline, const st_schedule_order *order, st_errors *errors)
{
    timeline->graph = st_graph_create(&(st_graph_limits){.tasks = MOST_TASKS});
    if (timeline->graph == NULL) {
        return st_graph_no_memory(errors);
    }
    st_status status = st_schedule_build(&timeline->plan.schedule, order, timeline->graph, errors);
    if (status == ST_OK) {
        status = st_graph_seal(timeline->graph, errors);
    }
    if (status != ST_OK) {
        return status;
    }
    timeline->replay = st_replay_create(timeline->graph);
    if (timeline->replay == NULL) {
        return st_graph_no_memory(errors);
    }
    return st_replay_run(timeline->replay, errors);
}

/* First and last moment of every rank; ranks are listed pipeline by pipeline. */
static void measure_rows(st_timeline *timeline)
{
    const st_graph *graph = timeline->graph;
    for (size_t i = 0; i < timeline->row_count; i++) {
        timeline->rows[i] =
            (st_timeline_row){.rank = st_graph_rank(graph, i),
                              .stage = (uint32_t)(i % timeline->plan.schedule.shape.stages),
                              .first = INT64_MAX};
    }
    for (size_t i = 0; i < st_graph_task_count(graph); i++) {
        st_timeline_row *row = &timeline->rows[graph->resources[graph->resource[i]].rank_index];
        st_task_time time = st_replay_task(timeline->replay, (st_task_id)i);
        row->first = time.start_ns < row->first ? time.start_ns : row->first;
        row->last = time.end_ns > row->last ? time.end_ns : row->last;
    }
}

/* --- terms --------------------------------------------------------------------------------------
 */

/* The step time of a replay: ZB-2p's stages begin the next step without waiting for each other. */
static int64_t step_of(const st_timeline *timeline)
{
    int64_t longest = 0;
    if (timeline->plan.schedule.shape.kind != ST_SCHEDULE_ZERO_BUBBLE_2) {
        return timeline->end;
    }
    for (size_t i = 0; i < timeline->row_count; i++) {
        int64_t span = timeline->rows[i].last - timeline->rows[i].first;
        longest = span > longest ? span : longest;
    }
    return longest;
}

/* Work of the stage that has most of it, without transfers and the ends of the step. */
static int64_t slowest_stage(const st_schedule_plan *plan)
{
    const st_schedule_shape *shape = &plan->shape;
    int64_t slowest = 0;
    for (uint32_t stage = 0; stage < shape->stages; stage++) {
        int64_t sum = 0;
        uint32_t places = st_schedule_places(shape);
        for (uint32_t place = 0; place < places; place++) {
            bool near = place % shape->stages == stage;
            bool far = shape->kind == ST_SCHEDULE_DUALPIPE && place == shape->stages - 1 - stage;
            for (int i = 0; i < ST_PASSES * ST_PARTS && (near || far); i++) {
                sum += (near + far) * shape->times[place].part[i / ST_PARTS][i % ST_PARTS];
            }
        }
        sum = shape->kind == ST_SCHEDULE_DUALPIPE ? sum / 2 : sum;
        slowest = sum > slowest ? sum : slowest;
    }
    return slowest * shape->micros;
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
    plan->ends.tied = round >= 3 ? 0 : plan->ends.tied;
    if (round >= 4) {
        plan->ends = (st_schedule_ends){0};
    }
    plan->shape.transfer = round >= 5 ? 0 : plan->shape.transfer;
    st_status status = arena == NULL ? st_graph_no_memory(errors) : run(&part, order, errors);
    if (status == ST_OK) {
        part.row_count = st_graph_rank_count(part.graph);
        part.rows = st_arena_alloc(arena, part.row_count, sizeof(*part.rows));
        status = part.rows == NULL ? st_graph_no_memory(errors) : ST_OK;
    }
    if (status == ST_OK) {
        part.end = st_replay_end_ns(part.replay);
        measure_rows(&part);
        *step = step_of(&part);
    }
    st_timeline_free(&part);
    st_arena_destroy(arena);
    return status;
}

static st_status find_terms(st_timeline *timeline, const st_schedule_order *order,
                            st_errors *errors)
{
    static const st_term terms[] = {ST_TERM_OPTIMIZER, ST_TERM_SLOWDOWN, ST_TERM_TIED, ST_TERM_DATA,
                                    ST_TERM_TRANSFERS};
    int64_t before = 0;
    st_status status = replay_without(timeline, order, 0, &before, errors);
    for (int i = 0; i < 5 && status == ST_OK; i++) {
        int64_t step = 0;
        status = replay_without(timeline, order, i + 1, &step, errors);
        timeline->term[terms[i]] = before - step;
        before = step;
    }
    timeline->term[ST_TERM_STEADY] = slowest_stage(&timeline->plan.schedule);
    timeline->term[ST_TERM_RAMP] = before - timeline->term[ST_TERM_STEADY];
    return status;
}

/* --- rows and categories ------------------------------------------------------------------------
 */

static st_status break_down(st_timeline *timeline, st_arena *arena, st_errors *errors)
{
    const st_graph *graph = timeline->graph;
    timeline->row_count = st_graph_rank_count(graph);
    timeline->rows = st_arena_alloc(arena, timeline->row_count, sizeof(*timeline->rows));
    st_rank_time *times = st_arena_alloc(arena, timeline->row_count, sizeof(*times));
    if (timeline->rows == NULL || times == NULL) {
        return st_graph_no_memory(errors);
    }
    measure_rows(timeline);
    st_status status = st_replay_ranks(timeline->replay, times, errors);
    for (size_t i = 0; i < timeline->row_count && status == ST_OK; i++) {
        timeline->rows[i].time = times[i];
    }
    return status;
}

static st_status add_categories(st_timeline *timeline, st_arena *arena, st_errors *errors)
{
    const st_graph *graph = timeline->graph;
    size_t count = st_graph_category_count(graph);
    int64_t *sums = st_arena_alloc(arena, count, sizeof(*sums));
    uint64_t *counts = st_arena_alloc(arena, count, sizeof(*counts));
    timeline->categories = st_arena_alloc(arena, count, sizeof(*timeline->categories));
    if (sums == NULL || counts == NULL || timeline->categories == NULL) {
        return st_graph_no_memory(errors);
    }
    st_status status = st_replay_categories(timeline->replay, ST_RANKS_ALL, sums, counts, errors);
    if (status == ST_OK) {
        status =
            st_replay_path(timeline->replay, arena, &timeline->path, &timeline->path_count, errors);
    }
    for (size_t i = 0; i < count && status == ST_OK; i++) {
        timeline->categories[i] =
            (st_timeline_category){.name = st_graph_category_name(graph, (uint16_t)i),
                                   .count = counts[i],
                                   .time = sums[i]};
    }
    for (size_t i = 0; i < timeline->path_count && status == ST_OK; i++) {
        timeline->categories[graph->category[timeline->path[i].task]].path +=
            timeline->path[i].time_ns;
    }
    timeline->category_count = count;
    return status;
}

/* --- all of it ----------------------------------------------------------------------------------
 */

st_status st_timeline_make(const st_timeline_plan *plan, bool every_rank, st_arena *arena,
                           st_timeline *timeline, st_errors *errors)
{
    st_schedule_order order = {0};
    st_status status = ST_OK;
    *timeline = (st_timeline){.plan = *plan};
    timeline->plan.schedule.every_rank = every_rank;
    if (plan->order != NULL) {
        order = *plan->order;
    } else {
        status = st_schedule_order_make(&plan->schedule.shape, arena, &order, errors);
    }
    if (status == ST_OK) {
        status = run(timeline, &order, errors);
    }
    if (status == ST_OK) {
        timeline->end = st_replay_end_ns(timeline->replay);
        status = break_down(timeline, arena, errors);
    }
    if (status == ST_OK) {
        timeline->step = step_of(timeline);
        status = add_categories(timeline, arena, errors);
    }
    if (status == ST_OK) {
        status = find_terms(timeline, &order, errors);
    }
    double pipeline = (double)timeline->term[ST_TERM_STEADY] + (double)timeline->term[ST_TERM_RAMP];
    timeline->bubble = pipeline > 0 ? (double)timeline->term[ST_TERM_RAMP] / pipeline : 0;
    if (status != ST_OK) {
        st_timeline_free(timeline);
    }
    return status;
}

void st_timeline_free(st_timeline *timeline)
{
    st_replay_destroy(timeline->replay);
    st_graph_destroy(timeline->graph);
    timeline->replay = NULL;
    timeline->graph = NULL;
}
