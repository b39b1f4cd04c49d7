/* SPDX-License-Identifier: Apache-2.0 */
/* Known errors of a kind of estimates: which entry counts, and what is said of it. */
#include "megatron_support.h"

#include "estimate/estimate_internal.h"

#include <sys/stat.h>
#include <unistd.h>

static const char table[] =
    "errors:\n"
    "  - {gpu: h200-sxm, precision: fp8, model: experts, rows: 31, fitted: 4, median: 0.0585,"
    " nine_of_ten: 0.139, bias: -0.02385, stack: own-stack, sources: mine}\n"
    "  - {gpu: h200-sxm, precision: fp8, model: experts, rows: 62, fitted: 4, median: 0.2385,"
    " nine_of_ten: 0.3139, bias: 0.0585, sources: mine yours}\n"
    "  - {gpu: l40s, precision: 16bit, model: dense, rows: 1, fitted: 1, median: 0.074,"
    " nine_of_ten: 0.074, bias: 0.074, sources: mine}\n";

/* Searches a folder with the table, then the program itself. */
static st_status find(fixture *own, const st_error_kind *kind, const char *text,
                      st_error_band *band)
{
    char folder[] = "/tmp/steptime-errors-XXXXXX";
    st_paths *paths = NULL;
    st_sheet_reader reader;
    const st_sheet *sheet = NULL;
    assert_non_null(mkdtemp(folder));
    const char *configs = st_arena_printf(own->arena, "%s/configs", folder);
    const char *errors = st_arena_printf(own->arena, "%s/configs/errors", folder);
    const char *file = st_arena_printf(own->arena, "%s/configs/errors/megatron.yaml", folder);
    assert_int_equal(mkdir(configs, 0700) + mkdir(errors, 0700), 0);
    FILE *stream = fopen(file, "w");
    assert_non_null(stream);
    assert_true(fputs(text, stream) >= 0);
    assert_int_equal(fclose(stream), 0);
    assert_int_equal(st_paths_create(&(const char *){folder}, 1, &paths, own->errors), ST_OK);
    reader = st_paths_sheet_reader(paths);
    assert_int_equal(st_sheet_load(&reader, "megatron", own->arena, &sheet, own->errors), ST_OK);
    st_status status = st_error_band_find(paths, sheet, kind, own->arena, band, own->errors);
    st_paths_destroy(paths);
    assert_int_equal(unlink(file) + rmdir(errors) + rmdir(configs) + rmdir(folder), 0);
    return status;
}

TEST_OF(the_own_stack_comes_first, fixture *own, set_up, tear_down)
{
    st_error_band band;
    st_error_kind kind = {"h200-sxm", "fp8", "experts", "own-stack", false, false, NULL};
    assert_int_equal(find(own, &kind, table, &band), ST_OK);
    assert_string_equal(st_error_band_text(&band, own->arena),
                        "rows like this (h200-sxm, fp8, experts, own-stack) within 6 % (median) "
                        "and 15 % (9 of 10), 31 rows; 9 of 10 is the least that rows left out "
                        "allow");
    kind.stack = "another";
    assert_int_equal(find(own, &kind, table, &band), ST_OK);
    assert_int_equal(band.rows, 62);
    assert_true(band.median == 0.2385 && band.bias == 0.0585);
    assert_non_null(
        strstr(st_error_band_text(&band, own->arena), "experts, any stack) within 24 %"));
}

TEST_WITH(one_row_of_a_fit_is_called_so, set_up, tear_down)
{
    st_error_band band;
    const st_error_kind kind = {"l40s", "16bit", "dense", "", false, false, NULL};
    assert_int_equal(find(*state, &kind, table, &band), ST_OK);
    assert_string_equal(st_error_band_text(&band, ((fixture *)*state)->arena),
                        "rows like this (l40s, 16bit, dense, any stack) within 7 % (median) and "
                        "25 % (9 of 10), 1 row, all used in fits; 9 of 10 is the least that rows "
                        "left out allow");
}

TEST_OF(what_nobody_measured_is_not_known, fixture *own, set_up, tear_down)
{
    st_error_band band;
    const st_error_kind kind = {"h200-sxm", "16bit", "experts", "own-stack", false, false, NULL};
    assert_int_equal(find(own, &kind, table, &band), ST_OK);
    assert_string_equal(st_error_band_text(&band, own->arena),
                        "not known: no measured steps of this kind (h200-sxm, 16bit, experts, "
                        "own-stack); 9 of 10 of kinds left out are within 35 %");
    band = (st_error_band){0};
    assert_non_null(
        strstr(st_error_band_text(&band, own->arena), "no measured steps for this sheet"));
}

/* A plan that no row has widens the band, and is named. */
TEST_OF(other_plans_widen_the_band, fixture *own, set_up, tear_down)
{
    static const char rows[] =
        "errors:\n"
        "  - {gpu: l40s, precision: 16bit, model: dense, rows: 24, fitted: 0, median: 0.074,"
        " nine_of_ten: 0.2385, bias: 0.074, plans: whole stages, sources: mine}\n";
    st_error_band band;
    st_error_kind kind = {"l40s", "16bit", "dense", "", false, true, NULL};
    assert_int_equal(find(own, &kind, rows, &band), ST_OK);
    assert_true(band.nine_of_ten == 0.2385 && !band.is_floor && band.no_plan == NULL);
    kind.is_sharded = true;
    assert_int_equal(find(own, &kind, rows, &band), ST_OK);
    assert_true(band.nine_of_ten == 1.5 * 0.2385);
    assert_non_null(strstr(st_error_band_text(&band, own->arena),
                           "within 7 % (median) and 36 % (9 of 10), 24 rows; widened, no row has "
                           "ZeRO 2 or 3"));
}

/* A half-width grows where rows are few, and never below the floor of their number. */
TEST(half_widths_have_floors)
{
    (void)state;
    assert_true(st_error_half_width(10, 0.02385, true) == 0.15);
    assert_true(st_error_half_width(9, 0.02385, true) == 0.25);
    assert_true(st_error_half_width(0, 0, true) == 0.35);
    assert_true(st_error_half_width(10, 0.2385, true) == 0.2385);
    assert_true(st_error_half_width(9, 0.2385, false) == 1.5 * 0.25);
}

TEST_OF(a_wrong_table_is_told, fixture *own, set_up, tear_down)
{
    st_error_band band;
    const st_error_kind kind = {"l40s", "16bit", "dense", "", false, false, NULL};
    assert_int_equal(find(own, &kind,
                          "errors: [{gpu: l40s, precision: 16bit, model: dense, rows: few, "
                          "median: 0.074, nine_of_ten: 0.074, bias: 0.074}]\n",
                          &band),
                     ST_ERR_VALUE);
    const char *message = said(own);
    assert_non_null(strstr(message, "megatron.yaml:1:"));
    assert_non_null(strstr(message, "found 'few'"));
    assert_int_not_equal(find(own, &kind, "errors: [{gpu: l40s}]\n", &band), ST_OK);
    assert_non_null(strstr(said(own), "missing key 'precision'"));
}

/* What a job is: its files' names and its types. */
TEST_WITH(kinds_are_those_of_the_job, set_up, tear_down)
{
    st_estimate estimate = estimate_of(*state, "mixtral-8x7b-64xh100", "precision.fp8=true");
    const st_error_kind kind = st_error_kind_of(estimate.job);
    assert_string_equal(kind.gpu, "h100-sxm");
    assert_string_equal(kind.precision, "fp8");
    assert_string_equal(kind.model, "experts");
    estimate = estimate_of(*state, "gpt3-175b-64xa100", "precision.weights=fp16");
    assert_string_equal(st_error_kind_of(estimate.job).precision, "16bit");
    assert_string_equal(st_error_kind_of(estimate.job).model, "dense");
}

TESTS(error_band);
