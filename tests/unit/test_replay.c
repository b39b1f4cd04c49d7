/* SPDX-License-Identifier: Apache-2.0 */
/* Replay of task graphs: breakdown, categories, critical path, overflow, changed durations. */
#include "graph_support.h"

TEST_OF(durations_may_change_between_replays, graph_fixture *self, make_graph, drop_graph)
{
    uint32_t on = resource(self, 0, ST_RESOURCE_COMPUTE);
    st_task_id a = task_on(self, on, 2385);
    st_task_id b = task_on(self, on, 100);
    replay(self);
    assert_int_equal(st_replay_end_ns(self->replay), 2485);
    assert_int_equal(st_graph_set_duration(self->graph, a, 17, self->errors), ST_OK);
    assert_int_equal(st_replay_run(self->replay, self->errors), ST_OK);
    assert_time(b, 17, 17, 117);
}

TEST_OF(time_that_overflows_is_refused, graph_fixture *self, make_graph, drop_graph)
{
    uint32_t on = resource(self, 5, ST_RESOURCE_COMPUTE);
    (void)task_on(self, on, INT64_MAX - 2);
    st_task_id late = task_on(self, on, 3);
    assert_int_equal(st_graph_seal(self->graph, self->errors), ST_OK);
    self->replay = st_replay_create(self->graph);
    assert_int_equal(st_replay_run(self->replay, self->errors), ST_ERR_LIMIT);
    assert_string_equal(said(self->errors),
                        "error: the end of task 1 of rank 5 (compute) is out of range: "
                        "expected at most 2^63 - 1 ns, 292 years\n");
    assert_int_equal(st_graph_set_duration(self->graph, late, 2, NULL), ST_OK);
    assert_int_equal(st_replay_run(self->replay, self->errors), ST_OK);
    assert_int_equal(st_replay_end_ns(self->replay), INT64_MAX);
}

TEST_OF(an_empty_graph_takes_no_time, graph_fixture *self, make_graph, drop_graph)
{
    const st_path_step *steps = NULL;
    size_t count = 3;
    replay(self);
    assert_int_equal(st_replay_end_ns(self->replay), 0);
    assert_int_equal(st_replay_path(self->replay, self->arena, &steps, &count, NULL), ST_OK);
    assert_int_equal(count, 0);
}

/*
 * Rank 4:  compute        [0 --- 100)      [150 - 170)
 *          communication       [60 ----- 130)
 *          host           [0 ------------------------- 400)
 * Rank 2:  communication  waits [0 - 200) runs [200 - 230), with rank 8 that arrives at 200
 */
TEST_OF(ranks_are_broken_down, graph_fixture *self, make_graph, drop_graph)
{
    uint32_t compute = resource(self, 4, ST_RESOURCE_COMPUTE);
    uint32_t communication = resource(self, 4, ST_RESOURCE_COMMUNICATION);
    (void)task_on(self, compute, 100);
    (void)add(self,
              &(st_task_spec){.resource = communication, .duration_ns = 70, .earliest_ns = 60});
    (void)add(self, &(st_task_spec){.resource = compute, .duration_ns = 20, .earliest_ns = 150});
    (void)task_on(self, resource(self, 4, ST_RESOURCE_HOST), 400);
    (void)add(self, &(st_task_spec){.resource = resource(self, 2, ST_RESOURCE_COMMUNICATION),
                                    .duration_ns = 30,
                                    .key = 1});
    uint32_t late = resource(self, 8, ST_RESOURCE_COMMUNICATION);
    (void)task_on(self, late, 200);
    (void)add(self, &(st_task_spec){.resource = late, .duration_ns = 30, .key = 1});
    replay(self);
    st_rank_time times[3];
    assert_int_equal(st_graph_rank_count(self->graph), 3);
    assert_int_equal(st_replay_ranks(self->replay, times, self->errors), ST_OK);
    assert_int_equal(times[0].exposed_compute_ns, 60 + 20);
    assert_int_equal(times[0].overlapped_ns, 40);
    assert_int_equal(times[0].exposed_communication_ns, 30);
    assert_int_equal(times[0].waiting_ns, 0);
    assert_int_equal(times[0].idle_ns, 20 + 230);
    assert_int_equal(times[1].waiting_ns, 200);
    assert_int_equal(times[1].exposed_communication_ns, 30);
    assert_int_equal(times[1].idle_ns, 170);
    assert_int_equal(times[2].exposed_communication_ns, 230);
}

TEST_OF(categories_are_added_up, graph_fixture *self, make_graph, drop_graph)
{
    uint16_t gemm = 0;
    int64_t sums[2];
    uint64_t counts[2];
    assert_int_equal(st_graph_category(self->graph, "gemm", ST_WORK_COMPUTE, &gemm, NULL), ST_OK);
    for (uint32_t rank = 0; rank < 2; rank++) {
        uint32_t on = resource(self, rank, ST_RESOURCE_COMPUTE);
        (void)task_on(self, on, 11);
        for (int i = 0; i < 3; i++) {
            (void)add(self,
                      &(st_task_spec){.resource = on, .category = gemm, .duration_ns = 100 + rank});
        }
    }
    replay(self);
    assert_int_equal(st_replay_categories(self->replay, 1, sums, counts, NULL), ST_OK);
    assert_int_equal(sums[0], 11);
    assert_int_equal(sums[gemm], 303);
    assert_int_equal(counts[gemm], 3);
    assert_int_equal(st_replay_categories(self->replay, ST_RANKS_ALL, sums, NULL, NULL), ST_OK);
    assert_int_equal(sums[gemm], 603);
    assert_int_equal(st_replay_categories(self->replay, 2, sums, NULL, self->errors), ST_ERR_NAME);
    assert_string_equal(said(self->errors), "error: rank 2 has no resources\n");
}

TEST_OF(sums_that_overflow_are_refused, graph_fixture *self, make_graph, drop_graph)
{
    int64_t sums[1];
    for (uint32_t rank = 0; rank < 2; rank++) {
        (void)task_on(self, resource(self, rank, ST_RESOURCE_COMPUTE), INT64_MAX - 1);
    }
    replay(self);
    assert_int_equal(st_replay_categories(self->replay, ST_RANKS_ALL, sums, NULL, self->errors),
                     ST_ERR_LIMIT);
}

TEST_OF(the_critical_path_explains_the_end, graph_fixture *self, make_graph, drop_graph)
{
    uint32_t first = resource(self, 0, ST_RESOURCE_COMPUTE);
    uint32_t second = resource(self, 1, ST_RESOURCE_COMPUTE);
    st_task_id a = task_on(self, first, 500);
    st_task_id b = task_on(self, second, 10);
    st_task_id c = task_on(self, second, 90);
    edge(self, a, c);
    st_task_id early = add(self, &(st_task_spec){.resource = first, .duration_ns = 40, .key = 3});
    st_task_id late = add(self, &(st_task_spec){.resource = second, .duration_ns = 30, .key = 3});
    st_task_id last = task_on(self, first, 7);
    (void)b;
    replay(self);
    const st_path_step *steps = NULL;
    size_t count = 0;
    assert_int_equal(st_replay_path(self->replay, self->arena, &steps, &count, NULL), ST_OK);
    const st_task_id tasks[] = {a, c, late, early, last};
    const st_edge_kind edges[] = {ST_EDGE_PROGRAM, ST_EDGE_USER, ST_EDGE_PROGRAM, ST_EDGE_MEETING,
                                  ST_EDGE_PROGRAM};
    const int64_t spent[] = {500, 90, 0, 40, 7};
    assert_int_equal(count, COUNT(tasks));
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(steps[i].task, tasks[i]);
        assert_int_equal(steps[i].time_ns, spent[i]);
        assert_true(i == 0 || steps[i].edge == edges[i]);
    }
    assert_int_equal(st_replay_end_ns(self->replay), 637);
}

/* --- rates ---------------------------------------------------------------------------------------
 */

/* Computation concurrently with communication runs at a rate of its own; the rest is not slowed. */
static double slow_compute(void *rate, const st_graph *graph, st_task_id task,
                           const st_task_id *beside, size_t count)
{
    bool communicating = false;
    for (size_t i = 0; i < count; i++) {
        communicating =
            communicating || st_graph_task(graph, beside[i]).work == ST_WORK_COMMUNICATION;
    }
    return st_graph_task(graph, task).work == ST_WORK_COMPUTE && communicating ? *(double *)rate
                                                                               : 1;
}

static void replay_slowed(graph_fixture *self, double rate, st_status expected)
{
    st_rate_rule rule = {slow_compute, &rate};
    assert_int_equal(st_graph_seal(self->graph, self->errors), ST_OK);
    self->replay = st_replay_create(self->graph);
    assert_int_equal(st_replay_run_rates(self->replay, &rule, self->errors), expected);
}

/* Communication of 1000 ns hides concurrently with computation of 5000 ns at 4/5 of its speed: it
 * costs 200.
 */
TEST_OF(a_slowed_task_does_all_of_its_work, graph_fixture *self, make_graph, drop_graph)
{
    uint32_t compute = resource(self, 0, ST_RESOURCE_COMPUTE);
    uint32_t communication = resource(self, 0, ST_RESOURCE_COMMUNICATION);
    uint32_t host = resource(self, 0, ST_RESOURCE_HOST);
    uint32_t elsewhere = resource(self, 1, ST_RESOURCE_COMMUNICATION);
    st_task_id work = task_on(self, compute, 5000);
    st_task_id message = add(
        self, &(st_task_spec){
                  .resource = communication, .duration_ns = 1000, .earliest_ns = 700, .key = 9});
    st_task_id thread = task_on(self, host, 9000);
    st_task_id other = add(
        self,
        &(st_task_spec){.resource = elsewhere, .duration_ns = 1000, .earliest_ns = 900, .key = 9});
    st_task_id last = task_on(self, compute, 30);
    replay_slowed(self, 0.8, ST_OK);
    assert_time(work, 0, 0, 5200);
    assert_time(message, 700, 900, 1900);
    assert_time(thread, 0, 0, 9000);
    assert_time(other, 900, 900, 1900);
    assert_time(last, 5200, 5200, 5230);
    int64_t sums[1];
    assert_int_equal(st_replay_categories(self->replay, 0, sums, NULL, NULL), ST_OK);
    assert_int_equal(sums[0], 5200 + 1000 + 9000 + 30);
}

/* Two messages one after the other, each slows what is left. */
TEST_OF(rates_change_with_the_set, graph_fixture *self, make_graph, drop_graph)
{
    uint32_t compute = resource(self, 0, ST_RESOURCE_COMPUTE);
    uint32_t communication = resource(self, 0, ST_RESOURCE_COMMUNICATION);
    st_task_id work = task_on(self, compute, 2000);
    (void)task_on(self, communication, 300);
    (void)add(self,
              &(st_task_spec){.resource = communication, .duration_ns = 600, .earliest_ns = 1000});
    replay_slowed(self, 0.5, ST_OK);
    assert_int_equal(st_replay_task(self->replay, work).end_ns, 2000 + 150 + 300);
}

TEST_OF(impossible_rates_are_refused, graph_fixture *self, make_graph, drop_graph)
{
    (void)task_on(self, resource(self, 0, ST_RESOURCE_COMPUTE), 2000);
    (void)task_on(self, resource(self, 0, ST_RESOURCE_COMMUNICATION), 300);
    replay_slowed(self, 1.385, ST_ERR_PROVIDER);
    assert_string_equal(said(self->errors), "error: task 0 of rank 0 (compute) has an invalid "
                                            "rate: found 1.385, expected from 1e-6 to 1\n");
}

TEST_OF(slowed_time_that_overflows_is_refused, graph_fixture *self, make_graph, drop_graph)
{
    (void)task_on(self, resource(self, 0, ST_RESOURCE_COMPUTE), INT64_MAX / 2);
    (void)task_on(self, resource(self, 0, ST_RESOURCE_COMMUNICATION), INT64_MAX / 2);
    replay_slowed(self, 0.0625, ST_ERR_LIMIT);
}

TESTS(replay);
