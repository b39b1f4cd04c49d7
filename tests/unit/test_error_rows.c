/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of measured steps by kind: each row counts for its stack and for all stacks together. */
#include "fit_support.h"

#include "fit/steps/accuracy.h"
#include "fit/trees/shuffle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = 5, MOST_ROWS = 23 };

/* As they are to be listed: by GPU, precision, model and stack, all stacks first. */
static const struct {
    st_error_kind kind;
    size_t rows, fitted;
} kinds[KINDS] = {
    {{.gpu = "a100-sxm-80gb", .precision = "16bit", .model = "dense", .stack = ""}, 7, 3},
    {{.gpu = "h100-sxm", .precision = "16bit", .model = "dense", .stack = "megatron"}, 10, 0},
    {{.gpu = "h100-sxm", .precision = "16bit", .model = "dense", .stack = "torchtitan"}, 3, 2},
    {{.gpu = "h100-sxm", .precision = "fp8", .model = "dense", .stack = "megatron"}, 1, 1},
    {{.gpu = "h100-sxm", .precision = "fp8", .model = "experts", .stack = ""}, 2, 0},
};
static const char *const sources[] = {"li2024", "modern", "nemo"};

/* Of the i-th row of a kind: no two alike, of either sign. */
static double error_of(size_t kind, size_t i)
{
    double size = 0.0137 * (double)((i * 7 + kind * 3) % 11) + 0.0023 * (double)i + 0.0011;
    return (i + kind) % 3 == 0 ? -size : size;
}

static void fill(st_error_rows *rows, st_arena *arena)
{
    st_dice dice = st_dice_of(2385);
    size_t order[MOST_ROWS];
    st_error_row all[MOST_ROWS];
    size_t count = 0;
    for (size_t kind = 0; kind < KINDS; kind++)
        for (size_t i = 0; i < kinds[kind].rows; i++)
            all[count++] = (st_error_row){.kind = kinds[kind].kind,
                                          .error = error_of(kind, i),
                                          .fitted = i < kinds[kind].fitted,
                                          .source = sources[(i + kind) % 3]};
    assert_int_equal(count, MOST_ROWS);
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    st_shuffle(order, count, &dice);
    for (size_t i = 0; i < count; i++)
        assert_true(ST_APPEND(arena, rows->items, rows->count, all[order[i]]));
    /* a row of a job without a GPU is of no kind */
    const st_error_row nobody = {.kind = {.gpu = "", .precision = "", .model = "", .stack = ""},
                                 .error = 0.5,
                                 .source = "nobody"};
    assert_true(ST_APPEND(arena, rows->items, rows->count, nobody));
}

static int by_size(const void *left, const void *right)
{
    double a = fabs(*(const double *)left);
    double b = fabs(*(const double *)right);
    return (a > b) - (a < b);
}

static double number_behind(const char *line, const char *key)
{
    const char *found = strstr(line, key);
    if (found == NULL)
        fail_msg("'%s' is not in '%s'", key, line);
    return strtod(found + strlen(key), NULL);
}

static void expect_near(const char *line, const char *key, double wanted)
{
    double value = number_behind(line, key);
    if (!(fabs(value - wanted) <= 0.50001e-4))
        fail_msg("%s is %g, not %g, in '%s'", key, value, wanted, line);
}

/* A line of the file against the rows of the kinds that it is about. */
static void expect_line(const char *line, const size_t *of, size_t count)
{
    double errors[MOST_ROWS];
    size_t rows = 0;
    double fitted = 0;
    double sum = 0;
    for (size_t k = 0; k < count; k++) {
        fitted += (double)kinds[of[k]].fitted;
        for (size_t i = 0; i < kinds[of[k]].rows; i++) {
            errors[rows] = error_of(of[k], i);
            sum += errors[rows];
            errors[rows++] *= i < kinds[of[k]].fitted ? 1.3 : 1;
        }
    }
    qsort(errors, rows, sizeof errors[0], by_size);
    double lower = fabs(errors[(rows - 1) / 2]);
    size_t nine = (size_t)ceil(0.9 * (double)rows - 1e-9);
    expect_near(line, "rows: ", (double)rows);
    expect_near(line, "fitted: ", fitted);
    expect_near(line, "median: ", (lower + fabs(errors[rows / 2])) / 2);
    expect_near(line, "nine_of_ten: ", fabs(errors[nine - 1]));
    expect_near(line, "bias: ", sum / (double)rows);
}

TEST(kinds_are_listed_with_their_errors)
{
    static const struct {
        const char *head;
        size_t of[2], count;
        const char *sources;
    } lines[] = {
        {"{gpu: a100-sxm-80gb, precision: 16bit, model: dense, rows", {0}, 1, "li2024 modern nemo"},
        {"{gpu: h100-sxm, precision: 16bit, model: dense, rows", {1, 2}, 2, "li2024 modern nemo"},
        {"{gpu: h100-sxm, precision: 16bit, model: dense, stack: megatron,",
         {1},
         1,
         "li2024 modern nemo"},
        {"{gpu: h100-sxm, precision: 16bit, model: dense, stack: torchtitan,",
         {2},
         1,
         "li2024 modern nemo"},
        {"{gpu: h100-sxm, precision: fp8, model: dense, rows", {3}, 1, "li2024}"},
        {"{gpu: h100-sxm, precision: fp8, model: dense, stack: megatron,", {3}, 1, "li2024}"},
        {"{gpu: h100-sxm, precision: fp8, model: experts, rows", {4}, 1, "modern nemo}"},
    };
    st_arena *arena = st_arena_create();
    st_error_rows rows = {0};
    st_buffer text = {0};
    (void)state;
    assert_non_null(arena);
    fill(&rows, arena);
    assert_int_equal(st_error_rows_write(&rows, "megatron", arena, &text), ST_OK);
    const char *at = strstr(text.data, "errors:\n");
    assert_non_null(strstr(text.data, "sheet: megatron\n"));
    assert_non_null(strstr(text.data, "Errors of 24 estimates"));
    assert_non_null(at);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        at = strstr(at, "  - {");
        assert_non_null(at);
        const char *end = strstr(at + 1, "  - {");
        const char *line = st_arena_copy(arena, at, end != NULL ? (size_t)(end - at) : strlen(at));
        assert_non_null(line);
        if (strstr(line, lines[i].head) == NULL || strstr(line, lines[i].sources) == NULL)
            fail_msg("line %zu is '%s'", i, line);
        expect_line(line, lines[i].of, lines[i].count);
        at += 1;
    }
    assert_null(strstr(at, "  - {"));
    st_buffer_free(&text);
    st_arena_destroy(arena);
}

/* ---- collecting ---- */

#define PLAN_HEAD                                                                                  \
    "id,layers,hidden,heads,ffn,vocab,seq,micro_batch,global_batch,recompute,dtype,tp,pp,dp,cp,"   \
    "gpu,gpus,gpus_per_node,target_iter_s\n"
#define PLAN ",22,3072,24,12288,50257,2048,1,384,selective,bf16,4,2,6,1,A100-80GB-SXM,48,8,3.1\n"

enum { PLANS = 6 };

static st_measured *plans(fixture *own)
{
    static const char *const sets[] = {"cluster=dgx-a100", "cluster.nodes=6", "stack=plain"};
    const st_measured_request request = {.paths = own->paths, .sets = sets, .set_count = 3};
    st_measured *measured = good_rows(
        own, &request, PLAN_HEAD "a" PLAN "b" PLAN "c" PLAN "d" PLAN "e" PLAN "f" PLAN, NULL);
    assert_int_equal(measured->row_count, PLANS);
    for (size_t i = 0; i < PLANS; i++) {
        assert_null(measured->rows[i].left_out);
        measured->rows[i].error = 0.0125 * (double)(i + 1);
    }
    return measured;
}

/* Rows that were not compared, and those of no job, have no error to count. */
TEST_OF(rows_that_were_compared_are_collected, fixture *own, set_up, tear_down)
{
    st_measured *measured = plans(own);
    st_error_rows rows = {0};
    measured->rows[1].left_out = "no GPU";
    measured->rows[2].ran_out = true;
    measured->rows[3].job = NULL;
    measured->rows[4].error = (double)INFINITY;
    measured->rows[5].fitted = true;
    measured->name = "lab";
    assert_int_equal(st_error_rows_add(&rows, measured, own->arena), ST_OK);
    assert_int_equal(rows.count, 2);
    near_to(rows.items[0].error, 0.0125, 1e-14);
    near_to(rows.items[1].error, 0.075, 1e-14);
    assert_false(rows.items[0].fitted);
    assert_true(rows.items[1].fitted);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(rows.items[i].source, "lab");
        assert_string_equal(rows.items[i].kind.gpu, "a100-sxm-80gb");
        assert_string_equal(rows.items[i].kind.precision, "16bit");
        assert_string_equal(rows.items[i].kind.model, "dense");
        assert_string_equal(rows.items[i].kind.stack, "plain");
    }
}

/* What is compared is a step's time, or a rate: not memory, and not an operator alone. */
TEST_WITH(memory_and_operators_are_no_steps, set_up, tear_down)
{
    static const struct {
        const char *unit;
        bool counts;
    } cases[] = {{"ms", true}, {"GB", false}, {"GB/s", true}, {"TFLOP/s", true}, {"1", true}};
    fixture *own = *state;
    st_measured *measured = plans(own);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        st_error_rows rows = {0};
        st_type type = {.kind = ST_TYPE_NUMBER};
        assert_int_equal(st_unit_parse(cases[i].unit, strlen(cases[i].unit), (st_place){0},
                                       &type.unit, own->errors),
                         ST_OK);
        measured->type = &type;
        assert_int_equal(st_error_rows_add(&rows, measured, own->arena), ST_OK);
        assert_int_equal(rows.count, cases[i].counts ? PLANS : 0);
    }
    const st_measured_request toy = toy_request(own);
    st_error_rows rows = {0};
    assert_int_equal(
        st_error_rows_add(
            &rows,
            good_rows(own, &toy, "id,layers,global_batch,dp,target_iter_s\nx,3,8,2,1\n", NULL),
            own->arena),
        ST_OK);
    assert_int_equal(rows.count, 0);
}

/* The table says the stages of a row, and not its job. */
TEST_OF(rows_have_the_band_of_their_kind, fixture *own, set_up, tear_down)
{
    st_measured *measured = plans(own);
    st_error_kind kind = st_error_kind_of(measured->rows[0].job);
    assert_false(kind.has_stages);
    kind.has_stages = true;
    double band = 0;
    assert_int_equal(
        st_error_kind_band(own->paths, measured->sheet, &kind, own->arena, &band, own->errors),
        ST_OK);
    assert_true(band >= 0.15);
    measured->rows[1].left_out = "no GPU";
    measured->rows[4].error = -1.01 * band;
    measured->rows[5].error = -0.99 * band;
    assert_int_equal(st_rows_find_bands(own->paths, measured, own->arena, own->errors), ST_OK);
    near_to(measured->rows[0].band, band, 1e-14);
    near_to(measured->rows[1].band, 0, 1e-14);
    st_accuracy accuracy;
    assert_int_equal(st_accuracy_of(measured, own->arena, &accuracy), ST_OK);
    assert_int_equal(accuracy.groups[0].banded, 5);
    assert_int_equal(accuracy.groups[0].inside, 4);
}

TESTS(error_rows);
