/* SPDX-License-Identifier: Apache-2.0 */
/* Strategies beside jobs: what they set in place of the job's plan, and what does not fit a job. */
#include "report_support.h"

#include "timeline/strategy.h"

#define JOB "gpt3-175b-64xa100" /* 96 layers, 64 GPUs, tp of 8, micro-batches of one sequence */

/* What is loaded of a strategy. */
typedef struct loaded {
    const st_strategy *strategy;
    st_strategy_sets sets;
} loaded;

/* Two stages, each "DEVICES, layers: LAYERS" and what else they have. */
static st_status load_two(fixture *own, const char *job, const char *head, const char *const two[2],
                          loaded *made)
{
    st_estimate estimate;
    write_text(own, "s.yaml",
               st_arena_printf(own->arena,
                               "strategy: mine\n%sstages:\n  - {devices: %s}\n  - {devices: %s}\n",
                               head, two[0], two[1]));
    const char *set = strcmp(job, JOB) == 0 ? "cluster.nodes=9" : NULL; /* of eight GPUs */
    assert_int_equal(load_estimate(own, job, set, &estimate), ST_OK);
    st_errors_clear(own->errors);
    return st_strategy_load(below(own, "s.yaml"), estimate.job, own->arena, &made->strategy,
                            &made->sets, own->errors);
}

static const char *joined(fixture *own, const char *const *items, size_t count)
{
    st_buffer text = {0};
    for (size_t i = 0; i < count; i++)
        st_buffer_printf(&text, "%s%s", i > 0 ? " " : "", items[i]);
    const char *copy = st_arena_copy(own->arena, st_buffer_read(&text), text.length);
    st_buffer_free(&text);
    return copy;
}

TEST_WITH(strategies_set_what_they_say, set_up, tear_down)
{
    static const struct {
        const char *job;
        const char *head;
        const char *stages[2];
        const char *sets;
        const char *own[2]; /* of each stage */
        double moe_layers[2];
    } cases[] = {
        {JOB,
         "schedule: gpipe\n",
         {"0-31, layers: 0-20", "32-63, layers: 21-95"},
         "parallel.pp=2 parallel.dp=4 parallel.virtual_stages=1 parallel.layout=Et*21|t*75L "
         "parallel.schedule=gpipe",
         {"", ""},
         {0, 0}},
        {JOB,
         "",
         {"0-31, layers: 0-20, order: [F0, B0]", "32-63, layers: 21-95, order: [F0, B0]"},
         "parallel.pp=2 parallel.dp=4 parallel.virtual_stages=1 parallel.layout=Et*21|t*75L "
         "parallel.schedule=1f1b",
         {"", ""},
         {0, 0}},
        {JOB, /* of 8 (dp) sequences, two for each of 4 */
         "schedule: 1f1b\n",
         {"0-31, layers: 0-20, tp: 4, recompute: full", "32-63, layers: 21-95, recompute: none"},
         "parallel.pp=2 parallel.dp=8 parallel.virtual_stages=1 parallel.tp=4 cluster.nodes=8 "
         "parallel.layout=Et*21|t*75L parallel.schedule=1f1b",
         {"recompute=full", "parallel.tp=8 parallel.dp=4 batch.micro=2 recompute=none"},
         {0, 0}},
        {JOB, /* 16 GPUs have fewer: the largest stage counts */
         "schedule: 1f1b\n",
         {"0-31, layers: 0-20", "48-63, layers: 21-95, tp: 4"},
         "parallel.pp=2 parallel.dp=4 parallel.virtual_stages=1 cluster.nodes=8 "
         "parallel.layout=Et*21|t*75L parallel.schedule=1f1b",
         {"", "parallel.tp=4"},
         {0, 0}},
        {JOB,
         "schedule: interleaved\n",
         {"0-31, layers: '0-10, 21-40'", "32-63, layers: '11-20, 41-95'"},
         "parallel.pp=2 parallel.dp=4 parallel.virtual_stages=2 "
         "parallel.layout=Et*11|t*10|t*20|t*55L parallel.schedule=interleaved",
         {"", ""},
         {0, 0}},
    };
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        loaded made;
        if (load_two(own, cases[i].job, cases[i].head, cases[i].stages, &made) != ST_OK)
            fail_msg("case %zu: %s", i, said(own));
        assert_string_equal(joined(own, made.sets.items, made.sets.count), cases[i].sets);
        for (size_t k = 0; k < 2; k++) {
            assert_string_equal(joined(own, made.sets.stages[k].items, made.sets.stages[k].count),
                                cases[i].own[k]);
            assert_true(made.sets.moe_layers[k] == cases[i].moe_layers[k]);
        }
        assert_int_equal(made.sets.is_uneven, strstr(cases[i].sets, "nodes") != NULL);
    }
}

/* The first three of 61 layers are dense; behind them are those that predict further tokens. */
TEST_WITH(layers_with_experts_are_counted, set_up, tear_down)
{
    static const char *const stages[] = {"0-1023, layers: 0-20", "1024-2047, layers: 21-60"};
    fixture *own = *state;
    loaded made;
    if (load_two(own, "deepseek-v3-2048xh800", "schedule: 1f1b\n", stages, &made) != ST_OK)
        fail_msg("%s", said(own));
    const st_place_layers *layers = st_strategy_layers(made.strategy, &made.sets, own->arena);
    assert_true(layers->all[0] == 21);
    assert_true(layers->all[1] == 40);
    assert_ptr_equal(layers->moe, made.sets.moe_layers);
    assert_true(made.sets.moe_layers[0] == 18);
    assert_true(made.sets.moe_layers[1] == 40);
    assert_contains(joined(own, made.sets.items, made.sets.count), "parallel.layout=Et*21|t*40mL");
}

TEST_WITH(strategies_that_do_not_fit_the_job_are_refused, set_up, tear_down)
{
    static const struct {
        const char *stages[2];
        const char *text;
    } cases[] = {
        {{"0-31, layers: 0-20", "32-63, layers: 20-95"},
         "@/s.yaml:5:30: error: layer 20 of stage 1 is assigned twice or out of order: expected a "
         "range from 21"},
        {{"0-31, layers: 0-20", "32-63, layers: 22-95"}, "no stage contains layer 21"},
        {{"0-31, layers: 1-20", "32-63, layers: 21-95"}, "no stage contains layer 0"},
        {{"0-31, layers: 0-20", "32-63, layers: 21-94"},
         "no stage contains layer 95: expected all layers to 95 (model.layers)"},
        {{"0-31, layers: 0-20", "32-63, layers: 21-96"},
         "unknown layer 96: expected from 0 to 95 (model.layers)"},
        {{"0-31, layers: 0-20", "31-63, layers: 21-95"},
         "@/s.yaml:5:15: error: device 31 is on stage 1 and on stage 0: expected each on one "
         "stage"},
        {{"0-31, layers: 0-20", "33-72, layers: 21-95"},
         "unknown device 72: expected from 0 to 71, the devices of the cluster"},
        {{"32-63, layers: 0-20", "0-31, layers: 21-95"},
         "@/s.yaml:4:15: error: device 32 is on stage 0: expected the stage that parallel.order "
         "assigns; stage 0 starts at device 0 and has 64"},
        {{"'1-31, 64', layers: 0-20", "32-63, layers: 21-95"},
         "device 64 is on stage 0: expected the stage that"},
        {{"0-30, layers: 0-20", "32-63, layers: 21-95"},
         "stage 0 has 31 devices: expected a multiple of 8 (parallel.tp * parallel.cp)"},
        {{"0-31, layers: 0-20", "32-55, layers: 21-95"},
         "3 data-parallel ranks of stage 1 do not divide the 4 sequences that stage 0 takes"},
        {{"0-31, layers: '0-10, 31-95'", "32-63, layers: 11-30"},
         "stage 1 has 1 ranges of layers: expected 2, one for each chunk, as stage 0 has"},
    };
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        loaded made;
        st_status status = load_two(own, JOB, "schedule: interleaved\n", cases[i].stages, &made);
        const char *told = said(own);
        if (status != ST_ERR_VALUE)
            fail_msg("case %zu: status %d, %s", i, status, told);
        assert_contains(told, cases[i].text);
    }
}

TESTS(strategy_apply);
