/* SPDX-License-Identifier: Apache-2.0 */
/* Times of pipelines without a task graph, against what papers say of even stages. */
#include "base_support.h"

#include "schedule/pipeline_time.h"

enum { FORWARD = 2385, BACKWARD = 2500, WEIGHTS = 1750, MOST_PLACES = 8 };
enum { EACH = FORWARD + BACKWARD + WEIGHTS };

/* Stages alike in everything, unless a test changes `chunks`. */
typedef struct pipeline {
    st_chunk_times chunks[MOST_PLACES];
    st_schedule_shape shape;
    st_schedule_ends ends;
    const st_pipeline_data *data;
} pipeline;

static pipeline even(st_schedule_kind kind, uint32_t stages, uint32_t micros)
{
    pipeline own = {.shape = {.kind = kind, .stages = stages, .micros = micros, .chunks = 1}};
    for (size_t i = 0; i < MOST_PLACES; i++) {
        own.chunks[i].part[ST_PASS_FORWARD][ST_PART_WORK] = FORWARD;
        own.chunks[i].part[ST_PASS_BACKWARD][ST_PART_WORK] = BACKWARD - 385;
        own.chunks[i].part[ST_PASS_BACKWARD][ST_PART_TP] = 385;
        own.chunks[i].part[ST_PASS_WEIGHTS][ST_PART_WORK] = WEIGHTS;
    }
    return own;
}

/* All zero where the pipeline is not known. */
static st_pipeline_times replay(pipeline *own)
{
    st_pipeline_times times = {0};
    st_arena *arena = st_arena_create();
    assert_non_null(arena);
    own->shape.times = own->chunks;
    const st_pipeline asked = {.shape = &own->shape, .ends = &own->ends, .data = own->data};
    st_pipeline_walk *walk = st_pipeline_walk_make(&own->shape, arena);
    bool good = walk != NULL && st_pipeline_replay(&asked, walk, &times);
    assert_true(good == (times.passes > 0));
    st_pipeline_times again = {0}; /* nothing of a replay stays in the walk */
    assert_true(walk == NULL || st_pipeline_replay(&asked, walk, &again) == good);
    assert_memory_equal(&times, &again, sizeof times);
    st_arena_destroy(arena);
    return times;
}

/* Narayanan et al. 2021, section 2.2: (m + p - 1) passes both ways, whichever of the two orders. */
TEST(gpipe_and_1f1b_take_as_long)
{
    for (st_schedule_kind kind = ST_SCHEDULE_GPIPE; kind <= ST_SCHEDULE_1F1B; kind++) {
        pipeline own = even(kind, 4, 9);
        assert_int_equal(replay(&own).passes, 12 * EACH);
        own.shape.transfer = 125; /* both ends stop after each of 12 forward and backward passes */
        own.ends.tied = 375;
        st_pipeline_times times = replay(&own);
        assert_int_equal(times.busiest, 9 * EACH);
        assert_int_equal(times.passes, 12 * EACH);
        assert_int_equal(times.with_transfers, times.passes + 24 * 125);
        assert_int_equal(times.with_tied, times.with_transfers + 375);
        assert_int_equal(times.with_data, times.with_tied);
    }
}

/* (m v + p - 1) passes of a chunk where the stages divide the micro-batches. */
TEST(chunks_shorten_the_bubble)
{
    pipeline own = even(ST_SCHEDULE_INTERLEAVED, 4, 12);
    own.shape.chunks = 2;
    assert_int_equal(replay(&own).passes, (12 * 2 + 3) * EACH);
    assert_int_equal(replay(&own).busiest, 12 * 2 * EACH);
}

/* Qi et al. 2024, table 1: a bubble of (p - 1)(F + B - W) for ZB-H1. */
TEST(gradients_of_weights_fill_bubbles)
{
    const int64_t work = 9 * EACH;
    pipeline own = even(ST_SCHEDULE_ZERO_BUBBLE, 4, 9);
    st_pipeline_times first = replay(&own);
    assert_int_equal(first.passes, work + 3 * (FORWARD + BACKWARD - WEIGHTS));
    own.shape.kind = ST_SCHEDULE_ZERO_BUBBLE_2;
    own.ends.tied = 375;
    st_pipeline_times second = replay(&own);
    assert_true(second.passes > work && second.passes < first.passes);
    assert_true(second.with_tied > second.with_transfers);
}

/* All forward, then all backward: each way the sum of the stages, and the slowest for the rest. */
TEST(uneven_stages_wait_for_the_slowest)
{
    static const int64_t percents[] = {80, 120, 120, 60, 40};
    pipeline own = even(ST_SCHEDULE_GPIPE, 5, 7);
    for (size_t i = 0; i < sizeof percents / sizeof percents[0]; i++)
        for (int pass = 0; pass < ST_PASSES; pass++)
            for (int part = 0; part < ST_PARTS; part++)
                own.chunks[i].part[pass][part] = own.chunks[i].part[pass][part] * percents[i] / 100;
    assert_int_equal(replay(&own).passes, EACH * (80 + 2 * 120 + 60 + 40 + 6 * 120) / 100);
    assert_int_equal(replay(&own).busiest, EACH * 7 * 120 / 100);
}

/* Weights come before the first pass and beside it; gradients leave beside the last pass and after
 * it. With one micro-batch both stages have a single pass each way. */
TEST(gathers_and_reductions_surround_the_passes)
{
    pipeline own = even(ST_SCHEDULE_1F1B, 2, 1);
    own.ends = (st_schedule_ends){.gather_exposed = 311, .reduce_exposed = 127};
    assert_int_equal(replay(&own).with_data, 2 * EACH + 311 + 127);
    own.ends.reduce_hidden = BACKWARD + WEIGHTS + 713; /* that much longer than the last pass */
    assert_int_equal(replay(&own).with_data, 2 * EACH + 311 + 713 + 127);
    assert_int_equal(replay(&own).with_tied, 2 * EACH);
    own.ends.gather_hidden = FORWARD + 2 * EACH; /* the first stage waits for it before it goes
                                                    back, and so does what comes after */
    assert_true(replay(&own).with_data > 2 * EACH + 311 + 713 + 127);
}

/* Hidden gradients wait for weights that a pass waits for: messages of a group of ranks run one
 * after another (Zhao et al. 2023, section 3.3.2). */
TEST(messages_of_a_group_take_turns)
{
    static const uint32_t layers[] = {2};
    static const double moves[] = {FORWARD, BACKWARD, WEIGHTS};
    const st_pipeline_data data = {.layers = layers,
                                   .gather_exposed = 3000,
                                   .reduce_hidden = 60000,
                                   .moves = moves,
                                   .slow = {1, 1, 1},
                                   .rate_sending = 1};
    pipeline own = even(ST_SCHEDULE_1F1B, 1, 2);
    own.data = &data;
    /* Gradients are on their way from the first layer's backward pass on. */
    assert_int_equal(replay(&own).with_data,
                     4 * 3000 + 2 * 60000 + FORWARD + (BACKWARD + WEIGHTS) / 2);
}

/* A stage hides what its own passes leave, whatever the others do; while messages slow down
 * computation, the pass lasts longer and hides as much more. */
TEST(each_stage_hides_what_its_passes_leave)
{
    static const uint32_t layers[] = {2, 2};
    static const double moves[] = {FORWARD, BACKWARD - 1035, WEIGHTS, FORWARD, BACKWARD, WEIGHTS};
    st_pipeline_data data = {
        .layers = layers, .moves = moves, .slow = {1, 1, 1}, .rate_sending = 1};
    pipeline own = even(ST_SCHEDULE_1F1B, 2, 1);
    own.data = &data;
    own.ends.reduce_hidden = BACKWARD + WEIGHTS;
    assert_int_equal(replay(&own).with_data, 2 * EACH + 1035);
    own.shape.stages = 1;
    for (int pass = 0; pass < ST_PASSES; pass++)
        data.slow[pass] = 1.5;
    const int64_t longer = (BACKWARD - 385 + WEIGHTS) / 2; /* 385 of the pass do not compute */
    own.ends.reduce_hidden = BACKWARD - 1035 + WEIGHTS + longer;
    assert_true(llabs(replay(&own).with_slowdown - (EACH + longer)) <= 1);
    own.ends.reduce_hidden += 2385;
    assert_true(llabs(replay(&own).with_slowdown - (EACH + longer + 2385)) <= 1);
    own.ends.reduce_hidden = longer; /* gone before the pass is half done, in its second part */
    assert_in_range(replay(&own).with_slowdown, EACH + longer / 3, EACH + longer / 2);
}

/* A single chunk gathers its weights from its first pass on, which waits for them, stage by stage;
 * of several chunks all gather at once. */
TEST(a_first_pass_waits_for_its_weights)
{
    pipeline own = even(ST_SCHEDULE_1F1B, 3, 1);
    own.ends.gather_hidden = FORWARD - 85;
    assert_int_equal(replay(&own).with_data, 3 * EACH);
    own.ends.gather_hidden = FORWARD + 713;
    assert_int_equal(replay(&own).with_data, 3 * (EACH + 713));
}

TEST(one_stage_sends_nothing)
{
    pipeline own = even(ST_SCHEDULE_1F1B, 1, 7);
    own.shape.transfer = 125;
    own.ends.tied = 375;
    assert_int_equal(replay(&own).with_tied, 7 * EACH);
}

TEST(odd_shapes_have_no_times)
{
    pipeline odd[] = {
        even(ST_SCHEDULE_1F1B, 4, 0),
        even(ST_SCHEDULE_1F1B, 2, 699051), /* 3 * 2 * 699051 = 2^22 + 2 */
        even(ST_SCHEDULES, 4, 7),
        even(ST_SCHEDULE_DUALPIPE, 4, 7),
    };
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
        assert_int_equal(replay(&odd[i]).passes, 0);
    pipeline own = even(ST_SCHEDULE_1F1B, 2, 699050); /* as many passes as are gone through */
    assert_int_equal(replay(&own).passes, INT64_C(699051) * EACH);
}

/* All passes of all stages one after the other must stay countable, whatever the schedule. */
TEST(steps_beyond_ticks_have_no_times)
{
    const int64_t most = INT64_MAX / 2 / (9 * 4);
    pipeline own = even(ST_SCHEDULE_1F1B, 4, 9);
    for (size_t i = 0; i < 4; i++)
        own.chunks[i].part[ST_PASS_FORWARD][ST_PART_WORK] = most - 2 * EACH;
    assert_int_equal(replay(&own).passes, 12 * (most - 2 * EACH + BACKWARD + WEIGHTS));
    own.ends.tied = INT64_MAX / 2;
    assert_int_equal(replay(&own).passes, 0);
    own.ends.tied = 0;
    own.shape.transfer = EACH;
    assert_int_equal(replay(&own).passes, 0);
    own.shape.transfer = 0;
    own.chunks[2].part[ST_PASS_WEIGHTS][ST_PART_ALONE] = INT64_MAX - EACH;
    assert_int_equal(replay(&own).passes, 0);
}

TESTS(pipeline_time);
