/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of schedules share: a plan, its replayed step, the longest span of a rank. */
#ifndef STEPTIME_TESTS_SCHEDULE_SUPPORT_H
#define STEPTIME_TESTS_SCHEDULE_SUPPORT_H

#include "schedule/schedule.h"

/* Every chunk of the model alike. */
static inline void fill_times(st_chunk_times *times, size_t count, int64_t forward,
                              int64_t backward, int64_t weights)
{
    for (size_t i = 0; i < count; i++) {
        times[i] = (st_chunk_times){0};
        times[i].part[ST_PASS_FORWARD][ST_PART_WORK] = forward;
        times[i].part[ST_PASS_BACKWARD][ST_PART_WORK] = backward;
        times[i].part[ST_PASS_WEIGHTS][ST_PART_WORK] = weights;
    }
}

/* The longest time from the first to the last task of a rank. */
static inline int64_t longest_span(const st_graph *graph, const st_replay *replay)
{
    int64_t longest = 0;
    for (size_t i = 0; i < st_graph_rank_count(graph); i++) {
        uint32_t rank = st_graph_rank(graph, i);
        int64_t first = INT64_MAX;
        int64_t last = 0;
        for (size_t j = 0; j < st_graph_task_count(graph); j++) {
            if (st_graph_task(graph, (st_task_id)j).rank == rank) {
                st_task_time time = st_replay_task(replay, (st_task_id)j);
                first = time.ready_ns < first ? time.ready_ns : first;
                last = time.end_ns > last ? time.end_ns : last;
            }
        }
        longest = last - first > longest ? last - first : longest;
    }
    return longest;
}

typedef struct planned {
    st_status status;
    int64_t step;
    int64_t span;
    size_t tasks;
    size_t ranks;
} planned;

/* Builds and replays a plan with its own order. */
static inline planned replay_plan(const st_schedule_plan *plan, st_errors *errors)
{
    planned result = {.status = ST_ERR_MEMORY};
    st_arena *arena = st_arena_create();
    st_graph *graph = st_graph_create(NULL);
    st_replay *replay = NULL;
    st_schedule_order order;
    result.status = st_schedule_order_make(&plan->shape, arena, &order, errors);
    if (result.status == ST_OK) {
        result.status = st_schedule_build(plan, &order, graph, errors);
    }
    if (result.status == ST_OK) {
        result.status = st_graph_seal(graph, errors);
    }
    if (result.status == ST_OK) {
        replay = st_replay_create(graph);
        result.status = st_replay_run(replay, errors);
    }
    if (result.status == ST_OK) {
        result.step = st_replay_end_ns(replay);
        result.span = longest_span(graph, replay);
        result.tasks = st_graph_task_count(graph);
        result.ranks = st_graph_rank_count(graph);
    }
    st_replay_destroy(replay);
    st_graph_destroy(graph);
    st_arena_destroy(arena);
    return result;
}

#endif
