/* SPDX-License-Identifier: Apache-2.0 */
/* Passes in pieces: weights gathered ahead, gradients reduced behind, and what is refused. */
#include "base_support.h"
#include "schedule/schedule.h"
#include "schedule_support.h"

enum { PIECES = 3 };

typedef struct step {
    st_schedule_plan plan;
    st_schedule_pieces of_chunk[2];
    st_schedule_piece forward[PIECES];
    st_schedule_piece backward[PIECES];
    st_chunk_times times[2];
} step;

/* A stage with one micro-batch: 600 forward and 1200 backward, in three pieces. */
static void fill_step(step *self, int64_t gather, int64_t reduce, uint32_t prefetch)
{
    *self = (step){.plan = {.shape = {.kind = ST_SCHEDULE_1F1B,
                                      .stages = 1,
                                      .micros = 1,
                                      .chunks = 1,
                                      .times = self->times},
                            .pieces = self->of_chunk,
                            .prefetch = prefetch}};
    static const double until[PIECES] = {0.25, 0.5, 1};
    for (int i = 0; i < PIECES; i++) {
        self->forward[i] = (st_schedule_piece){.until = until[i], .gather_hidden = gather};
        self->backward[i] = (st_schedule_piece){
            .until = until[i], .gather_hidden = gather, .reduce_hidden = reduce};
    }
    self->times[0].part[ST_PASS_FORWARD][ST_PART_WORK] = 600;
    self->times[0].part[ST_PASS_BACKWARD][ST_PART_WORK] = 800;
    self->times[0].part[ST_PASS_WEIGHTS][ST_PART_WORK] = 400;
    for (int i = 0; i < 2; i++) {
        self->of_chunk[i] = (st_schedule_pieces){self->forward, PIECES, self->backward, PIECES};
        self->times[i] = self->times[0];
    }
}

/* Passes: 150 150 300, 300 300 600. Gathering takes 200, reducing 70. */
TEST_WITH(weights_are_gathered_ahead, make_errors, drop_errors)
{
    step self;
    /* Gathering stops the passes. Reductions have a stream of their own: the last one ends the
     * step. */
    fill_step(&self, 200, 70, 0);
    assert_int_equal(replay_plan(&self.plan, *state).step, 6 * 200 + 1800 + 70);
    /*
     * One ahead. Gathered until 200, 400, 600, 800, 1100 (from 900, as the third piece ends) and
     * 1400 (from 1200, as the first piece backward ends); pieces end at 350, 550, 900, 1200, 1500
     * and 2100.
     */
    fill_step(&self, 200, 70, 1);
    assert_int_equal(replay_plan(&self.plan, *state).step, 2100 + 70);
    /* All ahead: the third piece still waits for its weights until 600. */
    fill_step(&self, 200, 70, 5);
    assert_int_equal(replay_plan(&self.plan, *state).step, 2100 + 70);
    /* Gathering is what takes long: the second piece backward waits until 1550. */
    fill_step(&self, 310, 70, 5);
    assert_int_equal(replay_plan(&self.plan, *state).step, 6 * 310 + 600 + 70);
}

TEST_WITH(exposed_times_stop_the_passes, make_errors, drop_errors)
{
    step self;
    fill_step(&self, 0, 0, 1);
    for (int i = 0; i < PIECES; i++) {
        self.forward[i].gather_exposed = 11;
        self.backward[i].reduce_exposed = 23;
    }
    planned result = replay_plan(&self.plan, *state);
    assert_int_equal(result.step, 1800 + 3 * 11 + 3 * 23);
    assert_int_equal(result.tasks, 6 + 3 + 3);
}

/* Gradients are there when the weights' pass has computed them; it gathers nothing. */
TEST_WITH(reductions_wait_for_the_pass_of_the_weights, make_errors, drop_errors)
{
    step self;
    fill_step(&self, 0, 900, 1);
    self.plan.shape.kind = ST_SCHEDULE_ZERO_BUBBLE;
    /* 600 forward, 800 backward, 400 weights in pieces that end at 1500, 1600 and 1800. */
    assert_int_equal(replay_plan(&self.plan, *state).step, 1500 + 3 * 900);
}

/* With every rank the messages of a stage are instances, in the same order on each. */
TEST_WITH(every_rank_takes_as_long, make_errors, drop_errors)
{
    step self;
    fill_step(&self, 210, 85, 1);
    self.plan.shape.stages = 2;
    self.plan.shape.micros = 3;
    self.plan.groups =
        (st_schedule_groups){.tp = 1, .cp = 1, .dp = 3, .dp_stride = 1, .ep = 1, .pp_stride = 3};
    planned folded = replay_plan(&self.plan, *state);
    self.plan.every_rank = true;
    planned all = replay_plan(&self.plan, *state);
    assert_int_equal(all.status, ST_OK);
    assert_int_equal(all.step, folded.step);
    assert_int_equal(all.ranks, 6);
}

/* A share that a double cannot hold loses no time. */
TEST_WITH(pieces_add_up_to_the_pass, make_errors, drop_errors)
{
    step self;
    fill_step(&self, 0, 0, 1);
    self.forward[0].until = 1.0 / 3;
    self.forward[1].until = 2.0 / 3;
    self.times[0].part[ST_PASS_FORWARD][ST_PART_WORK] = 100000000000007;
    assert_int_equal(replay_plan(&self.plan, *state).step, 100000000000007 + 1200);
}

static void assert_refused(step *self, st_errors *errors, const char *message)
{
    assert_int_equal(replay_plan(&self->plan, errors).status, ST_ERR_VALUE);
    assert_string_equal(said(errors), message);
}

TEST_WITH(impossible_pieces_are_refused, make_errors, drop_errors)
{
    step self;
    fill_step(&self, 20, 30, 1025);
    assert_refused(
        &self, *state,
        "error: weights are prefetched too far ahead: found 1025 pieces, expected at most "
        "1024\n");
#define EXPECTED                                                                                   \
    ": expected at most 100000 increasing shares that end with 1, and times of at least 0\n"
    fill_step(&self, 20, 30, 1);
    self.forward[1].until = 0.2385;
    assert_refused(&self, *state, "error: the pieces of chunk 0 are not increasing" EXPECTED);
    fill_step(&self, 20, 30, 1);
    self.backward[2].until = 1.25;
    assert_refused(&self, *state, "error: the pieces of chunk 0 are not increasing" EXPECTED);
    fill_step(&self, 20, 30, 1);
    self.backward[2].until = 0.75;
    assert_refused(&self, *state, "error: the pieces of chunk 0 end before the pass" EXPECTED);
    fill_step(&self, 20, 30, 1);
    self.forward[0].until = (double)NAN;
    assert_refused(&self, *state, "error: the pieces of chunk 0 are not increasing" EXPECTED);
    fill_step(&self, 20, 30, 1);
    self.backward[1].reduce_exposed = -3;
    assert_refused(&self, *state, "error: the pieces of chunk 0 have negative times" EXPECTED);
}

TESTS(schedule_pieces);
