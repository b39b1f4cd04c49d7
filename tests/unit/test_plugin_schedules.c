/* SPDX-License-Identifier: Apache-2.0 */
/* Orders of the schedules that plugins of steptime offer, and their published bubbles. */
#include "job_support.h"
#include "schedule/schedule.h"
#include "plugin/plugins.h"
#include "timeline/schedule_choice.h"
#include "schedule_support.h"

#include "base/csv.h"

#include <math.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int set_up_built(void **state)
{
    assert_int_equal(set_up(state), 0);
    fixture *own = *state;
    const char *tests = getenv("STEPTIME_TEST_PLUGINS");
    assert_non_null(tests);
    const char *folders[] = {st_arena_printf(own->arena, "%s/..", tests)};
    st_paths_destroy(own->paths);
    assert_int_equal(st_paths_create(folders, 1, &own->paths, own->errors), ST_OK);
    return 0;
}

static st_plugin_instance *open_plugin(fixture *own, const char *name)
{
    const st_plugin_module *module = NULL;
    st_plugin_instance *instance = NULL;
    if (st_plugin_load(own->paths, name, (st_place){0}, own->arena, &module, own->errors) !=
            ST_OK ||
        st_plugin_open(module, NULL, 0, (st_place){0}, &instance, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    return instance;
}

static st_status order_of(fixture *own, const char *name, const st_schedule_shape *shape,
                          st_schedule_order *order)
{
    st_plugin_instance *instance = open_plugin(own, name);
    const st_plugin_order_request request = {.instance = instance,
                                             .schedule = 0,
                                             .shape = shape,
                                             .ticks_per_s = 1e9,
                                             .place = {.file = "here"}};
    st_status status = st_plugin_order_make(&request, own->arena, order, own->errors);
    st_plugin_close(instance);
    return status;
}

/* "F1a b1a w1a": passes, micro-batches from 1, chunks by letter; "B" is both. */
static const char *text_of(fixture *own, const st_schedule_order *order, uint32_t stage)
{
    st_buffer buffer = {0};
    for (size_t i = 0; i < order->counts[stage]; i++) {
        const st_slot *slot = &order->slots[stage][i];
        st_buffer_printf(&buffer, "%s%c%u%c", i > 0 ? " " : "",
                         slot->with_weights ? 'B' : "Fbw"[slot->pass], slot -> micro + 1,
                         'a' + slot->chunk);
    }
    const char *text = st_arena_copy(own->arena, buffer.data, buffer.length);
    st_buffer_free(&buffer);
    return text;
}

TEST_OF(breadth_first_goes_chunk_by_chunk, fixture *own, set_up_built, tear_down)
{
    st_chunk_times times[4];
    st_schedule_order order;
    fill_times(times, 4, 2385, 2911, 1234);
    st_schedule_shape shape = {
        .kind = ST_SCHEDULE_INTERLEAVED, .stages = 2, .micros = 3, .chunks = 2, .times = times};
    assert_int_equal(order_of(own, "breadth-first", &shape, &order), ST_OK);
    for (uint32_t stage = 0; stage < 2; stage++)
        assert_string_equal(text_of(own, &order, stage),
                            "F1a F2a F3a F1b F2b F3b B1b B2b B3b B1a B2a B3a");
}

/* Lamy-Poirier 2023: the ramp of p stages with v chunks is (p - 1)/v of a micro-batch's work. */
TEST_OF(breadth_first_has_the_ramp_of_interleaving, fixture *own, set_up_built, tear_down)
{
    st_chunk_times times[12];
    fill_times(times, 12, 2000, 2500, 1500);
    st_schedule_plan plan = {.shape = {.kind = ST_SCHEDULE_INTERLEAVED,
                                       .stages = 4,
                                       .micros = 8,
                                       .chunks = 3,
                                       .times = times}};
    st_schedule_order order;
    assert_int_equal(order_of(own, "breadth-first", &plan.shape, &order), ST_OK);
    st_graph *graph = st_graph_create(NULL);
    assert_int_equal(st_schedule_build(&plan, &order, graph, own->errors), ST_OK);
    assert_int_equal(st_graph_seal(graph, own->errors), ST_OK);
    st_replay *replay = st_replay_create(graph);
    assert_int_equal(st_replay_run(replay, own->errors), ST_OK);
    assert_int_equal(st_replay_end_ns(replay), 8 * 3 * 6000 + 3 * 6000);
    st_replay_destroy(replay);
    st_graph_destroy(graph);
}

TEST_OF(zero_bubble_h2_is_that_of_the_paper, fixture *own, set_up_built, tear_down)
{
    st_chunk_times times[3];
    st_schedule_order order;
    fill_times(times, 3, 2385, 2911, 1234);
    st_schedule_shape shape = {
        .kind = ST_SCHEDULE_1F1B, .stages = 3, .micros = 6, .chunks = 1, .times = times};
    assert_int_equal(order_of(own, "zero-bubble-h2", &shape, &order), ST_OK);
    assert_string_equal(text_of(own, &order, 0),
                        "F1a F2a F3a F4a F5a b1a w1a F6a b2a w2a b3a w3a b4a w4a b5a w5a b6a w6a");
    assert_string_equal(text_of(own, &order, 2),
                        "F1a b1a F2a b2a F3a b3a F4a b4a F5a b5a w1a F6a b6a w2a w3a w4a w5a w6a");
}

TEST_OF(shapes_that_a_plugin_does_not_know_are_refused, fixture *own, set_up_built, tear_down)
{
    st_chunk_times times[6];
    st_schedule_order order;
    fill_times(times, 6, 2385, 2911, 1234);
    st_schedule_shape shape = {
        .kind = ST_SCHEDULE_INTERLEAVED, .stages = 3, .micros = 6, .chunks = 2, .times = times};
    assert_int_equal(order_of(own, "zero-bubble-h2", &shape, &order), ST_ERR_VALUE);
    assert_string_equal(said(own),
                        "here: error: schedule 'zero_bubble_h2' of plugin "
                        "'zero-bubble-h2' supports one chunk per stage: found 2, expected 1 "
                        "(parallel.virtual_stages)\n");
    shape.micros = 0;
    assert_int_equal(order_of(own, "zero-bubble-h2", &shape, &order), ST_ERR_VALUE);
    st_errors_clear(own->errors);
    const st_plugin_module *module = NULL;
    assert_int_equal(st_plugin_load(own->paths, "zero-bubble-h2", (st_place){0}, own->arena,
                                    &module, own->errors),
                     ST_OK);
    assert_int_equal(st_plugin_find_schedule(module, ""), 0);
    assert_int_equal(st_plugin_find_schedule(module, "zero_bubble_h2"), 0);
    assert_int_equal(st_plugin_find_schedule(module, "zero_bubble_h3"), SIZE_MAX);
}

/* ---- published bubbles ---- */

/* Qi et al. 2024, table 6: times of passes and of a transfer in us. */
static const struct profile {
    const char *model;
    uint32_t stages;
    uint32_t micros;
    int64_t forward, backward, weights, transfer;
} profiles[] = {
    {"1.5B", 8, 24, 18522, 18086, 9337, 601},    {"1.5B", 8, 32, 18513, 18086, 9331, 626},
    {"1.5B", 8, 64, 18546, 18097, 9321, 762},    {"6.2B", 8, 24, 29718, 29444, 19927, 527},
    {"6.2B", 8, 32, 29802, 29428, 19530, 577},   {"6.2B", 8, 64, 29935, 29621, 19388, 535},
    {"14.6B", 16, 48, 11347, 11248, 8132, 377},  {"14.6B", 16, 64, 11307, 11254, 8101, 379},
    {"14.6B", 16, 128, 11325, 11308, 8109, 378}, {"28.3B", 32, 96, 10419, 10207, 7715, 408},
    {"28.3B", 32, 128, 10408, 10204, 7703, 408}, {"28.3B", 32, 256, 10402, 10248, 7698, 460},
};

static double bubble_rate(fixture *own, const struct profile *profile)
{
    st_chunk_times times[32];
    st_schedule_order order;
    fill_times(times, profile->stages, profile->forward, profile->backward, profile->weights);
    const st_schedule_plan plan = {.shape = {.kind = ST_SCHEDULE_1F1B,
                                             .stages = profile->stages,
                                             .micros = profile->micros,
                                             .chunks = 1,
                                             .times = times,
                                             .transfer = profile->transfer}};
    st_graph *graph = st_graph_create(NULL);
    assert_int_equal(order_of(own, "zero-bubble-h2", &plan.shape, &order), ST_OK);
    assert_int_equal(st_schedule_build(&plan, &order, graph, own->errors), ST_OK);
    assert_int_equal(st_graph_seal(graph, own->errors), ST_OK);
    st_replay *replay = st_replay_create(graph);
    assert_int_equal(st_replay_run(replay, own->errors), ST_OK);
    double work =
        profile->micros * (double)(profile->forward + profile->backward + profile->weights);
    double rate = 1 - work / (double)longest_span(graph, replay);
    st_replay_destroy(replay);
    st_graph_destroy(graph);
    return rate;
}

TEST_OF(published_bubble_rates_are_reproduced, fixture *own, set_up_built, tear_down)
{
    const char *data = getenv("STEPTIME_DATA");
    const char *path = st_arena_printf(own->arena, "%s/step_times/aux_zero_bubble_rates.csv",
                                       data != NULL ? data : "../shared/data");
    static char text[65536];
    const st_csv *csv = NULL;
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        print_message("[ SKIPPED  ] %s is not there (STEPTIME_DATA)\n", path);
        skip();
    }
    size_t length = fread(text, 1, sizeof text, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(st_csv_parse(path, text, length, own->arena, &csv, own->errors), ST_OK);
    for (size_t i = 0; i < COUNT(profiles); i++) {
        assert_string_equal(st_csv_field(csv, i, st_csv_column(csv, "model")), profiles[i].model);
        double told = atof(st_csv_field(csv, i, st_csv_column(csv, "ZB-H2")));
        double rate = bubble_rate(own, &profiles[i]);
        if (fabs(rate - told) > 0.0001)
            fail_msg("%s, %u: %.4f, published %.4f", profiles[i].model, profiles[i].micros, rate,
                     told);
    }
}

/* ---- schedules by name ---- */

static st_status choose(fixture *own, const st_schedule_wish *wish, const char *set,
                        st_timeline_plan *plan)
{
    const char *const sets[] = {set};
    const st_request request = {
        .job = "gpt3-175b-64xa100", .sets = sets, .set_count = set != NULL ? 1 : 0};
    st_estimate estimate;
    assert_int_equal(st_estimate_load(own->paths, &request, own->arena, &estimate, own->errors),
                     ST_OK);
    return st_schedule_choose(wish, own->paths, estimate.job, own->arena, plan, own->errors);
}

static st_timeline_plan plan_of(uint32_t chunks, const st_chunk_times *times)
{
    return (st_timeline_plan){.closed_same_schedule = true,
                              .schedule.shape = {.kind = ST_SCHEDULE_GPIPE,
                                                 .stages = 4,
                                                 .micros = 12,
                                                 .chunks = chunks,
                                                 .times = times}};
}

TEST_WITH(names_of_plugins_give_their_order, set_up_built, tear_down)
{
    static const struct {
        const char *name;
        const char *set; /* of the job, where nothing else is asked for */
        uint32_t chunks;
        st_schedule_kind kind;
        const char *order; /* NULL: the plan stays */
        bool staggered;
    } cases[] = {
        {"zero-bubble-h2", NULL, 1, ST_SCHEDULE_1F1B, "zero_bubble_h2", true},
        {"zero-bubble-h2:zero_bubble_h2", NULL, 1, ST_SCHEDULE_1F1B, "zero_bubble_h2", true},
        {"breadth-first", NULL, 2, ST_SCHEDULE_INTERLEAVED, "breadth_first", false},
        {NULL, "parallel.schedule=breadth-first:breadth_first", 2, ST_SCHEDULE_INTERLEAVED,
         "breadth_first", false},
        {"gpipe", "parallel.schedule=breadth-first:breadth_first", 2, ST_SCHEDULE_GPIPE, NULL,
         false},
        {NULL, "parallel.schedule=interleaved", 2, ST_SCHEDULE_GPIPE, NULL, false},
    };
    fixture *own = *state;
    st_chunk_times times[8];
    fill_times(times, 8, 2385, 2911, 1234);
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_timeline_plan plan = plan_of(cases[i].chunks, times);
        const st_schedule_wish wish = {.name = cases[i].name};
        if (choose(own, &wish, cases[i].set, &plan) != ST_OK)
            fail_msg("case %zu: %s", i, said(own));
        assert_int_equal(plan.schedule.shape.kind, cases[i].kind);
        assert_int_equal(plan.order != NULL, cases[i].order != NULL);
        assert_int_equal(plan.closed_same_schedule, cases[i].order == NULL);
        assert_int_equal(plan.order_staggered, cases[i].staggered);
        if (cases[i].order != NULL)
            assert_string_equal(plan.order_name, cases[i].order);
    }
}

TEST_WITH(names_that_no_schedule_has_are_refused, set_up_built, tear_down)
{
    static const char *const settings[] = {"limit=17"};
    static const struct {
        const char *name;
        size_t settings;
        st_status status;
        const char *text;
    } cases[] = {
        {"1f1c", 0, ST_ERR_USAGE, "unknown schedule '1f1c'"},
        {"1f1c", 0, ST_ERR_USAGE, "did you mean '1f1b'"},
        {"breadth-frist", 0, ST_ERR_USAGE, "did you mean 'breadth-first'"},
        {"none:breadth_first", 0, ST_ERR_USAGE, "unknown schedule 'none:breadth_first'"},
        {"breadth-first:deep", 0, ST_ERR_USAGE, "plugin 'breadth-first' has no schedule 'deep'"},
        {"breadth-first:deep", 0, ST_ERR_USAGE, "expected breadth-first:breadth_first"},
        {"nccl-whitebox", 0, ST_ERR_USAGE, "plugin 'nccl-whitebox' has no schedules"},
        {"gpipe", 1, ST_ERR_USAGE, "--option requires a --schedule of a plugin"},
        {"breadth-first", 1, ST_ERR_NAME, "limit"},
    };
    fixture *own = *state;
    st_chunk_times times[8];
    fill_times(times, 8, 2385, 2911, 1234);
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_timeline_plan plan = plan_of(2, times);
        const st_schedule_wish wish = {cases[i].name, settings, cases[i].settings};
        assert_int_equal(choose(own, &wish, NULL, &plan), cases[i].status);
        const char *told = said(own);
        if (strstr(told, cases[i].text) == NULL)
            fail_msg("'%s' lacks '%s'", told, cases[i].text);
        assert_null(plan.order);
    }
    assert_true(st_schedule_is_built_in("gpipe"));
    assert_true(st_schedule_is_built_in("dualpipe"));
    assert_false(st_schedule_is_built_in("gpip"));
}

TESTS(plugin_schedules);
