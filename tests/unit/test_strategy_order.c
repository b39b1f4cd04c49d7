/* SPDX-License-Identifier: Apache-2.0 */
/* Orders of passes that a strategy names, and ranks that are named as slow. */
#include "base_support.h"
#include "../support/fixture.h"

#include "timeline/slow_ranks.h"
#include "timeline/strategy.h"

FIXTURE(st_timeline_plan plan;, );

/* ---- orders ---- */

/* "F0 B0 I1.1 W1.1": as the file has it, each pass in a line of its own. */
static void read_passes(fixture *self, const char *text, st_strategy_stage *stage)
{
    st_strategy_pass *passes = st_arena_alloc(self->arena, strlen(text) + 1, sizeof *passes);
    stage->order = text[0] == '\0' ? NULL : passes;
    stage->order_place = (st_place){"s.yaml", 1, 1};
    while (*text != '\0') {
        char *end = NULL;
        st_strategy_pass *pass = &passes[stage->pass_count++];
        pass->place = (st_place){"s.yaml", (int)stage->pass_count + 10, 1};
        pass->slot.pass =
            *text == 'F' ? ST_PASS_FORWARD : (*text == 'W' ? ST_PASS_WEIGHTS : ST_PASS_BACKWARD);
        pass->slot.with_weights = *text == 'B';
        pass->slot.micro = (uint32_t)strtoul(text + 1, &end, 10);
        if (*end == '.')
            pass->slot.chunk = (uint16_t)strtoul(end + 1, &end, 10);
        text = *end == ' ' ? end + 1 : end;
    }
}

static st_status order(fixture *self, uint32_t chunks, uint32_t micros, const char *first,
                       const char *second)
{
    st_strategy_stage *stages = st_arena_alloc(self->arena, 2, sizeof *stages);
    read_passes(self, first, &stages[0]);
    read_passes(self, second, &stages[1]);
    st_strategy *strategy = st_arena_alloc(self->arena, 1, sizeof *strategy);
    *strategy = (st_strategy){.name = "mine", .stages = stages, .count = 2};
    self->plan = (st_timeline_plan){
        .closed_same_schedule = true,
        .schedule.shape = {.kind = chunks > 1 ? ST_SCHEDULE_INTERLEAVED : ST_SCHEDULE_1F1B,
                           .stages = 2,
                           .micros = micros,
                           .chunks = chunks}};
    return st_strategy_order(strategy, self->arena, &self->plan, self->errors);
}

TEST_WITH(orders_that_can_run_are_taken, set_up, tear_down)
{
    static const struct {
        uint32_t chunks;
        uint32_t micros;
        const char *first;
        const char *second;
        size_t counts[2];
    } cases[] = {
        {1, 2, "F0 F1 B0 B1", "F0 B0 F1 B1", {4, 4}},
        {1, 2, "F1 F0 B1 B0", "F1 F0 B1 B0", {4, 4}},
        {1, 2, "F0 F1 I0 W0 B1", "F0 B0 F1 I1 W1", {5, 5}},
        {1, 2, "F0 F1 I0 I1 W1 W0", "F0 I0 F1 I1 W0 W1", {6, 6}},
        {2, 1, "F0.0 F0.1 B0.1 B0.0", "F0.0 F0.1 B0.1 B0.0", {4, 4}},
    };
    fixture *self = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (order(self, cases[i].chunks, cases[i].micros, cases[i].first, cases[i].second) != ST_OK)
            fail_msg("case %zu: %s", i, said(self->errors));
        const st_schedule_order *made = self->plan.order;
        assert_non_null(made);
        assert_int_equal(made->stages, 2);
        assert_int_equal(made->counts[0], cases[i].counts[0]);
        assert_int_equal(made->counts[1], cases[i].counts[1]);
        assert_string_equal(self->plan.order_name, "mine");
        assert_false(self->plan.closed_same_schedule);
    }
    assert_int_equal(self->plan.order->slots[1][2].chunk, 1);
    assert_true(self->plan.order->slots[1][2].with_weights);
}

TEST_OF(strategies_without_orders_leave_the_schedule, fixture *self, set_up, tear_down)
{
    assert_int_equal(order(self, 1, 2, "", ""), ST_OK);
    assert_null(self->plan.order);
    assert_true(self->plan.closed_same_schedule);
}

TEST_WITH(orders_that_cannot_run_are_refused_at_their_pass, set_up, tear_down)
{
    static const struct {
        uint32_t chunks;
        const char *first;
        const char *second;
        st_status status;
        const char *text;
    } cases[] = {
        {1, "F0 F1 B0", "F0 F1 B0 B1", ST_ERR_VALUE,
         "s.yaml:1:1: error: stage 0 has 3 passes: expected 4 or more, F and B of 2 micro-batches "
         "and 1 chunks"},
        {1, "F0 F1 B0 B1", "F0 F1 B0 I1", ST_ERR_VALUE,
         "s.yaml:1:1: error: stage 1 lacks W1, gradients of weights"},
        {1, "F0 F0 B0 B1", "F0 F1 B0 B1", ST_ERR_VALUE,
         "s.yaml:12:1: error: stage 0 runs forward pass twice: found F0 after F0"},
        {1, "F0 B0 W0 F1 B1", "F0 F1 B0 B1", ST_ERR_VALUE,
         "s.yaml:13:1: error: stage 0 runs gradients of weights twice: found W0 after B0"},
        {1, "F0 I0 B0 F1 B1", "F0 F1 B0 B1", ST_ERR_VALUE,
         "stage 0 runs gradients of activations twice: found B0 after I0"},
        {1, "F0 F1 W0 I0 B1", "F0 F1 B0 B1", ST_ERR_VALUE,
         "s.yaml:13:1: error: stage 0 runs W0 before the gradients of activations"},
        {1, "F0 F2 B0 B1", "F0 F1 B0 B1", ST_ERR_VALUE,
         "s.yaml:12:1: error: unknown micro-batch 2 of chunk 0: expected 2 micro-batches and 1 "
         "chunks"},
        {1, "F0 F1.1 B0 B1", "F0 F1 B0 B1", ST_ERR_VALUE, "unknown micro-batch 1 of chunk 1"},
        {2, "F0.0 F1.0 F0.1 F1.1 B0.1 B1.1 B0.0 F1.0", "F0.0", ST_ERR_VALUE,
         "stage 1 has 1 passes: expected 8 or more"},
        {2, "F0.0 F1.0 F0.1 F1.1 B0.1 B1.1 B0.0 I1.0", "F0.0 F1.0 F0.1 F1.1 B0.1 B1.1 B0.0 B1.0",
         ST_ERR_VALUE, "stage 0 lacks W1.0, "},
        {1, "F0 B0 F1 B1", "F1 F0 B0 B1", ST_ERR_CYCLE,
         "s.yaml:12:1: error: the orders of 'mine' deadlock: stage 0 waits at B0, which needs B0 "
         "of stage 1; stage 1 waits at F1, which needs F1 of stage 0\n"},
        {1, "F0 F1 B0 B1", "B0 F0 F1 B1", ST_ERR_CYCLE,
         "s.yaml:11:1: error: the orders of 'mine' deadlock: stage 1 waits at B0, which needs F0 "
         "of stage 1\n"},
        {1, "F0 F1 I1 W1 I0 W0", "F0 I0 F1 W0 B1", ST_OK, ""},
        {1, "F0 I0 W0 F1 B1", "F0 F1 B0 B1", ST_ERR_CYCLE,
         "stage 0 waits at I0, which needs B0 of stage 1; stage 1 waits at F1"},
    };
    fixture *self = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_status status = order(self, cases[i].chunks, 2, cases[i].first, cases[i].second);
        const char *told = said(self->errors);
        if (status != cases[i].status)
            fail_msg("case %zu: status %d, %s", i, status, told);
        assert_contains(told, cases[i].text);
    }
}

/* ---- slow ranks ---- */

/* Two (tp) by six (dp) of four stages, a third of the dp ranks in each pipeline; nodes of five. */
static const st_schedule_groups groups = {
    .tp = 2, .tp_stride = 1, .cp = 1, .dp = 6, .dp_stride = 2, .pp_stride = 12};
static const st_slow_places places = {
    .groups = &groups, .stages = 4, .pipelines = 3, .gpus_per_node = 5, .busiest = 2, .slow = 1};

static void assert_rank(const st_slow_ranks *slow, size_t at, size_t group, uint64_t rank,
                        double factor)
{
    assert_true(at < slow->count);
    assert_int_equal(slow->ranks[at].rank, rank);
    assert_int_equal(slow->ranks[at].group, group);
    assert_true(fabs(slow->ranks[at].factor - factor) < 1e-12);
}

/* Rank 17 is the third of dp, in the second pipeline, on stage 1; 45 to 47 are the last node. */
TEST_WITH(slow_ranks_are_found_where_they_are, set_up, tear_down)
{
    static const char *const texts[] = {"node:9=1.5", "rank:17=1.25", "rank:0=1000", "rank:47=2",
                                        "rank:17=1.5"};
    fixture *self = *state;
    st_slow_ranks slow;
    assert_int_equal(
        st_slow_ranks_read(&places, texts, COUNT(texts), self->arena, &slow, self->errors), ST_OK);
    assert_int_equal(slow.count, 5);
    assert_rank(&slow, 0, 0, 0, 1000);
    assert_rank(&slow, 1, 5, 17, 1.875);
    assert_rank(&slow, 2, 11, 45, 1.5);
    assert_rank(&slow, 3, 11, 46, 1.5);
    assert_rank(&slow, 4, 11, 47, 3);
}

TEST_WITH(slow_links_take_the_product, set_up, tear_down)
{
    static const char *const texts[] = {"links:dp=1.5", "links:tp=2.385", "links:dp=2"};
    fixture *self = *state;
    st_slow_ranks slow;
    assert_int_equal(
        st_slow_ranks_read(&places, texts, COUNT(texts), self->arena, &slow, self->errors), ST_OK);
    assert_int_equal(slow.count, 0);
    assert_true(st_slow_link(&slow, "dp") == 3);
    assert_true(st_slow_link(&slow, "tp") == 2.385);
    assert_true(st_slow_link(&slow, "pp") == 1);
    assert_true(st_slow_link(&slow, "optimizer") == 1);
}

/* A stage that is busier has a slow rank where nobody names one. */
TEST_WITH(the_busiest_stage_is_slow, set_up, tear_down)
{
    static const char *const link[] = {"links:dp=1.5"};
    fixture *self = *state;
    st_slow_ranks slow;
    st_slow_places own = places;
    assert_int_equal(st_slow_ranks_read(&own, NULL, 0, self->arena, &slow, self->errors), ST_OK);
    assert_int_equal(slow.count, 0);
    own.slow = 1.385;
    assert_int_equal(st_slow_ranks_read(&own, NULL, 0, self->arena, &slow, self->errors), ST_OK);
    assert_int_equal(slow.count, 1);
    assert_rank(&slow, 0, 2, 24, 1.385);
    assert_int_equal(st_slow_ranks_read(&own, link, 1, self->arena, &slow, self->errors), ST_OK);
    assert_int_equal(slow.count, 0);
}

/* Stages of their own devices: of four ranks two in each pipeline, of two one. */
TEST_WITH(slow_ranks_are_found_on_stages_of_their_own, set_up, tear_down)
{
    static const uint32_t ranks[2][4] = {{3, 4, 5, 6}, {8, 9}};
    static const st_own_stage stages[] = {{.tp = 2, .cp = 1, .dp = 2, .ranks = ranks[0]},
                                          {.tp = 1, .cp = 1, .dp = 2, .ranks = ranks[1]}};
    static const char *const texts[] = {"node:1=1.5", "rank:3=2.5"};
    static const char *const none[] = {"rank:7=2"};
    static const char *const beyond[] = {"rank:10=2"};
    fixture *self = *state;
    st_slow_ranks slow;
    st_slow_places own = {.groups = &groups,
                          .own_stages = stages,
                          .stages = 2,
                          .pipelines = 2,
                          .gpus_per_node = 5,
                          .busiest = 1,
                          .slow = 1.385};
    assert_int_equal(st_slow_ranks_read(&own, texts, 2, self->arena, &slow, self->errors), ST_OK);
    assert_int_equal(slow.count, 5); /* 7 is on no stage */
    assert_rank(&slow, 0, 0, 3, 2.5);
    assert_rank(&slow, 1, 1, 8, 1.5);
    assert_rank(&slow, 2, 2, 5, 1.5);
    assert_rank(&slow, 3, 2, 6, 1.5);
    assert_rank(&slow, 4, 3, 9, 1.5);
    assert_int_equal(st_slow_ranks_read(&own, none, 1, self->arena, &slow, self->errors),
                     ST_ERR_USAGE);
    assert_contains(said(self->errors), "no stage of the strategy contains rank 7, in 'rank:7=2'");
    assert_int_equal(st_slow_ranks_read(&own, beyond, 1, self->arena, &slow, self->errors),
                     ST_ERR_USAGE);
    assert_contains(said(self->errors), "expected from 0 to 9");
    assert_int_equal(st_slow_ranks_read(&own, NULL, 0, self->arena, &slow, self->errors), ST_OK);
    assert_rank(&slow, 0, 1, 8, 1.385);
}

TEST_WITH(what_cannot_be_slow_is_refused, set_up, tear_down)
{
    static const struct {
        const char *text;
        const char *said;
    } cases[] = {
        {"rank:48=2", "unknown rank '48' in 'rank:48=2': expected from 0 to 47"},
        {"rank:480=2", "unknown rank '480' in"},
        {"node:10=2", "unknown node '10' in 'node:10=2': expected from 0 to 9"},
        {"rank:1x=2", "unknown rank '1x' in"},
        {"rank:3=0.99", "the factor of 'rank:3=0.99' is 0.99: expected from 1 to 1000"},
        {"rank:3=1000.5", "the factor of 'rank:3=1000.5' is 1000.5"},
        {"links:xp=2", "unknown links 'xp' in 'links:xp=2': expected tp, cp, ep, pp or dp"},
        {"rank:3", "found 'rank:3': expected rank:N=FACTOR"},
        {"rank=3", "found 'rank=3': expected"},
        {"rank:=3", "found 'rank:=3': expected"},
        {"rank:3=", "found 'rank:3=': expected"},
        {"rank:3=2x", "found 'rank:3=2x': expected"},
        {"chip:3=2", "found 'chip:3=2': expected"},
        {"rankrank:3=2", "found 'rankrank:3=2': expected"},
        {"rank:000000000000000000000003=2", "found 'rank:000000000000000000000003=2': expected"},
    };
    static const char *const longest[] = {"rank:00000000000000000000003=1"};
    fixture *self = *state;
    st_slow_ranks slow;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(
            st_slow_ranks_read(&places, &cases[i].text, 1, self->arena, &slow, self->errors),
            ST_ERR_USAGE);
        assert_contains(said(self->errors), cases[i].said);
    }
    assert_int_equal(st_slow_ranks_read(&places, longest, 1, self->arena, &slow, self->errors),
                     ST_OK);
    assert_rank(&slow, 0, 0, 3, 1);
}

TESTS(strategy_order);
