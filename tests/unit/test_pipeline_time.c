/* SPDX-License-Identifier: Apache-2.0 */
/* Times of pipelines without a task graph, against what papers say of even stages. */
#include "base_support.h"

#include "schedule/pipeline_time.h"

#include <math.h>

static const double forward = 2.385;
static const double backward = 2.5;
static const double weights = 1.75;

/* Stages alike in everything. */
static st_pipeline even(st_schedule_kind kind, double stages, double micros)
{
    st_pipeline own = {.stages = stages, .micros = micros, .kind = kind, .shorter_share = 1};
    for (int end = 0; end < ST_ENDS; end++) {
        own.pass[ST_PASS_FORWARD][end] = forward;
        own.pass[ST_PASS_BACKWARD][end] = backward;
        own.pass[ST_PASS_WEIGHTS][end] = weights;
    }
    return own;
}

static void assert_near(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-9 * expected))
        fail_msg("%.12g, expected %.12g", found, expected);
}

/* Narayanan et al. 2021, section 2.2: (m + p - 1) passes both ways, whichever of the two orders. */
static void gpipe_and_1f1b_take_as_long(void **state)
{
    (void)state;
    for (st_schedule_kind kind = ST_SCHEDULE_GPIPE; kind <= ST_SCHEDULE_1F1B; kind++) {
        st_pipeline own = even(kind, 4, 9);
        assert_near(st_pipeline_replay(&own).passes, 12 * (forward + backward + weights));
        own.transfer = 0.125; /* both ends stop after each of 12 forward and 12 backward passes */
        own.tied = 0.375;
        st_pipeline_times times = st_pipeline_replay(&own);
        assert_near(times.passes, 12 * (forward + backward + weights));
        assert_near(times.with_transfers, times.passes + 24 * 0.125);
        assert_near(times.with_tied, times.with_transfers + 0.375);
    }
}

/* Qi et al. 2024, table 1: a bubble of (p - 1)(F + B - W) for ZB-H1. */
static void gradients_of_weights_fill_bubbles(void **state)
{
    (void)state;
    const double work = 9 * (forward + backward + weights);
    st_pipeline own = even(ST_SCHEDULE_ZERO_BUBBLE, 4, 9);
    st_pipeline_times first = st_pipeline_replay(&own);
    assert_near(first.passes, work + 3 * (forward + backward - weights));
    own.kind = ST_SCHEDULE_ZERO_BUBBLE_2;
    own.tied = 0.375;
    st_pipeline_times second = st_pipeline_replay(&own);
    assert_true(second.passes > work && second.passes < first.passes);
    assert_true(second.with_tied > second.with_transfers);
}

/* All forward, then all backward: each way the sum of the stages, and the slowest for the rest. */
static void uneven_stages_wait_for_the_slowest(void **state)
{
    (void)state;
    static const double shares[ST_ENDS] = {0.9, 1.25, 0.7};
    const double each = forward + backward + weights;
    st_pipeline own = even(ST_SCHEDULE_GPIPE, 5, 7);
    for (int pass = 0; pass < ST_PASSES; pass++)
        for (int end = 0; end < ST_ENDS; end++)
            own.pass[pass][end] *= shares[end];
    assert_near(st_pipeline_replay(&own).passes, each * (0.9 + 3 * 1.25 + 0.7 + 6 * 1.25));
    own.shorter = 2;
    own.shorter_share = 0.5;
    assert_near(st_pipeline_replay(&own).passes, each * (0.9 + 2 * 1.25 + 0.7 + 6 * 1.25));
    own.shorter = 3;
    assert_near(st_pipeline_replay(&own).passes, each * (0.9 + 1.5 * 1.25 + 0.7 + 6 * 0.9));
}

static void one_stage_sends_nothing(void **state)
{
    (void)state;
    st_pipeline own = even(ST_SCHEDULE_1F1B, 1, 7);
    own.transfer = 0.125;
    own.tied = 0.375;
    assert_near(st_pipeline_replay(&own).with_tied, 7 * (forward + backward + weights));
}

static void odd_shapes_have_no_times(void **state)
{
    (void)state;
    const st_pipeline odd[] = {
        even(ST_SCHEDULE_1F1B, 2.5, 7),    even(ST_SCHEDULE_1F1B, 4, 0),
        even(ST_SCHEDULE_1F1B, 2, 699051), /* 3 * 2 * 699051 = 2^22 + 2 */
        even(ST_SCHEDULES, 4, 7),          even(ST_SCHEDULE_DUALPIPE, 4, 7),
    };
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
        assert_true(isnan(st_pipeline_replay(&odd[i]).passes));
    st_pipeline own = even(ST_SCHEDULE_1F1B, 4, 7);
    own.kind = -1;
    assert_true(isnan(st_pipeline_replay(&own).passes));
    own = even(ST_SCHEDULE_1F1B, 4, 7);
    own.transfer = -0.125;
    assert_true(isnan(st_pipeline_replay(&own).passes));
    own = even(ST_SCHEDULE_1F1B, 4, 7);
    own.shorter = -1;
    assert_true(isnan(st_pipeline_replay(&own).passes));
    own = even(ST_SCHEDULE_1F1B, 2, 699050); /* as many passes as are gone through */
    assert_near(st_pipeline_replay(&own).passes, 699051 * (forward + backward + weights));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpipe_and_1f1b_take_as_long),
        cmocka_unit_test(gradients_of_weights_fill_bubbles),
        cmocka_unit_test(uneven_stages_wait_for_the_slowest),
        cmocka_unit_test(one_stage_sends_nothing),
        cmocka_unit_test(odd_shapes_have_no_times),
    };
    return cmocka_run_group_tests_name("pipeline_time", tests, NULL, NULL);
}
