/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What task graphs, schedules and replays do when memory runs out: every allocation fails once,
 * then all from one on. Each run either ends as one in which nothing fails, or with ST_ERR_MEMORY.
 */
#include "../support/faults.h"
#include "schedule/schedule.h"
#include "base_support.h"
#include "schedule_support.h"

typedef st_status scenario(st_arena *arena, st_graph *graph, st_errors *errors, int64_t *end);

/* Runs a scenario with the first allocation failing, then the second, until none is left to fail.
 */
static void fail_each(scenario *run, st_status whole, int64_t whole_end)
{
    int failures = 0;
    for (int lasting = 0; lasting < 2; lasting++) {
        bool failed = true;
        for (int at = 0; failed; at++) {
            int64_t end = 0;
            st_arena *arena = st_arena_create();
            st_errors *errors = st_errors_create();
            set_fault(at, lasting != 0);
            arm();
            st_graph *graph = st_graph_create(NULL);
            st_status status = graph == NULL ? ST_ERR_MEMORY : run(arena, graph, errors, &end);
            disarm();
            failed = fault.failed > 0;
            failures += failed;
            assert_true(status == whole || status == ST_ERR_MEMORY);
            if (status == ST_OK) {
                assert_int_equal(end, whole_end);
            }
            st_graph_destroy(graph);
            st_errors_destroy(errors);
            st_arena_destroy(arena);
            assert_true(at < MOST_ALLOCATIONS);
        }
    }
    assert_true(failures > 20);
}

static double half_speed(void *self, const st_graph *graph, st_task_id task,
                         const st_task_id *beside, size_t count)
{
    (void)self, (void)graph, (void)task, (void)beside;
    return count > 0 ? 0.5 : 1;
}

/* Replays a sealed graph and asks for all results. */
static st_status look(const st_graph *graph, st_arena *arena, st_errors *errors, int64_t *end)
{
    st_rank_time times[64];
    const st_path_step *steps = NULL;
    size_t count = 0;
    st_replay *replay = st_replay_create(graph);
    st_status status = replay == NULL ? ST_ERR_MEMORY : st_replay_run(replay, errors);
    if (status == ST_OK) {
        status = st_replay_ranks(replay, times, errors);
    }
    if (status == ST_OK) {
        status = st_replay_path(replay, arena, &steps, &count, errors);
    }
    if (status == ST_OK) {
        status = st_replay_run_rates(replay, &(st_rate_rule){half_speed, NULL}, errors);
        *end = st_replay_end_ns(replay);
    }
    st_replay_destroy(replay);
    return status;
}

static st_status use_schedule(st_arena *arena, st_graph *graph, st_errors *errors, int64_t *end)
{
    static const st_schedule_piece piece = {
        .until = 1, .gather_hidden = 120, .gather_exposed = 7, .reduce_hidden = 85};
    const st_schedule_pieces pieces[4] = {{0}, {&piece, 1, &piece, 1}, {.forward = NULL}, {0}};
    st_chunk_times times[4];
    st_schedule_order order;
    fill_times(times, 4, 2385, 2911, 1234);
    times[1].part[ST_PASS_FORWARD][ST_PART_TP] = 77;
    st_schedule_plan plan = {
        .shape = {.kind = ST_SCHEDULE_ZERO_BUBBLE_2,
                  .stages = 4,
                  .micros = 12,
                  .chunks = 1,
                  .times = times,
                  .transfer = 12},
        .ends = {.reduce_hidden = 55, .tied = 44, .gather_hidden = 33, .optimizer = 22},
        .pieces = pieces,
        .prefetch = 2,
        .groups =
            {.tp = 2, .tp_stride = 1, .cp = 1, .dp = 2, .dp_stride = 2, .ep = 1, .pp_stride = 4},
        .every_rank = true};
    st_status status = st_schedule_order_make(&plan.shape, arena, &order, errors);
    if (status == ST_OK) {
        status = st_schedule_build(&plan, &order, graph, errors);
    }
    if (status == ST_OK) {
        status = st_graph_seal(graph, errors);
    }
    return status == ST_OK ? look(graph, arena, errors, end) : status;
}

/* Tasks with keys and times of two ranks; `wait` makes them wait for each other. */
static st_status use_keys(st_arena *arena, st_graph *graph, st_errors *errors, int64_t *end,
                          bool wait)
{
    uint32_t on[2] = {0, 0};
    st_status status = ST_OK;
    for (uint32_t rank = 0; rank < 2 && status == ST_OK; rank++) {
        status = st_graph_resource(graph, rank, ST_RESOURCE_COMPUTE, "stream", &on[rank], errors);
    }
    for (uint32_t i = 0; i < 1100 && status == ST_OK; i++) {
        for (uint32_t rank = 0; rank < 2 && status == ST_OK; rank++) {
            st_task_spec spec = {.resource = on[rank],
                                 .duration_ns = 10 + rank,
                                 .earliest_ns = i % 100,
                                 .key = i % 3 == 0 ? 100 + i % 7 : 0,
                                 .key_ranks = 2};
            status = st_graph_add(graph, &spec, NULL, errors);
        }
        if (status == ST_OK && i > 0) {
            status = st_graph_edge(graph, 2 * i - 1, 2 * i, ST_EDGE_USER, errors);
        }
    }
    if (status == ST_OK && wait) {
        status = st_graph_edge(graph, 2101, 3, ST_EDGE_USER, errors);
    }
    if (status == ST_OK) {
        status = st_graph_seal(graph, errors);
    }
    return status == ST_OK ? look(graph, arena, errors, end) : status;
}

static st_status use_instances(st_arena *arena, st_graph *graph, st_errors *errors, int64_t *end)
{
    return use_keys(arena, graph, errors, end, false);
}

static st_status use_deadlock(st_arena *arena, st_graph *graph, st_errors *errors, int64_t *end)
{
    return use_keys(arena, graph, errors, end, true);
}

static void check(scenario *run, st_status expected)
{
    int64_t end = 0;
    st_arena *arena = st_arena_create();
    st_graph *graph = st_graph_create(NULL);
    assert_int_equal(run(arena, graph, NULL, &end), expected);
    st_graph_destroy(graph);
    st_arena_destroy(arena);
    fail_each(run, expected, end);
}

static void schedules_survive(void **state)
{
    (void)state;
    check(use_schedule, ST_OK);
}

static void instances_survive(void **state)
{
    (void)state;
    check(use_instances, ST_OK);
}

static void deadlocks_survive(void **state)
{
    (void)state;
    check(use_deadlock, ST_ERR_CYCLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules_survive),
        cmocka_unit_test(instances_survive),
        cmocka_unit_test(deadlocks_survive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
