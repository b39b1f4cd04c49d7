/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Properties of replays and schedules over random graphs and plans: a replay is the fixed point of
 * its rules, breakdowns add up, schedules of uniform stages take what the closed forms of their
 * papers say.
 */
#include "property.h"
#include "schedule/schedule.h"

#include "../unit/schedule_support.h"

enum { ROUNDS = 300, MOST_TASKS = 60 };

typedef struct random_graph {
    st_graph *graph;
    st_task_id from[2 * MOST_TASKS];
    st_task_id to[2 * MOST_TASKS];
    size_t edges;
    size_t tasks;
    uint32_t resources;
} random_graph;

/* Edges lead to later tasks and instances join neighbours of one level, so that nothing waits for
 * itself: level k has a task of every resource. */
static void make_random(property_random *random, random_graph *made)
{
    made->graph = st_graph_create(NULL);
    made->resources = (uint32_t)random_between(random, 1, 6);
    uint32_t levels = (uint32_t)random_between(random, 1, MOST_TASKS / 6);
    for (uint32_t i = 0; i < made->resources; i++) {
        uint32_t number = 0;
        assert_int_equal(
            st_graph_resource(made->graph, i / 2,
                              i % 2 == 0 ? ST_RESOURCE_COMPUTE : ST_RESOURCE_COMMUNICATION, "",
                              &number, NULL),
            ST_OK);
    }
    for (uint32_t level = 0; level < levels; level++) {
        uint64_t key = random_between(random, 0, 2) == 0 ? level + 1 : 0;
        for (uint32_t i = 0; i < made->resources; i++) {
            bool meets = key != 0 && i % 2 == 0;
            st_task_spec spec = {.resource = i,
                                 .duration_ns = random_between(random, 0, 5000),
                                 .earliest_ns = random_between(random, 0, 9) == 0
                                                    ? random_between(random, 0, 20000)
                                                    : 0,
                                 .key = meets ? key : 0};
            assert_int_equal(st_graph_add(made->graph, &spec, NULL, NULL), ST_OK);
        }
    }
    made->tasks = (size_t)levels * made->resources;
    made->edges = levels < 2 ? 0 : random_below(random, 2 * made->tasks);
    for (size_t i = 0; i < made->edges; i++) {
        uint32_t level = (uint32_t)random_between(random, 0, (int)levels - 2);
        uint32_t later = (uint32_t)random_between(random, (int)level + 1, (int)levels - 1);
        made->from[i] = level * made->resources + (uint32_t)random_below(random, made->resources);
        made->to[i] = later * made->resources + (uint32_t)random_below(random, made->resources);
        assert_int_equal(st_graph_edge(made->graph, made->from[i], made->to[i], ST_EDGE_USER, NULL),
                         ST_OK);
    }
}

/* Starts by relaxation until nothing moves, as slow as it is plain. */
static void relax(const random_graph *made, int64_t *ready, int64_t *start)
{
    for (size_t i = 0; i < made->tasks; i++) {
        ready[i] = start[i] = st_graph_task(made->graph, (st_task_id)i).earliest_ns;
    }
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t i = 0; i < made->tasks; i++) {
            int64_t before = ready[i] + start[i];
            if (i >= made->resources) {
                size_t previous = i - made->resources;
                int64_t end =
                    start[previous] + st_graph_task(made->graph, (st_task_id)previous).duration_ns;
                ready[i] = end > ready[i] ? end : ready[i];
            }
            for (size_t j = 0; j < made->edges; j++) {
                int64_t end =
                    start[made->from[j]] + st_graph_task(made->graph, made->from[j]).duration_ns;
                ready[i] = made->to[j] == i && end > ready[i] ? end : ready[i];
            }
            start[i] = ready[i] > start[i] ? ready[i] : start[i];
            size_t count = 0;
            const st_task_id *members = st_graph_members(
                made->graph, st_graph_task(made->graph, (st_task_id)i).instance, &count);
            for (size_t j = 0; j < count; j++) {
                start[i] = ready[members[j]] > start[i] ? ready[members[j]] : start[i];
            }
            moved = moved || ready[i] + start[i] != before;
        }
    }
}

TEST_OF(a_replay_is_the_fixed_point_of_its_rules, property_random *random, NULL, NULL)
{
    for (int round = 0; round < ROUNDS; round++) {
        random_graph made;
        int64_t ready[MOST_TASKS];
        int64_t start[MOST_TASKS];
        make_random(random, &made);
        assert_int_equal(st_graph_seal(made.graph, NULL), ST_OK);
        st_replay *replay = st_replay_create(made.graph);
        assert_int_equal(st_replay_run(replay, NULL), ST_OK);
        relax(&made, ready, start);
        for (size_t i = 0; i < made.tasks; i++) {
            st_task_time time = st_replay_task(replay, (st_task_id)i);
            assert_int_equal(time.ready_ns, ready[i]);
            assert_int_equal(time.start_ns, start[i]);
        }
        st_replay_destroy(replay);
        st_graph_destroy(made.graph);
    }
}

TEST_OF(breakdowns_add_up_and_paths_reach_the_end, property_random *random, NULL, NULL)
{
    for (int round = 0; round < ROUNDS; round++) {
        random_graph made;
        st_rank_time times[8];
        st_arena *arena = st_arena_create();
        const st_path_step *steps = NULL;
        size_t count = 0;
        make_random(random, &made);
        assert_int_equal(st_graph_seal(made.graph, NULL), ST_OK);
        st_replay *replay = st_replay_create(made.graph);
        assert_int_equal(st_replay_run(replay, NULL), ST_OK);
        assert_int_equal(st_replay_ranks(replay, times, NULL), ST_OK);
        int64_t end = st_replay_end_ns(replay);
        for (size_t i = 0; i < st_graph_rank_count(made.graph); i++) {
            assert_int_equal(times[i].exposed_compute_ns + times[i].exposed_communication_ns +
                                 times[i].overlapped_ns + times[i].waiting_ns + times[i].idle_ns,
                             end);
        }
        assert_int_equal(st_replay_path(replay, arena, &steps, &count, NULL), ST_OK);
        int64_t sum = st_replay_task(replay, steps[0].task).ready_ns;
        for (size_t i = 0; i < count; i++) {
            sum += steps[i].time_ns;
        }
        assert_int_equal(sum, end);
        st_replay_destroy(replay);
        st_graph_destroy(made.graph);
        st_arena_destroy(arena);
    }
}

static double full_speed(void *self, const st_graph *graph, st_task_id task,
                         const st_task_id *beside, size_t count)
{
    (void)self, (void)graph, (void)task, (void)beside, (void)count;
    return 1;
}

TEST_OF(at_full_speed_both_replays_are_the_same, property_random *random, NULL, NULL)
{
    for (int round = 0; round < ROUNDS; round++) {
        random_graph made;
        make_random(random, &made);
        assert_int_equal(st_graph_seal(made.graph, NULL), ST_OK);
        st_replay *plain = st_replay_create(made.graph);
        st_replay *rated = st_replay_create(made.graph);
        st_rate_rule rule = {full_speed, NULL};
        assert_int_equal(st_replay_run(plain, NULL), ST_OK);
        assert_int_equal(st_replay_run_rates(rated, &rule, NULL), ST_OK);
        for (size_t i = 0; i < made.tasks; i++) {
            st_task_time own = st_replay_task(plain, (st_task_id)i);
            st_task_time other = st_replay_task(rated, (st_task_id)i);
            assert_memory_equal(&own, &other, sizeof own);
        }
        st_replay_destroy(plain);
        st_replay_destroy(rated);
        st_graph_destroy(made.graph);
    }
}

/* --- schedules ---------------------------------------------------------------------------------
 */

/* Ranks of a stage do the same at the same time: one of each stage stands for all. */
TEST_OF(every_rank_has_the_times_of_its_stage, property_random *random, NULL, NULL)
{
    for (int round = 0; round < ROUNDS / 10; round++) {
        st_chunk_times times[16];
        st_schedule_order order;
        int64_t ends[2] = {0, 0};
        uint32_t stages = (uint32_t)random_between(random, 1, 4);
        uint32_t tp = (uint32_t)random_between(random, 1, 3);
        uint32_t dp = (uint32_t)random_between(random, 1, 5);
        fill_times(times, 16, 238500, 291100, 123400);
        for (uint32_t i = 0; i < stages; i++) {
            times[i].part[ST_PASS_FORWARD][ST_PART_TP] = 5000 * (i + 1);
        }
        st_schedule_plan plan = {
            .shape = {.kind = (st_schedule_kind)random_below(random, 2),
                      .stages = stages,
                      .micros = (uint32_t)random_between(random, 1, 6),
                      .chunks = 1,
                      .times = times,
                      .transfer = 1234},
            .ends = {.reduce_exposed = 77777, .tied = 5555, .gather_hidden = 3333},
            .groups = {.tp = tp,
                       .tp_stride = 1,
                       .cp = 1,
                       .dp = dp,
                       .dp_stride = tp,
                       .ep = 1,
                       .pp_stride = tp * dp}};
        for (int every = 0; every < 2; every++) {
            st_arena *arena = st_arena_create();
            st_graph *graph = st_graph_create(NULL);
            plan.every_rank = every != 0;
            assert_int_equal(st_schedule_order_make(&plan.shape, arena, &order, NULL), ST_OK);
            assert_int_equal(st_schedule_build(&plan, &order, graph, NULL), ST_OK);
            assert_int_equal(st_graph_seal(graph, NULL), ST_OK);
            assert_int_equal(st_graph_rank_count(graph), every != 0 ? stages * tp * dp : stages);
            st_replay *replay = st_replay_create(graph);
            assert_int_equal(st_replay_run(replay, NULL), ST_OK);
            ends[every] = st_replay_end_ns(replay);
            st_replay_destroy(replay);
            st_graph_destroy(graph);
            st_arena_destroy(arena);
        }
        assert_int_equal(ends[0], ends[1]);
    }
}

typedef struct uniform {
    uint32_t stages, micros, chunks;
    int64_t forward, backward, weights;
    st_chunk_times times[64];
} uniform;

static void random_uniform(property_random *random, uniform *plan)
{
    plan->stages = (uint32_t)random_between(random, 1, 8);
    plan->chunks = (uint32_t)random_between(random, 2, 4);
    plan->micros = plan->stages * (uint32_t)random_between(random, 1, 5);
    plan->forward = random_between(random, 1000, 9000);
    plan->backward = random_between(random, 1000, 9000);
    plan->weights = random_between(random, 1000, 9000);
    fill_times(plan->times, 64, plan->forward, plan->backward, plan->weights);
}

static uint32_t chunks_of(const uniform *alike, st_schedule_kind kind)
{
    return kind == ST_SCHEDULE_INTERLEAVED ? alike->chunks : st_schedule_is_folded(kind) ? 2 : 1;
}

static planned run_uniform(const uniform *alike, st_schedule_kind kind, uint32_t micros)
{
    st_schedule_plan plan = {.shape = {.kind = kind,
                                       .stages = alike->stages,
                                       .micros = micros,
                                       .chunks = chunks_of(alike, kind),
                                       .times = alike->times}};
    planned result = replay_plan(&plan, NULL);
    assert_int_equal(result.status, ST_OK);
    return result;
}

TEST_OF(uniform_stages_take_what_closed_forms_say, property_random *random, NULL, NULL)
{
    for (int round = 0; round < ROUNDS; round++) {
        uniform plan;
        random_uniform(random, &plan);
        int64_t all = plan.forward + plan.backward + plan.weights;
        uint32_t any = (uint32_t)random_between(random, 1, 30);
        assert_int_equal(run_uniform(&plan, ST_SCHEDULE_GPIPE, any).step,
                         all * (any + plan.stages - 1));
        assert_int_equal(run_uniform(&plan, ST_SCHEDULE_1F1B, any).step,
                         all * (any + plan.stages - 1));
        if (plan.stages > 1) {
            assert_int_equal(run_uniform(&plan, ST_SCHEDULE_INTERLEAVED, plan.micros).step,
                             all * (plan.micros * plan.chunks + plan.stages - 1));
        }
    }
}

/* A last stage that is slowest in every pass: the others are passed through once. */
TEST_OF(a_slow_last_stage_is_never_idle_in_between, property_random *random, NULL, NULL)
{
    for (int round = 0; round < ROUNDS; round++) {
        uniform plan;
        random_uniform(random, &plan);
        int64_t sum = 0;
        for (uint32_t i = 0; i + 1 < plan.stages; i++) {
            plan.times[i].part[ST_PASS_FORWARD][ST_PART_WORK] -= random_between(random, 0, 900);
            plan.times[i].part[ST_PASS_BACKWARD][ST_PART_WORK] -= random_between(random, 0, 900);
            sum += plan.times[i].part[ST_PASS_FORWARD][ST_PART_WORK] +
                   plan.times[i].part[ST_PASS_BACKWARD][ST_PART_WORK] + plan.weights;
        }
        int64_t all = plan.forward + plan.backward + plan.weights;
        uint32_t any = (uint32_t)random_between(random, 1, 30);
        assert_int_equal(run_uniform(&plan, ST_SCHEDULE_GPIPE, any).step, all * any + sum);
        assert_int_equal(run_uniform(&plan, ST_SCHEDULE_1F1B, any).step, all * any + sum);
    }
}

/* Qi et al. 2024, table 2, and DeepSeek-AI 2024, table 2, where the three passes are alike. */
TEST_OF(bubbles_of_equal_passes_are_those_of_the_papers, property_random *random, NULL, NULL)
{
    for (int round = 0; round < ROUNDS; round++) {
        uniform plan;
        random_uniform(random, &plan);
        int64_t one = plan.forward;
        fill_times(plan.times, 64, one, one, one);
        uint32_t micros = 2 * plan.stages + 2 * (uint32_t)random_between(random, 0, 9);
        assert_int_equal(run_uniform(&plan, ST_SCHEDULE_ZERO_BUBBLE, micros).step,
                         3 * one * micros + (plan.stages - 1) * one);
        assert_int_equal(run_uniform(&plan, ST_SCHEDULE_ZERO_BUBBLE_2, micros).span,
                         3 * one * micros);
        if (plan.stages % 2 == 0) { /* (p/2 - 1)(F&B + B - 3W), B with weights */
            assert_int_equal(run_uniform(&plan, ST_SCHEDULE_DUALPIPE, micros).step,
                             3 * one * micros + (plan.stages / 2 - 1) * 2 * one);
        }
    }
}

/* Qi et al. 2024b, table 1: no bubble, half and two thirds of that of 1F1B, where there are enough
 * micro-batches and the three passes are alike. */
TEST_OF(folded_schedules_idle_as_their_paper_says, property_random *random, NULL, NULL)
{
    for (int round = 0; round < ROUNDS; round++) {
        uniform plan;
        random_uniform(random, &plan);
        int64_t one = plan.forward;
        fill_times(plan.times, 64, one, one, one);
        uint32_t micros = 2 * plan.stages + (uint32_t)random_between(random, 0, 20);
        int64_t work = 6 * one * micros;
        assert_int_equal(run_uniform(&plan, ST_SCHEDULE_ZERO_BUBBLE_V, micros).span, work);
        int64_t half = run_uniform(&plan, ST_SCHEDULE_V_HALF, micros).span - work;
        int64_t least = run_uniform(&plan, ST_SCHEDULE_V_MIN, micros).span - work;
        assert_in_range(half, 0, 3 * plan.stages * one);
        assert_in_range(least, 0, (4 * plan.stages + 2) * one);
    }
}

/* The most chunks' activations that a stage holds; all of them stay for the weights' gradients. */
static uint32_t most_held(const st_schedule_order *order, uint32_t stage)
{
    uint32_t held = 0;
    uint32_t most = 0;
    for (size_t i = 0; i < order->counts[stage]; i++) {
        const st_slot *slot = &order->slots[stage][i];
        bool frees = slot->pass == ST_PASS_WEIGHTS || slot->with_weights;
        held += slot->pass == ST_PASS_FORWARD ? 1 : 0;
        held -= frees ? 1 : 0;
        most = held > most ? held : most;
    }
    return most;
}

/* Two chunks of as many micro-batches as table 1 of Qi et al. 2024b has; stages and one more of
 * DualPipe (DeepSeek-AI 2024, table 2); those of a sheet's in_flight. */
TEST_OF(stages_hold_what_their_papers_say, property_random *random, NULL, NULL)
{
    for (int round = 0; round < ROUNDS; round++) {
        uniform plan;
        st_arena *arena = st_arena_create();
        st_schedule_order order;
        random_uniform(random, &plan);
        uint32_t p = plan.stages;
        uint32_t micros = 2 * p + 2 * (uint32_t)random_between(random, 0, 20);
        const uint32_t held[ST_SCHEDULES] = {[ST_SCHEDULE_1F1B] = p,
                                             [ST_SCHEDULE_ZERO_BUBBLE] = p,
                                             [ST_SCHEDULE_ZERO_BUBBLE_V] = 2 * p,
                                             [ST_SCHEDULE_V_HALF] = 2 * ((p + 2) / 2),
                                             [ST_SCHEDULE_V_MIN] = 2 * ((p + 4) / 3),
                                             [ST_SCHEDULE_DUALPIPE] = p % 2 == 0 ? p + 1 : 0};
        for (int kind = 0; kind < ST_SCHEDULES; kind++) {
            st_schedule_shape shape = {.kind = (st_schedule_kind)kind,
                                       .stages = p,
                                       .micros = micros,
                                       .chunks = chunks_of(&plan, (st_schedule_kind)kind),
                                       .times = plan.times};
            uint32_t most = 0;
            if (held[kind] == 0)
                continue;
            assert_int_equal(st_schedule_order_make(&shape, arena, &order, NULL), ST_OK);
            for (uint32_t stage = 0; stage < p; stage++) {
                uint32_t own = most_held(&order, stage);
                most = own > most ? own : most;
            }
            if (most > held[kind] || most + 2 < held[kind])
                fail_msg("%s on %lu stages holds %lu", st_schedule_name(shape.kind),
                         (unsigned long)p, (unsigned long)most);
        }
        st_arena_destroy(arena);
    }
}

TEST_OF(no_schedule_waits_on_itself, property_random *random, NULL, NULL)
{
    for (int round = 0; round < ROUNDS; round++) {
        uniform plan;
        random_uniform(random, &plan);
        uint32_t any = (uint32_t)random_between(random, 1, 40);
        st_schedule_kind kind = (st_schedule_kind)random_below(random, ST_SCHEDULE_DUALPIPE);
        int64_t work = (plan.forward + plan.backward + plan.weights) * any;
        planned result = run_uniform(&plan, kind, any);
        assert_true(result.span >= work * chunks_of(&plan, kind));
    }
}

TESTS_WITH(schedules, property_setup, NULL);
