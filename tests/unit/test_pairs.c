/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows predicted from each other: which rows are pairs, the prediction itself, what cannot be
 * predicted, the public tables.
 */
#include "fit_support.h"

#include "fit/steps/step_pairs.h"

/* A step of layers and a rest that grows with the replicas. */
#define SPLIT                                                                                      \
    "sheet: split\n"                                                                               \
    "title: Layers and the rest\n"                                                                 \
    "inputs:\n"                                                                                    \
    "  L: {from: model.layers, doc: layers}\n"                                                     \
    "  h: {from: model.hidden, doc: width}\n"                                                      \
    "  G: {from: batch.global, doc: batch}\n"                                                      \
    "  b: {from: batch.micro, doc: micro-batch}\n"                                                 \
    "  d: {from: parallel.dp, doc: replicas}\n"                                                    \
    "  p: {from: parallel.pp, doc: stages}\n"                                                      \
    "  site_factor: {from: constants.site_factor, default: 1.25, doc: all}\n"                      \
    "  work: {from: constants.work, unit: ms, default: 3.7 ms, doc: work of a layer}\n"            \
    "  rest: {from: constants.rest, unit: ms, default: 13 ms, doc: gradients}\n"                   \
    "cells:\n"                                                                                     \
    "  T_steady: {unit: s, is: G/(b*d)*L/p*work, doc: all micro-batches}\n"                        \
    "  T_bubble: {unit: s, is: (p - 1)*L/p*work, doc: filling}\n"                                  \
    "  step_time: {unit: s, is: site_factor*(T_steady + T_bubble + rest*d), doc: time}\n"          \
    "roles:\n"                                                                                     \
    "  step: step_time\n"                                                                          \
    "  site_factor: site_factor\n"                                                                 \
    "  step_terms: {steady: T_steady, bubble: T_bubble}\n"

#define HEAD "id,layers,hidden,global_batch,micro_batch,dp,pp,target_iter_s\n"

typedef struct shape {
    double layers, global, micro, dp, pp;
} shape;

static double rest_s(const shape *one)
{
    return 1.25 * 13e-3 * one->dp;
}

static double layers_s(const shape *one, double work_s)
{
    double micros = one->global / (one->micro * one->dp);
    return 1.25 * (micros + one->pp - 1) * one->layers / one->pp * work_s;
}

static double step_s(const shape *one, double work_s)
{
    return layers_s(one, work_s) + rest_s(one);
}

static st_measured *read_table(fixture *own, const char *text)
{
    st_measured *sets = NULL;
    size_t count = 0;
    write_text(own, "split.yaml", SPLIT);
    write_text(own, "table.csv", text);
    const st_measured_request request = {.paths = own->paths, .sheet = below(own, "split.yaml")};
    const st_measured_table table = {.file = below(own, "table.csv")};
    if (st_measured_read(&request, &table, own->arena, &sets, &count, own->errors) != ST_OK)
        fail_msg("refused: %s", said(own));
    assert_int_equal(count, 1);
    return sets;
}

static st_pairs pairs_in(fixture *own, const char *text)
{
    st_pairs pairs;
    if (st_pairs_of(read_table(own, text), own->arena, &pairs, own->errors) != ST_OK)
        fail_msg("refused: %s", said(own));
    return pairs;
}

static const char *row_of(fixture *own, const char *id, const shape *one, double hidden,
                          double measured_s)
{
    return st_arena_printf(own->arena, "%s,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%.17g\n", id, one->layers,
                           hidden, one->global, one->micro, one->dp, one->pp, measured_s);
}

/* As 'validate --pairs' does. */
static void write_pairs(const fixture *own, const st_pairs *pairs, st_form form, st_buffer *buffer)
{
    const st_paint plain = {0};
    st_result result;
    st_node *tables = st_put_list(st_result_begin(&result, own->arena), "tables");
    st_pairs_put(pairs, true, st_put_map(tables, NULL));
    st_result_csv(&result, "tables/kinds",
                  "source,edit,pairs,errors/mean_absolute,errors/median_absolute,errors/bias,"
                  "errors/largest,errors/within_5,errors/within_10,"
                  "errors_of_the_estimate_alone/mean_absolute,"
                  "errors_of_the_estimate_alone/median_absolute");
    st_result_write(&result, form, &plain, buffer);
}

/* Layers of 2.385 ms rather than the sheet's 3.7, and every edit is predicted to the digit. */
TEST_OF(layers_of_another_speed_are_found, fixture *own, set_up, tear_down)
{
    static const shape shapes[] = {
        {23, 96, 2, 4, 1},  /* the base */
        {23, 168, 2, 7, 1}, /* dp, as many micro-batches */
        {23, 96, 2, 4, 3},  /* pp */
        {31, 96, 2, 4, 1},  /* layers */
        {23, 56, 2, 4, 1},  /* micro-batches */
    };
    static const unsigned edits[] = {ST_EDIT_DP, ST_EDIT_PP, ST_EDIT_LAYERS, ST_EDIT_MICROS};
    for (size_t i = 1; i < 5; i++) {
        const char *text =
            st_arena_printf(own->arena, HEAD "%s%s",
                            row_of(own, "a", &shapes[0], 512, step_s(&shapes[0], 2.385e-3)),
                            row_of(own, "b", &shapes[i], 512, step_s(&shapes[i], 2.385e-3)));
        st_pairs pairs = pairs_in(own, text);
        assert_int_equal(pairs.kind_count, 1);
        assert_int_equal(pairs.kinds[0].edits, edits[i - 1]);
        assert_int_equal(pairs.kinds[0].pairs, 1);
        assert_int_equal(pairs.count, 2);
        assert_int_equal(pairs.items[0].from, 0);
        assert_int_equal(pairs.items[0].to, 1);
        near_to(pairs.items[0].predicted, step_s(&shapes[i], 2.385e-3), 1e-13);
        near_to(pairs.items[1].predicted, step_s(&shapes[0], 2.385e-3), 1e-13);
        assert_true(pairs.kinds[0].errors.largest < 1e-12);
        double alone = step_s(&shapes[0], 3.7e-3) / step_s(&shapes[0], 2.385e-3) - 1;
        assert_true(pairs.kinds[0].alone.largest >= alone * (1 - 1e-12));
    }
}

/* What is measured too slow in one row makes the other one's prediction too slow by a known share.
 */
TEST_OF(errors_are_those_of_the_layers, fixture *own, set_up, tear_down)
{
    const shape base = {23, 96, 2, 4, 1};
    const shape longer = {31, 96, 2, 4, 1};
    double measured_s = step_s(&base, 2.385e-3);
    double other_s = step_s(&longer, 2.911e-3);
    st_pairs pairs = pairs_in(own, st_arena_printf(own->arena, HEAD "%s%s",
                                                   row_of(own, "a", &base, 512, measured_s),
                                                   row_of(own, "b", &longer, 512, other_s)));
    near_to(pairs.items[0].error, step_s(&longer, 2.385e-3) / other_s - 1, 1e-12);
    near_to(pairs.items[1].error, step_s(&base, 2.911e-3) / measured_s - 1, 1e-12);
    near_to(pairs.kinds[0].errors.mean_absolute,
            (fabs(pairs.items[0].error) + fabs(pairs.items[1].error)) / 2, 1e-12);
}

TEST_OF(other_differences_make_no_pair, fixture *own, set_up, tear_down)
{
    const shape base = {23, 96, 2, 4, 1};
    const shape wider_batch = {23, 96, 3, 4, 1};
    const shape both = {31, 56, 2, 4, 1};
    st_pairs pairs = pairs_in(
        own, st_arena_printf(own->arena, HEAD "%s%s%s%s", row_of(own, "a", &base, 512, 2.5),
                             row_of(own, "b", &base, 768, 2.7),        /* width */
                             row_of(own, "c", &wider_batch, 512, 2.3), /* size of micro-batches */
                             row_of(own, "d", &base, 512, 2.6)));      /* measured twice */
    assert_int_equal(pairs.count, 0);
    assert_int_equal(pairs.kind_count, 0);
    pairs =
        pairs_in(own, st_arena_printf(own->arena, HEAD "%s%s", row_of(own, "a", &base, 512, 2.5),
                                      row_of(own, "b", &both, 512, 2.7)));
    assert_int_equal(pairs.kind_count, 1);
    assert_int_equal(pairs.kinds[0].edits, ST_EDIT_LAYERS | ST_EDIT_MICROS);
}

/* Three rows are three pairs; single edits come first. */
TEST(edits_are_joined_as_in_a_sentence)
{
    static const char *const texts[ST_EDIT_KINDS] = {
        [0] = "",
        [ST_EDIT_DP] = "dp",
        [ST_EDIT_PP] = "pp",
        [ST_EDIT_DP | ST_EDIT_PP] = "dp and pp",
        [ST_EDIT_LAYERS] = "layers",
        [ST_EDIT_DP | ST_EDIT_PP | ST_EDIT_LAYERS] = "dp, pp and layers",
        [ST_EDIT_MICROS] = "micro-batches",
        [ST_EDIT_DP | ST_EDIT_MICROS] = "dp and micro-batches",
        [ST_EDIT_PP | ST_EDIT_LAYERS | ST_EDIT_MICROS] = "pp, layers and micro-batches",
        [ST_EDIT_KINDS - 1] = "dp, pp, layers and micro-batches"};
    (void)state;
    for (unsigned edits = 0; edits < ST_EDIT_KINDS; edits++) {
        char text[ST_EDITS_TEXT] = "what was there";
        assert_ptr_equal(st_edits_text(edits, text), text);
        if (texts[edits] != NULL)
            assert_string_equal(text, texts[edits]);
    }
}

TEST_OF(kinds_are_counted_apart, fixture *own, set_up, tear_down)
{
    const shape shapes[] = {{23, 96, 2, 4, 1}, {31, 96, 2, 4, 1}, {31, 96, 2, 4, 3}};
    st_pairs pairs = pairs_in(own, st_arena_printf(own->arena, HEAD "%s%s%s",
                                                   row_of(own, "a", &shapes[0], 512, 2.5),
                                                   row_of(own, "b", &shapes[1], 512, 3.1),
                                                   row_of(own, "c", &shapes[2], 512, 1.3)));
    assert_int_equal(pairs.kind_count, 3);
    assert_int_equal(pairs.count, 6);
    assert_int_equal(pairs.kinds[0].edits, ST_EDIT_PP);
    assert_int_equal(pairs.kinds[1].edits, ST_EDIT_LAYERS);
    assert_int_equal(pairs.kinds[2].edits, ST_EDIT_PP | ST_EDIT_LAYERS);
    char text[ST_EDITS_TEXT];
    assert_string_equal(st_edits_text(pairs.kinds[2].edits, text), "pp and layers");
    assert_string_equal(st_edits_text(15, text), "dp, pp, layers and micro-batches");
    assert_string_equal(st_edits_text(ST_EDIT_MICROS, text), "micro-batches");
}

/* Fewer edits come first, whichever they are. */
TEST_OF(single_edits_come_before_joined_ones, fixture *own, set_up, tear_down)
{
    const shape shapes[] = {{23, 96, 2, 4, 1}, {23, 56, 2, 4, 1}, {31, 96, 2, 4, 3}};
    st_pairs pairs = pairs_in(own, st_arena_printf(own->arena, HEAD "%s%s%s",
                                                   row_of(own, "a", &shapes[0], 512, 2.5),
                                                   row_of(own, "b", &shapes[1], 512, 1.9),
                                                   row_of(own, "c", &shapes[2], 512, 1.3)));
    assert_int_equal(pairs.kind_count, 3);
    assert_int_equal(pairs.kinds[0].edits, ST_EDIT_MICROS);
    assert_int_equal(pairs.kinds[1].edits, ST_EDIT_PP | ST_EDIT_LAYERS);
    assert_int_equal(pairs.kinds[2].edits, ST_EDIT_PP | ST_EDIT_LAYERS | ST_EDIT_MICROS);
}

/* 4 replicas have a rest of 65 ms: a step of 50 ms has no time for layers. */
TEST_OF(a_step_shorter_than_its_rest_is_left_out, fixture *own, set_up, tear_down)
{
    const shape base = {23, 96, 2, 4, 1};
    const shape longer = {31, 96, 2, 4, 1};
    st_pairs pairs =
        pairs_in(own, st_arena_printf(own->arena, HEAD "%s%s", row_of(own, "a", &base, 512, 0.05),
                                      row_of(own, "b", &longer, 512, 1.9)));
    assert_int_equal(pairs.count, 0);
    assert_int_equal(pairs.slower, 1);
    st_buffer buffer = {0};
    write_pairs(own, &pairs, ST_FORM_TEXT, &buffer);
    assert_non_null(strstr(buffer.data, "no two rows differ"));
    assert_non_null(strstr(buffer.data, "1 pair left out: a step was shorter than"));
    st_buffer_free(&buffer);
}

TEST_OF(sheets_without_layers_are_refused, fixture *own, set_up, tear_down)
{
    st_measured_request request = toy_request(own);
    const st_measured_table table = {.file = below(own, "table.csv")};
    st_measured *sets = NULL;
    size_t count = 0;
    st_pairs pairs;
    write_text(own, "table.csv", "id,layers,global_batch,dp,target_iter_s\nr1,23,96,4,2.5\n");
    assert_int_equal(st_measured_read(&request, &table, own->arena, &sets, &count, own->errors),
                     ST_OK);
    assert_false(st_pairs_known(sets));
    assert_int_equal(st_pairs_of(sets, own->arena, &pairs, own->errors), ST_ERR_NAME);
    assert_non_null(strstr(said(own), "@/table.csv: error: cell step_time of sheet toy does not "
                                      "separate the time of layers: expected the step time of "
                                      "a sheet that fills site_factor and of step_terms steady "
                                      "and bubble, as megatron\n"));
}

/* Every form has every kind; CSV has its columns. */
TEST_OF(results_are_written, fixture *own, set_up, tear_down)
{
    const shape shapes[] = {{23, 96, 2, 4, 1}, {31, 96, 2, 4, 1}};
    st_pairs pairs = pairs_in(own, st_arena_printf(own->arena, HEAD "%s%s",
                                                   row_of(own, "a", &shapes[0], 512, 2.5),
                                                   row_of(own, "b", &shapes[1], 512, 3.1)));
    st_buffer buffer = {0};
    write_pairs(own, &pairs, ST_FORM_TEXT, &buffer);
    assert_non_null(strstr(buffer.data, "layers"));
    assert_non_null(strstr(buffer.data, "predicted"));
    st_buffer_free(&buffer);
    buffer = (st_buffer){0};
    write_pairs(own, &pairs, ST_FORM_JSON, &buffer);
    assert_non_null(strstr(buffer.data, "\"edit\": \"layers\""));
    assert_non_null(strstr(buffer.data, "\"from\": \"a\""));
    st_buffer_free(&buffer);
    buffer = (st_buffer){0};
    write_pairs(own, &pairs, ST_FORM_CSV, &buffer);
    size_t commas = 0;
    for (const char *c = buffer.data; *c != '\0'; c++)
        commas += *c == ',';
    assert_int_equal(commas, 20);
    assert_non_null(strstr(buffer.data, "\ntable.csv,layers,1,0."));
    st_buffer_free(&buffer);
}

/* ---- the public tables ---- */

static void check_table(const char *name, const double *limits)
{
    const char *data = getenv("STEPTIME_DATA");
    st_arena *arena = st_arena_create();
    st_errors *errors = st_errors_create();
    st_paths *paths = NULL;
    st_measured *sets = NULL;
    st_measured_request request = {0};
    size_t count = 0;
    st_pairs pairs;
    const char *file =
        st_arena_printf(arena, "%s/step_times/%s", data != NULL ? data : "../shared/data", name);
    if (access(file, R_OK) != 0) {
        print_message("[ SKIPPED  ] %s is not there (STEPTIME_DATA)\n", file);
        goto cleanup;
    }
    assert_int_equal(st_paths_create(NULL, 0, &paths, errors), ST_OK);
    request.paths = paths;
    assert_int_equal(
        st_table_sources_load(paths, arena, &request.sources, &request.source_count, errors),
        ST_OK);
    const st_measured_table table = {.file = file};
    assert_int_equal(st_measured_read(&request, &table, arena, &sets, &count, errors), ST_OK);
    assert_int_equal(count, 1);
    assert_int_equal(st_pairs_of(sets, arena, &pairs, errors), ST_OK);
    for (size_t i = 0; i < pairs.kind_count; i++) {
        char text[ST_EDITS_TEXT];
        const st_pair_kind *kind = &pairs.kinds[i];
        double limit = limits[kind->edits];
        if (limit > 0 && !(kind->errors.mean_absolute < limit))
            fail_msg("%s, %s: %.4f, at most %.4f", name, st_edits_text(kind->edits, text),
                     kind->errors.mean_absolute, limit);
    }

cleanup:
    st_paths_destroy(paths);
    st_errors_destroy(errors);
    st_arena_destroy(arena);
}

TEST_WITH(the_public_tables_stay_as_near, set_up, tear_down)
{
    static const double vtrain[ST_EDIT_KINDS] = {[ST_EDIT_DP] = 0.01,
                                                 [ST_EDIT_PP] = 0.035,
                                                 [ST_EDIT_LAYERS] = 0.03,
                                                 [ST_EDIT_MICROS] = 0.0125};
    static const double zero_bubble[ST_EDIT_KINDS] = {[ST_EDIT_MICROS] = 0.0125};
    check_table("vtrain_single.csv", vtrain);
    check_table("zero_bubble.csv", zero_bubble);
}

TESTS(pairs);
