/* SPDX-License-Identifier: Apache-2.0 */
/* Pipeline schedules: orders, their graphs, published bubbles, shapes that are refused. */
#include "base_support.h"
#include "schedule/schedule_internal.h"
#include "schedule_support.h"

#include "base/csv.h"

/* "F1 F2 B1 ..." of a stage; a pass of one part ends in its letter alone, "b" is without weights.
 */
static const char *order_text(const st_schedule_shape *shape, uint32_t stage)
{
    static char text[1024];
    st_arena *arena = st_arena_create();
    st_schedule_order order;
    size_t length = 0;
    assert_int_equal(st_schedule_order_make(shape, arena, &order, NULL), ST_OK);
    text[0] = '\0';
    for (size_t i = 0; i < order.counts[stage]; i++) {
        const st_slot *slot = &order.slots[stage][i];
        char letter = "FbW"[slot->pass];
        letter = slot->with_weights ? 'B' : letter;
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%c%u", i == 0 ? "" : " ",
                                   letter, slot->micro + 1);
        if (shape->chunks > 1 || shape->kind == ST_SCHEDULE_DUALPIPE) {
            length +=
                (size_t)snprintf(text + length, sizeof text - length, "%c", 'a' + slot->chunk);
        }
    }
    st_arena_destroy(arena);
    return text;
}

TEST_WITH(orders_are_those_of_the_papers, make_errors, drop_errors)
{
    st_schedule_shape shape = {.kind = ST_SCHEDULE_GPIPE, .stages = 4, .micros = 3, .chunks = 1};
    assert_string_equal(order_text(&shape, 1), "F1 F2 F3 B1 B2 B3");
    shape = (st_schedule_shape){
        .kind = ST_SCHEDULE_1F1B, .stages = 4, .micros = 8, .chunks = 1}; /* li2024 figure 9 */
    assert_string_equal(order_text(&shape, 0), "F1 F2 F3 F4 B1 F5 B2 F6 B3 F7 B4 F8 B5 B6 B7 B8");
    assert_string_equal(order_text(&shape, 3), "F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7 F8 B8");
    shape.micros = 2;
    assert_string_equal(order_text(&shape, 0), "F1 F2 B1 B2");
    shape =
        (st_schedule_shape){.kind = ST_SCHEDULE_INTERLEAVED, .stages = 2, .micros = 4, .chunks = 2};
    assert_string_equal(order_text(&shape, 0), "F1a F2a F1b F2b F3a B1b F4a B2b F3b B1a F4b B2a "
                                               "B3b B4b B3a B4a");
    shape =
        (st_schedule_shape){.kind = ST_SCHEDULE_ZERO_BUBBLE, .stages = 3, .micros = 4, .chunks = 1};
    assert_string_equal(order_text(&shape, 0), "F1 F2 F3 b1 W1 F4 b2 W2 b3 W3 b4 W4");
    assert_string_equal(order_text(&shape, 2), "F1 b1 F2 b2 F3 b3 W1 F4 b4 W2 W3 W4");
    shape =
        (st_schedule_shape){.kind = ST_SCHEDULE_DUALPIPE, .stages = 2, .micros = 4, .chunks = 1};
    assert_string_equal(order_text(&shape, 0), "F1a F3b F2a B3b F4b B1a B4b b2a W2a");
}

TEST_WITH(the_last_group_of_interleaving_may_have_empty_places, make_errors, drop_errors)
{
    st_schedule_shape shape = {
        .kind = ST_SCHEDULE_INTERLEAVED, .stages = 2, .micros = 3, .chunks = 2};
    assert_string_equal(order_text(&shape, 1), "F1a F2a F1b B1b F2b B2b F3a B1a B2a F3b B3b B3a");
}

/* --- times -------------------------------------------------------------------------------------
 */

/* Qi et al. 2024, table 6 (appendix D): profiled times of the passes and of a transfer in ms; the
 * share of the activations that stays for the weights' gradients is 32 of 34 +
 * 5*heads*sequence/hidden bytes (table 1). */
static const struct profile {
    const char *model;
    uint32_t stages;
    uint32_t micros;
    uint32_t chunks; /* one layer each */
    double forward, backward, weights, transfer;
    double held;
} profiles[] = {
    {"1.5B", 8, 24, 3, 18.522, 18.086, 9.337, 0.601, 0.3665},
    {"1.5B", 8, 32, 3, 18.513, 18.086, 9.331, 0.626, 0.3665},
    {"1.5B", 8, 64, 3, 18.546, 18.097, 9.321, 0.762, 0.3665},
    {"6.2B", 8, 24, 4, 29.718, 29.444, 19.927, 0.527, 0.4324},
    {"6.2B", 8, 32, 4, 29.802, 29.428, 19.530, 0.577, 0.4324},
    {"6.2B", 8, 64, 4, 29.935, 29.621, 19.388, 0.535, 0.4324},
    {"14.6B", 16, 48, 3, 11.347, 11.248, 8.132, 0.377, 0.4324},
    {"14.6B", 16, 64, 3, 11.307, 11.254, 8.101, 0.379, 0.4324},
    {"14.6B", 16, 128, 3, 11.325, 11.308, 8.109, 0.378, 0.4324},
    {"28.3B", 32, 96, 2, 10.419, 10.207, 7.715, 0.408, 0.4324},
    {"28.3B", 32, 128, 2, 10.408, 10.204, 7.703, 0.408, 0.4324},
    {"28.3B", 32, 256, 2, 10.402, 10.248, 7.698, 0.460, 0.4324},
};

/* Idle share of the stage that takes longest, transfers included: the paper's bubble rate. */
static double bubble_rate(const struct profile *profile, st_schedule_kind kind, uint32_t held)
{
    const double unit = 1e6; /* ns in a ms */
    uint32_t chunks = kind == ST_SCHEDULE_INTERLEAVED ? profile->chunks : 1;
    st_chunk_times times[128];
    fill_times(times, (size_t)profile->stages * chunks, (int64_t)(profile->forward / chunks * unit),
               (int64_t)(profile->backward / chunks * unit),
               (int64_t)(profile->weights / chunks * unit));
    st_schedule_plan plan = {.shape = {.kind = kind,
                                       .stages = profile->stages,
                                       .micros = profile->micros,
                                       .chunks = chunks,
                                       .times = times,
                                       .transfer = (int64_t)(profile->transfer * unit),
                                       .held = held,
                                       .held_for_weights = profile->held}};
    planned result = replay_plan(&plan, NULL);
    assert_int_equal(result.status, ST_OK);
    double work = profile->micros * (profile->forward + profile->backward + profile->weights);
    return 1 - work * unit / (double)result.span;
}

static const st_csv *published(st_arena *arena)
{
    const char *data = getenv("STEPTIME_DATA");
    char path[1024];
    static char text[65536];
    const st_csv *csv = NULL;
    (void)snprintf(path, sizeof path, "%s/step_times/aux_zero_bubble_rates.csv",
                   data == NULL ? "../shared/data" : data);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        print_message("[ SKIPPED  ] %s is not there (STEPTIME_DATA)\n", path);
        return NULL;
    }
    size_t length = fread(text, 1, sizeof text, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(st_csv_parse(path, text, length, arena, &csv, NULL), ST_OK);
    return csv;
}

TEST_WITH(published_bubble_rates_are_reproduced, make_errors, drop_errors)
{
    static const struct {
        const char *column;
        st_schedule_kind kind;
        uint32_t held; /* times the stages; 0: the default */
        double tolerance;
    } kinds[] = {
        {"1F1B", ST_SCHEDULE_1F1B, 0, 0.0001},
        {"ZB-H1", ST_SCHEDULE_ZERO_BUBBLE, 0, 0.0001},
        /* the paper counts as many transfers less as there are stages */
        {"1F1B-I", ST_SCHEDULE_INTERLEAVED, 0, 0.004},
        {"ZB-1p", ST_SCHEDULE_ZERO_BUBBLE_2, 1, 0.0001},
        {"ZB-2p", ST_SCHEDULE_ZERO_BUBBLE_2, 2, 0.00015},
    };
    st_arena *arena = st_arena_create();
    const st_csv *csv = published(arena);
    for (size_t i = 0; csv != NULL && i < COUNT(profiles); i++) {
        assert_string_equal(st_csv_field(csv, i, st_csv_column(csv, "model")), profiles[i].model);
        assert_int_equal(atoi(st_csv_field(csv, i, st_csv_column(csv, "microbatches"))),
                         profiles[i].micros);
        for (size_t k = 0; k < COUNT(kinds); k++) {
            double rate =
                bubble_rate(&profiles[i], kinds[k].kind, kinds[k].held * profiles[i].stages);
            double told = atof(st_csv_field(csv, i, st_csv_column(csv, kinds[k].column)));
            if (fabs(rate - told) > kinds[k].tolerance) {
                fail_msg("%s, %s, %u micro-batches: %.4f, published %.4f", profiles[i].model,
                         kinds[k].column, profiles[i].micros, rate, told);
            }
        }
    }
    st_arena_destroy(arena);
}

TEST_WITH(blocking_transfers_keep_the_sender_waiting, make_errors, drop_errors)
{
    st_chunk_times times[2];
    fill_times(times, 2, 100, 120, 80);
    st_schedule_plan plan = {.shape = {.kind = ST_SCHEDULE_1F1B,
                                       .stages = 2,
                                       .micros = 1,
                                       .chunks = 1,
                                       .times = times,
                                       .transfer = 7}};
    assert_int_equal(replay_plan(&plan, NULL).step, 2 * 300 + 2 * 7);
    plan.shape.micros = 5;
    assert_int_equal(replay_plan(&plan, NULL).step, 6 * 300 + 2 * 7 + 4 * 7);
    plan.transfers_block = true;
    assert_int_equal(replay_plan(&plan, NULL).step, 6 * (300 + 2 * 7));
}

TEST_WITH(ends_of_a_step_are_added, make_errors, drop_errors)
{
    st_chunk_times times[2];
    fill_times(times, 2, 100, 120, 80);
    times[1].part[ST_PASS_FORWARD][ST_PART_TP] = 31;
    times[1].part[ST_PASS_WEIGHTS][ST_PART_LAUNCH] = 3;
    st_schedule_plan plan = {
        .shape = {.kind = ST_SCHEDULE_1F1B, .stages = 2, .micros = 4, .chunks = 1, .times = times},
        .ends = {.gather_exposed = 11,
                 .gather_hidden = 90,
                 .reduce_hidden = 50,
                 .reduce_exposed = 13,
                 .tied = 17,
                 .slowdown = 5,
                 .optimizer = 19}};
    int64_t steady = 4 * (300 + 34) + 300;
    assert_int_equal(replay_plan(&plan, NULL).step, 11 + steady + 13 + 17 + 5 + 19);
    plan.ends.reduce_hidden = 230; /* the last backward pass takes 200 */
    assert_int_equal(replay_plan(&plan, NULL).step, 11 + steady + 30 + 13 + 17 + 5 + 19);
    plan.ends = (st_schedule_ends){.data_per_micro = 23};
    assert_int_equal(replay_plan(&plan, NULL).step, steady + 23 * 4);
}

TEST_WITH(every_rank_takes_as_long_as_one_of_each_stage, make_errors, drop_errors)
{
    st_chunk_times times[4];
    fill_times(times, 4, 2385, 2911, 1234);
    times[3].part[ST_PASS_FORWARD][ST_PART_TP] = 311;
    times[3].part[ST_PASS_BACKWARD][ST_PART_EP] = 77;
    times[0].part[ST_PASS_BACKWARD][ST_PART_CP] = 41;
    st_schedule_plan plan = {.shape = {.kind = ST_SCHEDULE_INTERLEAVED,
                                       .stages = 2,
                                       .micros = 4,
                                       .chunks = 2,
                                       .times = times,
                                       .transfer = 19},
                             .transfers_block = true,
                             .ends = {.reduce_exposed = 1000, .tied = 70, .gather_hidden = 100},
                             .groups = {.tp = 2,
                                        .tp_stride = 1,
                                        .cp = 2,
                                        .cp_stride = 2,
                                        .dp = 3,
                                        .dp_stride = 4,
                                        .pp_stride = 12,
                                        .ep = 3}};
    planned folded = replay_plan(&plan, NULL);
    plan.every_rank = true;
    planned all = replay_plan(&plan, NULL);
    assert_int_equal(all.status, ST_OK);
    assert_int_equal(folded.ranks, 2);
    assert_int_equal(all.ranks, 24);
    assert_int_equal(all.tasks, 12 * folded.tasks);
    assert_int_equal(all.step, folded.step);
    plan.layers = 5;
    assert_int_equal(replay_plan(&plan, NULL).step, folded.step);
    plan.groups.ep = 4; /* across tp, too */
    assert_int_equal(replay_plan(&plan, NULL).step, folded.step);
    plan.groups.ep = 12;
    assert_int_equal(replay_plan(&plan, NULL).step, folded.step);
    plan.groups.ep = 5;
    assert_int_equal(replay_plan(&plan, NULL).status, ST_ERR_VALUE);
}

/* --- refused -----------------------------------------------------------------------------------
 */

TEST_WITH(impossible_shapes_are_refused, make_errors, drop_errors)
{
    static const struct {
        st_schedule_shape shape;
        st_status status;
        const char *said;
    } wrong[] = {
        {{.kind = ST_SCHEDULE_1F1B, .stages = 4, .micros = 0, .chunks = 1},
         ST_ERR_VALUE,
         "error: schedule 1f1b has no micro-batch: found 0, expected at least 1\n"},
        {{.kind = ST_SCHEDULE_1F1B, .stages = 0, .micros = 3, .chunks = 1},
         ST_ERR_VALUE,
         "error: schedule 1f1b has no stage: found 0, expected at least 1\n"},
        {{.kind = ST_SCHEDULE_GPIPE, .stages = 4, .micros = 3, .chunks = 2},
         ST_ERR_VALUE,
         "error: schedule gpipe requires one chunk per stage: found 2, expected 1, or the "
         "interleaved "
         "schedule\n"},
        {{.kind = ST_SCHEDULE_DUALPIPE, .stages = 3, .micros = 8, .chunks = 1},
         ST_ERR_VALUE,
         "error: DualPipe needs an even number of stages: found 3, expected an even number\n"},
        {{.kind = ST_SCHEDULE_DUALPIPE, .stages = 4, .micros = 6, .chunks = 1},
         ST_ERR_VALUE,
         "error: DualPipe needs an even number of micro-batches, at least two per stage: found 6, "
         "expected an even number of at least 8\n"},
        {{.kind = ST_SCHEDULE_1F1B, .stages = 40000, .micros = 40000, .chunks = 1},
         ST_ERR_LIMIT,
         "error: 40000 stages with 1 chunks and 40000 micro-batches are too many: expected at most "
         "2^24 passes\n"},
        {{.kind = ST_SCHEDULES, .stages = 4, .micros = 3, .chunks = 1},
         ST_ERR_VALUE,
         "error: unknown schedule: expected a kind of st_schedule_kind\n"},
        {{.kind = ST_SCHEDULE_ZERO_BUBBLE_2, .stages = 4, .micros = 3, .chunks = 1},
         ST_ERR_VALUE,
         "error: schedule zero_bubble_2 has missing or invalid times: expected times of every "
         "stage, not negative and small enough for a step of 63 bits\n"},
    };
    st_arena *arena = st_arena_create();
    st_schedule_order order;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        assert_int_equal(st_schedule_order_make(&wrong[i].shape, arena, &order, *state),
                         wrong[i].status);
        assert_string_equal(said(*state), wrong[i].said);
    }
    st_arena_destroy(arena);
}

/* Each limit at its last value and one beyond. */
TEST_WITH(shapes_are_refused_from_the_first_that_is_too_large, make_errors, drop_errors)
{
    static const struct {
        st_schedule_shape shape;
        st_status status;
    } shapes[] = {
        {{.kind = ST_SCHEDULE_GPIPE, .stages = 1 << 12, .micros = 1365, .chunks = 1}, ST_OK},
        {{.kind = ST_SCHEDULE_GPIPE, .stages = 1 << 12, .micros = 1366, .chunks = 1}, ST_ERR_LIMIT},
        {{.kind = ST_SCHEDULE_INTERLEAVED, .stages = 2, .micros = 42, .chunks = 65535}, ST_OK},
        {{.kind = ST_SCHEDULE_INTERLEAVED, .stages = 2, .micros = 43, .chunks = 65535},
         ST_ERR_LIMIT},
        {{.kind = ST_SCHEDULE_INTERLEAVED, .stages = 2, .micros = 3, .chunks = 65536},
         ST_ERR_LIMIT},
        {{.kind = ST_SCHEDULE_INTERLEAVED, .stages = 1 << 20, .micros = 4, .chunks = 1}, ST_OK},
        {{.kind = ST_SCHEDULE_ZERO_BUBBLE_V, .stages = 4096, .micros = 3, .chunks = 2}, ST_OK},
        {{.kind = ST_SCHEDULE_V_HALF, .stages = 4097, .micros = 3, .chunks = 2}, ST_ERR_LIMIT},
        {{.kind = ST_SCHEDULE_V_MIN, .stages = 4, .micros = 3, .chunks = 1}, ST_ERR_VALUE},
        {{.kind = ST_SCHEDULE_V_MIN, .stages = 4, .micros = 3, .chunks = 3}, ST_ERR_VALUE},
        {{.kind = ST_SCHEDULE_DUALPIPE, .stages = 4, .micros = 8, .chunks = 1}, ST_OK},
        {{.kind = ST_SCHEDULE_DUALPIPE, .stages = 4, .micros = 9, .chunks = 1}, ST_ERR_VALUE},
        {{.kind = ST_SCHEDULE_DUALPIPE, .stages = 4, .micros = 8, .chunks = 2}, ST_ERR_VALUE},
    };
    for (size_t i = 0; i < COUNT(shapes); i++) {
        if (st_schedule_check(&shapes[i].shape, *state) != shapes[i].status)
            fail_msg("shape %zu: %s", i, said(*state));
        st_errors_clear(*state);
    }
}

TEST_WITH(memory_for_the_search_is_checked, make_errors, drop_errors)
{
    st_arena *arena = st_arena_create();
    st_schedule_order order;
    st_chunk_times times[4];
    fill_times(times, 4, 100, 120, 80);
    st_schedule_shape shape = {.kind = ST_SCHEDULE_ZERO_BUBBLE_2,
                               .stages = 4,
                               .micros = 6,
                               .chunks = 1,
                               .times = times,
                               .held_for_weights = 1.5};
    assert_int_equal(st_schedule_order_make(&shape, arena, &order, NULL), ST_ERR_VALUE);
    shape.held_for_weights = 0.5;
    times[2].part[ST_PASS_WEIGHTS][ST_PART_WORK] = -1;
    assert_int_equal(st_schedule_order_make(&shape, arena, &order, NULL), ST_ERR_VALUE);
    times[2].part[ST_PASS_WEIGHTS][ST_PART_WORK] = INT64_MAX / 2;
    assert_int_equal(st_schedule_order_make(&shape, arena, &order, NULL), ST_ERR_VALUE);
    times[2].part[ST_PASS_WEIGHTS][ST_PART_WORK] = 80;
    shape.held = 1; /* one micro-batch at a time still works */
    assert_int_equal(st_schedule_order_make(&shape, arena, &order, NULL), ST_OK);
    assert_int_equal(order.counts[0], 18);
    st_arena_destroy(arena);
}

/* One stage, two micro-batches, in an order of one's own. */
static st_status build_own(const st_slot *slots, size_t count, st_errors *errors)
{
    st_chunk_times times[1];
    fill_times(times, 1, 100, 120, 80);
    st_schedule_plan plan = {
        .shape = {.kind = ST_SCHEDULE_1F1B, .stages = 1, .micros = 2, .chunks = 1, .times = times}};
    st_schedule_order order = {.slots = &slots, .counts = &count, .stages = 1};
    st_graph *graph = st_graph_create(NULL);
    st_status status = st_schedule_build(&plan, &order, graph, errors);
    if (status == ST_OK) {
        status = st_graph_seal(graph, errors);
    }
    st_graph_destroy(graph);
    return status;
}

TEST_WITH(an_order_of_ones_own_is_checked, make_errors, drop_errors)
{
    const st_slot backward_first[] = {{0, 0, ST_PASS_BACKWARD, true, false},
                                      {0, 0, ST_PASS_FORWARD, false, false},
                                      {1, 0, ST_PASS_FORWARD, false, false},
                                      {1, 0, ST_PASS_BACKWARD, true, false}};
    const st_slot twice[] = {{0, 0, ST_PASS_FORWARD, false, false},
                             {0, 0, ST_PASS_FORWARD, false, false}};
    const st_slot missing[] = {{0, 0, ST_PASS_FORWARD, false, false},
                               {1, 0, ST_PASS_FORWARD, false, false}};
    const st_slot beyond[] = {{2, 0, ST_PASS_FORWARD, false, false}};
    assert_int_equal(build_own(backward_first, 4, *state), ST_ERR_CYCLE);
    assert_string_equal(said(*state),
                        "error: tasks wait for each other: task 0 'B 1' of rank 0 (compute) waits "
                        "for task 1 'F 1' of rank 0 (compute) waits for task 0 'B 1' of rank 0 "
                        "(compute)\n");
    assert_int_equal(build_own(twice, 2, *state), ST_ERR_VALUE);
    assert_string_equal(
        said(*state),
        "error: the order of stage 0 has the forward pass of micro-batch 1 twice: expected "
        "every pass of every micro-batch and chunk once\n");
    assert_int_equal(build_own(missing, 2, *state), ST_ERR_VALUE);
    assert_non_null(strstr(said(*state), "of stage 0 omits the backward pass of micro-batch 1: "));
    assert_int_equal(build_own(beyond, 1, *state), ST_ERR_VALUE);
    assert_non_null(
        strstr(said(*state), "has the forward pass of micro-batch 3 in the wrong place: "));
}

/* Entries leave by time and, where times are equal, by stage, whatever was pushed in between. */
TEST_WITH(the_stage_furthest_behind_is_popped, make_errors, drop_errors)
{
    enum { STAGES = 61 };
    (void)state;
    st_stage_entry entries[STAGES];
    st_stage_heap heap = {.entries = entries};
    int64_t time_of[STAGES];
    for (uint32_t i = 0; i < STAGES; i++) {
        time_of[i] = 2385 + (int64_t)(i * 37 % STAGES / 3);
        st_stage_heap_push(&heap, i, time_of[i]);
    }
    for (uint32_t round = 0; round < 4 * STAGES; round++) {
        uint32_t first = 0;
        for (uint32_t i = 1; i < STAGES; i++)
            if (time_of[i] < time_of[first])
                first = i;
        assert_int_equal(st_stage_heap_pop(&heap), first);
        assert_int_equal(heap.count, STAGES - 1);
        time_of[first] += 1 + first % 7;
        st_stage_heap_push(&heap, first, time_of[first]);
    }
}

TEST_WITH(names_are_those_of_jobs, make_errors, drop_errors)
{
    assert_string_equal(st_schedule_name(ST_SCHEDULE_ZERO_BUBBLE_2), "zero_bubble_2");
    assert_string_equal(st_schedule_name(ST_SCHEDULES), "");
}

TESTS(schedule);
