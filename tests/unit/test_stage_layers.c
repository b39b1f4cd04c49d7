/* SPDX-License-Identifier: Apache-2.0 */
/* Which layers lie on which stage, by a pattern or a layout of the job. */
#include "job_support.h"

#include "estimate/stage_layers.h"
#include "steptime/tool/pattern.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

enum { PREDICTION = ST_LAYER_PREDICTION, DIVISION = ST_DIVISION_ARGUMENTS };
enum { ARGUMENTS = 24, LAYOUTS_SEEN = 300 };

static const char deepseek_layout[] = "parallel.layout=Et*4|(t*4|)*14tmL";

typedef struct plan {
    const char *pattern; /* assignments, NULL: none */
    const char *layout;
    double layers, stages, chunks, mtp;
} plan;

static const st_sheet *sheet_of(fixture *own)
{
    const st_sheet *sheet = NULL;
    st_sheet_reader reader = st_paths_sheet_reader(own->paths);
    assert_int_equal(st_sheet_load(&reader, "megatron-plan", own->arena, &sheet, own->errors),
                     ST_OK);
    return sheet;
}

/* The functions of the sheet for a job of a few keys. */
static st_status ask_for(fixture *own, const plan *x, const st_sheet *sheet,
                         st_stage_providers *providers)
{
    const char *sets[12];
    size_t count = 0;
    const st_job *job = NULL;
    sets[count++] = st_arena_printf(own->arena, "model.layers=%g", x->layers);
    sets[count++] = st_arena_printf(own->arena, "model.mtp=%g", x->mtp);
    sets[count++] = st_arena_printf(own->arena, "parallel.pp=%g", x->stages);
    sets[count++] = st_arena_printf(own->arena, "parallel.virtual_stages=%g", x->chunks);
    sets[count++] = "model.experts=7";
    if (x->pattern != NULL)
        sets[count++] = x->pattern;
    if (x->layout != NULL)
        sets[count++] = x->layout;
    assert_int_equal(st_job_load(own->paths, NULL, sets, count, own->arena, &job, own->errors),
                     ST_OK);
    const st_stage_plan *said = NULL;
    st_status status = st_stage_plan_read(job, sheet, own->arena, &said, own->errors);
    return status != ST_OK
               ? status
               : st_stage_layer_providers(said, sheet, own->arena, providers, own->errors);
}

static st_stage_providers providers_of(fixture *own, const plan *x)
{
    st_stage_providers providers;
    if (ask_for(own, x, sheet_of(own), &providers) != ST_OK)
        fail_msg("%s", said(own));
    return providers;
}

static const st_provider *named(const st_stage_providers *providers, const char *name)
{
    for (size_t i = 0; i < providers->count; i++)
        if (strcmp(providers->items[i].name, name) == 0)
            return &providers->items[i];
    fail_msg("no function '%s'", name);
    return NULL;
}

static double call(const st_stage_providers *providers, const char *name, const double *arguments)
{
    const st_provider *own = named(providers, name);
    const double *columns[ARGUMENTS];
    double value = -1;
    for (size_t i = 0; i < own->argument_count; i++)
        columns[i] = &arguments[i];
    assert_int_equal(own->evaluate(own->self, 1, columns, &value), ST_OK);
    return value;
}

/* division: stages, chunks, folded, layers, those of first, a middle and the last stage, leading
 * dense ones, and how many of the others have experts */
static double layers_on(const st_stage_providers *providers, size_t kind, double stage,
                        const double *division)
{
    double arguments[ARGUMENTS] = {(double)kind, stage};
    memcpy(arguments + 2, division, DIVISION * sizeof *division);
    arguments[2 + DIVISION] = 7.125;
    return call(providers, "layers_on", arguments);
}

static double layers_of(const st_stage_providers *providers, size_t kind)
{
    const double arguments[] = {(double)kind, 7.125};
    return call(providers, "layers_of", arguments);
}

/* DeepSeek-V3 on 4 ranks of 4 chunks: 16 stages of 4 layers but the last, which has one. */
TEST_WITH(a_layout_says_what_a_rank_has, set_up, tear_down)
{
    static const double dense[] = {3, 0, 0, 0};
    static const double moe[] = {13, 16, 16, 13};
    const plan x = {.pattern = "model.pattern=d*3e*58",
                    .layout = deepseek_layout,
                    .layers = 61,
                    .stages = 4,
                    .chunks = 4,
                    .mtp = 1};
    fixture *own = *state;
    st_stage_providers providers = providers_of(own, &x);
    assert_int_equal(providers.count, 7); /* two of them say what the job gives */
    assert_string_equal(providers.items[0].source, "layout of stages");
    /* what the sheet would spread does not count */
    const double division[DIVISION] = {4, 4, 0, 61, 99, 99, 99, 5, 2};
    for (size_t stage = 0; stage < 4; stage++) {
        assert_true(layers_on(&providers, ST_LAYER_DENSE, (double)stage, division) == dense[stage]);
        assert_true(layers_on(&providers, ST_LAYER_MOE, (double)stage, division) == moe[stage]);
        assert_true(layers_on(&providers, PREDICTION, (double)stage, division) ==
                    (stage == 3 ? 1 : 0));
    }
    assert_true(layers_on(&providers, ST_LAYER_MOE, 4, division) == 0);
    assert_true(layers_of(&providers, ST_LAYER_DENSE) == 3);
    assert_true(layers_of(&providers, PREDICTION) == 0); /* is none of the pattern's */
    assert_true(layers_of(&providers, ST_LAYER_MOE) == 58);
}

/* Without a pattern, dense layers come first and experts every so many layers behind them. */
TEST_WITH(a_layout_alone_takes_experts_as_the_sheet_has_them, set_up, tear_down)
{
    const plan x = {.layout = deepseek_layout, .layers = 61, .stages = 16, .chunks = 1, .mtp = 1};
    fixture *own = *state;
    st_stage_providers providers = providers_of(own, &x);
    const double division[DIVISION] = {16, 1, 0, 61, 4, 4, 4, 3, 1};
    assert_true(layers_on(&providers, ST_LAYER_DENSE, 0, division) == 3);
    assert_true(layers_on(&providers, ST_LAYER_MOE, 0, division) == 1);
    assert_true(layers_on(&providers, ST_LAYER_MOE, 7, division) == 4);
    assert_true(layers_on(&providers, ST_LAYER_MOE, 15, division) == 1);
    const double sparse[DIVISION] = {16, 1, 0, 61, 4, 4, 4, 1, 2}; /* every other */
    assert_true(layers_on(&providers, ST_LAYER_DENSE, 0, sparse) == 3);
    assert_true(layers_on(&providers, ST_LAYER_MOE, 0, sparse) == 1);
    assert_true(layers_on(&providers, ST_LAYER_MOE, 7, sparse) == 2);
    assert_true(layers_on(&providers, ST_LAYER_DENSE, 7, sparse) == 2);
    assert_true(layers_of(&providers, ST_LAYER_MOE) == 7.125); /* the sheet's own formula */
}

TEST_WITH(a_row_of_other_stages_is_refused, set_up, tear_down)
{
    const plan x = {.layout = deepseek_layout, .layers = 61, .stages = 4, .chunks = 4, .mtp = 1};
    fixture *own = *state;
    st_stage_providers providers = providers_of(own, &x);
    const double arguments[] = {1, 0, 8, 4, 0, 61, 5, 5, 5, 3, 1, 0, 7.125};
    const double *columns[3 + DIVISION];
    const st_provider *function = named(&providers, "layers_on");
    st_provider_account account = {0};
    for (size_t i = 0; i < 3 + DIVISION; i++)
        columns[i] = &arguments[i];
    assert_true(isnan(call(&providers, "layers_on", arguments)));
    assert_int_equal(function->explain(function->self, columns, own->arena, &account), ST_OK);
    assert_string_equal(account.refusal, "parallel.layout has 16 virtual stages, but the plan has "
                                         "8 x 4 (pp x virtual_stages); the nearest "
                                         "that works is parallel.virtual_stages=2");
    const double odd[] = {1, 0, 0.5, 4, 0, 61, 5, 5, 5, 3, 1, 0, 7.125};
    assert_true(isnan(call(&providers, "layers_on", odd)));
    const double longer[] = {1, 0, 4, 4, 0, 63, 5, 5, 5, 3, 1, 0, 7.125};
    assert_true(isnan(call(&providers, "layers_on", longer)));
}

/* A first and a last stage that have six layers of five, and nothing for the two between. */
TEST_WITH(a_stage_of_less_than_no_layer_is_refused, set_up, tear_down)
{
    const plan x = {.pattern = "model.pattern=MEM*E", .layers = 5, .stages = 4, .chunks = 1};
    fixture *own = *state;
    st_stage_providers providers = providers_of(own, &x);
    const double short_of_one[] = {1, 2, 4, 1, 0, 5, 2, 0, 4, 0, 1, 0, 7.125};
    assert_true(isnan(call(&providers, "layers_on", short_of_one)));
    const double whole[] = {1, 3, 4, 1, 0, 5, 2, 1, 1, 0, 1, 0, 7.125};
    assert_true(call(&providers, "layers_on", whole) >= 0);
}

/* Nemotron 3 Nano, 26 layers a stage, of which the first has a layer of Mamba-2 more. */
TEST_WITH(hybrids_are_cut_where_their_layers_lie, set_up, tear_down)
{
    static const char pattern[] =
        "model.pattern=MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME";
    static const double counts[2][4] = {{12, 11, 3, 0}, {11, 12, 3, 0}};
    static const size_t kinds[] = {ST_LAYER_MAMBA, ST_LAYER_EXPERTS, ST_LAYER_ATTENTION,
                                   ST_LAYER_MLP};
    const plan x = {.pattern = pattern, .layers = 52, .stages = 2, .chunks = 1};
    fixture *own = *state;
    st_stage_providers providers = providers_of(own, &x);
    const double division[DIVISION] = {2, 1, 0, 52, 26, 26, 26, 5, 2};
    for (size_t stage = 0; stage < 2; stage++)
        for (size_t i = 0; i < 4; i++)
            if (layers_on(&providers, kinds[i], (double)stage, division) != counts[stage][i])
                fail_msg("stage %zu has %g '%c'", stage,
                         layers_on(&providers, kinds[i], (double)stage, division),
                         st_layer_letter((st_layer_kind)kinds[i]));
    assert_string_equal(providers.items[0].source, "pattern of layers");
}

/* 5, 8, 8 and 3 layers: what the ends do not have lies between them; prediction is the sheet's. */
TEST_WITH(uneven_ends_leave_the_rest_to_the_middle, set_up, tear_down)
{
    const plan x = {
        .pattern = "model.pattern=(yye)*8", .layers = 24, .stages = 4, .chunks = 1, .mtp = 2};
    static const double windows[] = {4, 5, 5, 2};
    static const double experts[] = {1, 3, 3, 1};
    fixture *own = *state;
    st_stage_providers providers = providers_of(own, &x);
    const double division[DIVISION] = {4, 1, 0, 24, 5, 8, 3, 5, 2};
    for (size_t stage = 0; stage < 4; stage++) {
        assert_true(layers_on(&providers, ST_LAYER_WINDOW_MOE, (double)stage, division) ==
                    windows[stage]);
        assert_true(layers_on(&providers, ST_LAYER_MOE, (double)stage, division) == experts[stage]);
        assert_true(layers_on(&providers, PREDICTION, (double)stage, division) == 7.125);
    }
}

/* Two stages of three chunks of four layers: dddd|deee|eeee|... */
TEST_WITH(chunks_take_turns_on_the_stages, set_up, tear_down)
{
    static const double dense[] = {4, 1};
    static const double experts[] = {8, 11};
    const plan x = {.pattern = "model.pattern=d*5e*19", .layers = 24, .stages = 2, .chunks = 3};
    fixture *own = *state;
    st_stage_providers providers = providers_of(own, &x);
    const double division[DIVISION] = {2, 3, 0, 24, 12, 12, 12, 5, 2};
    for (size_t stage = 0; stage < 2; stage++) {
        assert_true(layers_on(&providers, ST_LAYER_DENSE, (double)stage, division) == dense[stage]);
        assert_true(layers_on(&providers, ST_LAYER_MOE, (double)stage, division) == experts[stage]);
    }
}

/* The stage between first and last whose layers weigh most. */
TEST_WITH(the_fullest_stage_is_found, set_up, tear_down)
{
    const plan x = {
        .pattern = "model.pattern=d*8e*3d*3e*2d*8", .layers = 24, .stages = 6, .chunks = 1};
    fixture *own = *state;
    st_stage_providers providers = providers_of(own, &x);
    /* four layers a stage: dddd dddd eeed ddee dddd dddd */
    double arguments[ARGUMENTS] = {6, 1, 0, 24, 4, 4, 4, 5, 2, 0, 2.5, 9.5};
    assert_true(call(&providers, "fullest_stage", arguments) == 2);
    arguments[DIVISION] = 9.5;
    arguments[DIVISION + 1] = 2.5;
    assert_true(call(&providers, "fullest_stage", arguments) == 1);
    arguments[0] = 2; /* nothing lies between two */
    assert_true(call(&providers, "fullest_stage", arguments) == 1);
}

/* Chunk after chunk: kind, stage, chunk from 1. */
static double layers_asked(const st_stage_providers *providers, size_t kind, double stage,
                           double chunk, const double *division)
{
    double arguments[ARGUMENTS] = {(double)kind, stage, chunk};
    memcpy(arguments + 3, division, DIVISION * sizeof *division);
    arguments[3 + DIVISION] = 2;
    return call(providers, "layers_asked", arguments);
}

/* 24 layers, the first two of which are dense, cut into stages and these into chunks. */
static void expect_chunks(const st_stage_providers *providers, const double *division,
                          const double *expected)
{
    size_t chunks = (size_t)division[1];
    for (size_t stage = 0; stage < (size_t)division[0]; stage++) {
        double sum = 0;
        for (size_t chunk = 1; chunk <= chunks; chunk++) {
            double found = 0;
            for (size_t kind = ST_LAYER_DENSE; kind <= ST_LAYER_MOE; kind++)
                found += layers_asked(providers, kind, (double)stage, (double)chunk, division);
            if (found != expected[stage * chunks + chunk - 1])
                fail_msg("stage %zu chunk %zu has %g layers", stage, chunk, found);
            sum += layers_asked(providers, ST_LAYER_MOE, (double)stage, (double)chunk, division);
        }
        assert_true(layers_asked(providers, ST_LAYER_MOE, (double)stage, 0, division) == sum);
    }
}

/* A stage that has a layer less lacks it next to its end of the model; of a folded schedule chunks
 * on the way back lack one first, from the last one on. */
TEST_WITH(chunks_lack_layers_next_to_the_ends, set_up, tear_down)
{
    static const double ends[DIVISION] = {5, 3, 0, 24, 5, 5, 5, 2, 1};
    static const double of_ends[] = {1, 2, 2, 2, 2, 1, 2, 2, 1, 2, 1, 1, 2, 2, 1};
    static const double folded[DIVISION] = {5, 2, 1, 24, 5, 5, 5, 2, 1};
    static const double of_folded[] = {2, 2, 3, 2, 3, 2, 3, 2, 3, 2};
    static const double full[DIVISION] = {4, 2, 1, 23, 6, 6, 6, 2, 1};
    static const double of_full[] = {3, 2, 3, 3, 3, 3, 3, 3};
    fixture *own = *state;
    const plan x = {.layers = 24, .stages = 5, .chunks = 3};
    st_stage_providers providers = providers_of(own, &x);
    expect_chunks(&providers, ends, of_ends);
    expect_chunks(&providers, folded, of_folded);
    expect_chunks(&providers, full, of_full);
    /* the last chunk of the model has the prediction, which a folded first stage has */
    assert_true(layers_asked(&providers, PREDICTION, 4, 3, ends) == 2);
    assert_true(layers_asked(&providers, PREDICTION, 4, 2, ends) == 0);
    assert_true(layers_asked(&providers, PREDICTION, 0, 0, folded) == 2);
    assert_true(layers_asked(&providers, ST_LAYER_MOE, 0, 4, ends) == 0);
}

/* What an interleaved stage keeps: chunk after chunk, four passes of each in turn. */
static double kept_by(const st_stage_providers *providers, double stage, double micros)
{
    double arguments[ARGUMENTS] = {stage, 4, 2, 0, 61, 16, 15, 15};
    arguments[1 + DIVISION] = micros;
    arguments[2 + DIVISION] = 2.5;  /* a dense layer */
    arguments[ARGUMENTS - 2] = 7.5; /* prediction */
    arguments[ARGUMENTS - 1] = 3.125;
    return call(providers, "kept_chunks", arguments);
}

TEST_WITH(uneven_chunks_are_kept_as_their_passes_take_turns, set_up, tear_down)
{
    const plan x = {.layout = "parallel.layout=Et*5|(t*6|)*6t*20mL",
                    .layers = 61,
                    .stages = 4,
                    .chunks = 2,
                    .mtp = 1};
    fixture *own = *state;
    st_stage_providers providers = providers_of(own, &x);
    /* passes 4 x 5, 4 x 6 and 3 x 5 layers before the first one back */
    assert_true(kept_by(&providers, 0, 16) == 59 * 2.5);
    assert_true(kept_by(&providers, 3, 16) == 44 * 2.5 + 7.5);
    assert_true(kept_by(&providers, 3, 3) == (3 * 6 + 2 * 20) * 2.5 + 2 * 7.5);
    assert_true(kept_by(&providers, 0, 3) == (3 * 5 + 3 * 6) * 2.5);
    assert_true(kept_by(&providers, 4, 16) == 0);
    assert_true(kept_by(&providers, 0, 0) == 3.125);
}

TEST_WITH(jobs_without_either_are_the_sheets, set_up, tear_down)
{
    const plan x = {.layers = 24, .stages = 6, .chunks = 1};
    fixture *own = *state;
    st_stage_providers providers = providers_of(own, &x);
    assert_int_equal(providers.count, 1);
    assert_string_equal(providers.items[0].name, "layers_asked");
}

TEST_WITH(layouts_stand_alone, set_up, tear_down)
{
    const plan x = {.pattern = "parallel.account_loss=true",
                    .layout = deepseek_layout,
                    .layers = 61,
                    .stages = 4,
                    .chunks = 4,
                    .mtp = 1};
    const plan chunks = {
        .layout = deepseek_layout, .layers = 61, .stages = 4, .chunks = 2, .mtp = 1};
    fixture *own = *state;
    st_stage_providers providers;
    assert_int_equal(ask_for(own, &x, sheet_of(own), &providers), ST_ERR_CHECK);
    assert_non_null(strstr(said(own), "parallel.layout and parallel.account_loss both assign"));
    assert_int_equal(ask_for(own, &chunks, sheet_of(own), &providers), ST_ERR_CHECK);
    assert_non_null(strstr(said(own), "did you mean 'parallel.virtual_stages=4'?"));
    plan silent = x;
    silent.pattern = "parallel.account_loss=false";
    assert_int_equal(ask_for(own, &silent, sheet_of(own), &providers), ST_OK);
}

/* ---- no layer is lost or counted twice ---- */

static unsigned draw(uint64_t *state, unsigned count)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return (unsigned)(*state >> 33) % count;
}

static void expect_whole_model(fixture *own, const st_sheet *sheet, uint64_t *random)
{
    static const char letters[] = "dexygh";
    char text[128] = "model.pattern=";
    const unsigned stages = 1 + draw(random, 9);
    const unsigned chunks = 1 + draw(random, 4);
    const unsigned layers = stages * chunks + draw(random, 40);
    double counts[ST_LAYER_KINDS] = {0};
    for (unsigned i = 0; i < layers; i++) {
        unsigned kind = draw(random, 6);
        text[strlen("model.pattern=") + i] = letters[kind];
        counts[kind]++;
    }
    const double even = ceil((double)layers / stages);
    const double division[DIVISION] = {
        stages, chunks, draw(random, 2) == 0 && chunks == 2, layers, even, even, even, 5, 2};
    const plan x = {.pattern = text, .layers = layers, .stages = stages, .chunks = chunks};
    st_stage_providers providers;
    assert_int_equal(ask_for(own, &x, sheet, &providers), ST_OK);
    for (size_t kind = 0; kind < ST_LAYER_KINDS; kind++) {
        double sum = 0;
        for (unsigned stage = 0; stage < stages; stage++)
            sum += layers_on(&providers, kind, stage, division);
        if (sum != counts[kind] || layers_of(&providers, kind) != counts[kind])
            fail_msg("%s: %g of %g '%c' on %u stages of %u chunks", text, sum, counts[kind],
                     st_layer_letter((st_layer_kind)kind), stages, chunks);
    }
}

TEST_OF(stages_add_up_to_the_model, fixture *own, set_up, tear_down)
{
    const st_sheet *sheet = sheet_of(own);
    const char *given = getenv("STEPTIME_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    print_message("# STEPTIME_SEED=%llu\n", (unsigned long long)seed);
    for (size_t i = 0; i < LAYOUTS_SEEN; i++)
        expect_whole_model(own, sheet, &seed);
}

TESTS(stage_layers);
