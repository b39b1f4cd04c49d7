/* SPDX-License-Identifier: Apache-2.0 */
/* What a search knows of its plans: of each, or, where they are too many, of those that were
 * computed; and how several processes tell each other. */
#include "report_support.h"

#include "search/guided/run.h"
#include "search/guided/states.h"

#include <math.h>

TEST_OF(rows_are_known_one_by_one, fixture *own, set_up, tear_down)
{
    st_plan_states states;
    assert_true(st_plan_states_make(&states, 7, true, own->arena));
    for (uint64_t row = 0; row < 7; row++) {
        assert_false(st_plan_states_is_computed(&states, row));
        assert_true(states.low[row] == -HUGE_VAL && states.high[row] == HUGE_VAL);
        assert_int_equal(st_plan_states_outcome(&states, row), ST_OUTCOME_OPEN);
    }
    states.marks[3] = ST_OUTCOME_PASSES;
    assert_true(st_plan_states_note(&states, 3, true, 2.385));
    assert_true(st_plan_states_note(&states, 5, false, 2.385));
    assert_true(st_plan_states_is_computed(&states, 3));
    assert_true(st_plan_states_is_computed(&states, 5));
    assert_false(st_plan_states_is_computed(&states, 4));
    assert_int_equal(states.marks[3], ST_OUTCOME_PASSES | ST_STATE_COMPUTED | ST_STATE_PASSED);
    assert_int_equal(states.marks[5], ST_STATE_COMPUTED | ST_STATE_FAILED);
    assert_true(states.low[3] == 2.385 && states.high[3] == 2.385);
    assert_true(states.low[5] == HUGE_VAL && states.high[5] == HUGE_VAL);
}

/* Every 71st of more rows than anybody holds, row 0 too; the table is made larger on the way. */
TEST_WITH(of_too_many_rows_those_are_known_that_were_computed, set_up, tear_down)
{
    enum { NOTED = 3000 };
    fixture *own = *state;
    st_plan_states states;
    assert_true(st_plan_states_make(&states, (uint64_t)1 << 50, false, own->arena));
    assert_null(states.low);
    assert_false(st_plan_states_is_computed(&states, 0));
    for (uint64_t i = 0; i < NOTED; i++) {
        assert_true(st_plan_states_note(&states, 71 * i, i % 2 == 0, 0.5));
        assert_int_equal(states.count, i + 1);
        assert_true(2 * states.count <= states.capacity);
    }
    assert_true(st_plan_states_note(&states, 71, true, 0.5)); /* once more is no other row */
    assert_int_equal(states.count, NOTED);
    assert_int_equal(states.capacity, 8192);
    for (uint64_t row = 0; row < 71 * NOTED; row++)
        assert_int_equal(st_plan_states_is_computed(&states, row), row % 71 == 0);
}

/* ---- processes ---- */

/* What the other process says, and what this one has said. */
typedef struct other_side {
    const void *says;
    unsigned char *heard;
    size_t bytes;
    int rank; /* of this process */
    int result;
} other_side;

static int gather(void *context, const void *own, size_t bytes, void *all)
{
    other_side *self = context;
    unsigned char *both = all;
    if (self->result != 0)
        return self->result;
    self->bytes = bytes;
    memcpy(both + (size_t)self->rank * bytes, own, bytes);
    if (self->says != NULL)
        memcpy(both + (size_t)(1 - self->rank) * bytes, self->says, bytes);
    else
        memcpy(both + (size_t)(1 - self->rank) * bytes, own, bytes);
    return 0;
}

static st_guided_run *make_run(fixture *own, const st_processes *processes, uint64_t rows)
{
    static const st_search_watch watch = {.progress = NULL};
    st_guided_run *run = st_arena_alloc(own->arena, 1, sizeof *run);
    st_search_result *result = st_arena_alloc(own->arena, 1, sizeof *result);
    assert_non_null(run);
    assert_non_null(result);
    run->arena = own->arena;
    run->processes = processes;
    run->watch = &watch;
    run->result = result;
    assert_true(st_plan_states_make(&run->states, rows, true, own->arena));
    assert_true(st_results_make(&result->found, 3, false, 2, own->arena));
    return run;
}

/* What the other side says of a batch: whether it is interrupted, and all trials. */
typedef struct batch_said {
    uint64_t interrupted;
    st_trial trials[ST_GUIDED_BATCH];
} batch_said;

/* Chunks of three trials: the first and the third are of process 0, the second of process 1. */
TEST_OF(trials_come_from_who_computed_them, fixture *own, set_up, tear_down)
{
    static batch_said said_by;
    other_side side = {.says = &said_by, .rank = 0};
    const st_processes processes = {.rank = 0, .count = 2, .gather = gather, .context = &side};
    st_guided_run *run = make_run(own, &processes, 16);
    run->trial_count = 8;
    for (size_t i = 0; i < 8; i++) {
        run->trials[i] = (st_trial){.row = i, .goal = 0.385};
        said_by.trials[i] = (st_trial){.row = i, .goal = 2.385};
    }
    assert_int_equal(st_guided_share_batch(run, 3), ST_OK);
    for (size_t i = 0; i < 8; i++)
        assert_true(run->trials[i].goal == (i / 3 == 1 ? 2.385 : 0.385));
    assert_false(run->interrupted);
    said_by.interrupted = 1;
    assert_int_equal(st_guided_share_batch(run, 3), ST_OK);
    assert_true(run->interrupted);
    side.result = 7;
    assert_int_equal(st_guided_share_batch(run, 3), ST_ERR_IO);
}

TEST_WITH(one_process_tells_nobody, set_up, tear_down)
{
    other_side side = {.result = 7};
    const st_processes processes = {.rank = 0, .count = 1, .gather = gather, .context = &side};
    st_guided_run *run = make_run(*state, &processes, 16);
    run->result->guided.ruled_out = 5;
    assert_int_equal(st_guided_share_batch(run, 3), ST_OK);
    assert_int_equal(st_guided_share_states(run), ST_OK);
    assert_int_equal(st_guided_share_scan(run), ST_OK);
    assert_int_equal(run->result->guided.ruled_out, 5);
}

/* Blocks of 1024 rows in turn: process 1 has scanned the second, and the fourth, which is short. */
TEST_WITH(states_come_from_who_scanned_them, set_up, tear_down)
{
    enum { ROWS = 3 * 1024 + 385, ROW_BYTES = 17 };
    fixture *own = *state;
    unsigned char *says = calloc(32 * 1024, ROW_BYTES);
    other_side side = {.says = says, .rank = 0};
    const st_processes processes = {.rank = 0, .count = 2, .gather = gather, .context = &side};
    st_guided_run *run = make_run(own, &processes, ROWS);
    assert_non_null(says);
    for (size_t i = 0; i < 2 * 1024; i++) { /* rows 1024 to 2047 and 3072 to 4095 */
        const double low = 1 + (double)i;
        const double high = 3e6 + (double)i;
        memcpy(says + i * ROW_BYTES, &low, sizeof low);
        memcpy(says + i * ROW_BYTES + sizeof low, &high, sizeof high);
        says[i * ROW_BYTES + 16] = ST_STATE_SKIPPED;
    }
    for (size_t row = 0; row < ROWS; row++) {
        run->states.low[row] = 0.125;
        run->states.high[row] = 0.25;
        run->states.marks[row] = ST_OUTCOME_FAILS;
    }
    assert_int_equal(st_guided_share_states(run), ST_OK);
    assert_int_equal(side.bytes, 32 * 1024 * ROW_BYTES);
    for (size_t row = 0; row < ROWS; row++) {
        bool other = row / 1024 % 2 == 1;
        double place = (double)(row / 2048 * 1024 + row % 1024);
        assert_true(run->states.low[row] == (other ? 1 + place : 0.125));
        assert_true(run->states.high[row] == (other ? 3e6 + place : 0.25));
        assert_int_equal(run->states.marks[row], other ? ST_STATE_SKIPPED : ST_OUTCOME_FAILS);
    }
    side.result = 7;
    assert_int_equal(st_guided_share_states(run), ST_ERR_IO);
    free(says);
}

/* What both have found is there once each, and counts add up. */
TEST_OF(scans_add_up, fixture *own, set_up, tear_down)
{
    other_side side = {.rank = 0}; /* which says the same */
    const st_processes processes = {.rank = 0, .count = 2, .gather = gather, .context = &side};
    st_guided_run *run = make_run(own, &processes, 16);
    run->result->found.done = 71;
    run->result->found.kept = 29;
    run->result->found.reasons[1] = 13;
    run->result->guided.ruled_out = 5;
    st_rank_add(&run->result->found, &(st_found){.row = 4, .goal = 2.385});
    assert_int_equal(st_guided_share_scan(run), ST_OK);
    assert_int_equal(run->result->found.done, 142);
    assert_int_equal(run->result->found.kept, 58);
    assert_int_equal(run->result->found.reasons[1], 26);
    assert_int_equal(run->result->guided.ruled_out, 10);
    assert_int_equal(run->result->found.ranking[0].row, 4);
    assert_false(run->interrupted);
    run->interrupted = true;
    assert_int_equal(st_guided_share_scan(run), ST_OK);
    assert_true(run->interrupted);
    side.result = 7;
    assert_int_equal(st_guided_share_scan(run), ST_ERR_IO);
}

TESTS(plan_states);
