/* SPDX-License-Identifier: Apache-2.0 */
/* What the report of a calibration says, of a solution made by hand. */
#include "forms_support.h"

#include "fit/steps/calibrate.h"

enum { CONSTANTS = 4, HELD = 2 };

/* Every number of a report, none like another. */
typedef struct made_report {
    st_type types[2];
    st_varied varied[CONSTANTS];
    st_condition condition;
    st_row rows[2];
    st_measured set;
    st_used_row used[2];
    st_held_group groups[HELD];
    st_held_group parts[HELD];
    st_held_group tests[HELD];
    st_held held;
    const char *columns[1];
    st_calibration calibration;
} made_report;

static st_error_summary summary_of(size_t count, double moved)
{
    return (st_error_summary){.count = count,
                              .mean_absolute = 0.0637 + moved,
                              .median_absolute = 0.0523 + moved,
                              .bias = moved - 0.0214,
                              .largest = 0.2387 + moved,
                              .within_5 = 0.312 + moved,
                              .within_10 = 0.513 + moved,
                              .within_15 = 0.714 + moved,
                              .within_20 = 0.815 + moved};
}

static void make_group(st_held_group *group, const char *value, size_t count, double moved)
{
    *group = (st_held_group){.value = value,
                             .errors = summary_of(count, moved),
                             .naive = {summary_of(count, moved + 0.1), summary_of(0, moved + 0.2)}};
}

static void make_constants(made_report *own)
{
    static const char *const paths[CONSTANTS] = {"constants.gemm", "constants.start",
                                                 "cluster.nic_bandwidth", "model.width"};
    st_solution *solution = &own->calibration.solution;
    own->types[0] = (st_type){.kind = ST_TYPE_NUMBER, .unit = unit_of("1")};
    own->types[1] = (st_type){.kind = ST_TYPE_NUMBER, .unit = unit_of("ms")};
    for (size_t i = 0; i < CONSTANTS; i++) {
        own->varied[i] = (st_varied){.path = paths[i],
                                     .name = paths[i],
                                     .type = &own->types[i % 2],
                                     .low = 0.001 * (double)(i + 2),
                                     .high = 0.75 + (double)i,
                                     .moves = true};
        solution->values[i] = 0.25 + (double)i / 16;
        solution->errors[i] = 0.0125;
        for (size_t k = 0; k < CONSTANTS; k++)
            solution->correlation[i][k] = i == k ? 1 : 0.385;
    }
    own->varied[1].name = "start of h100";
    own->varied[1].prior = 0.3;
    own->varied[1].sd = 0.17;
    own->varied[1].source = "a paper";
    solution->errors[2] = (double)NAN;
    solution->at_low[1] = true;
    solution->at_high[2] = true;
    own->varied[3].moves = false;
    solution->at_low[3] = true; /* nothing moves it from there, which says no more */
}

static void make_rows(made_report *own)
{
    own->rows[0] = (st_row){.id = "x", .measured = 2.385};
    own->rows[1] = (st_row){.id = "y", .measured = 3.75};
    own->set =
        (st_measured){.name = "book", .type = &own->types[1], .rows = own->rows, .row_count = 2};
    own->used[0] = (st_used_row){.row = 1, .test = true, .error = 0.0421, .error_left_out = 0.0532};
    own->used[1] = (st_used_row){.row = 0, .error = -0.017, .error_left_out = (double)NAN};
}

static st_calibration *make_report(made_report *own)
{
    *own = (made_report){0};
    st_calibration *calibration = &own->calibration;
    make_constants(own);
    make_rows(own);
    calibration->sets = &own->set;
    calibration->set_count = 1;
    calibration->varied = own->varied;
    calibration->varied_count = CONSTANTS;
    calibration->rows = own->used;
    calibration->row_count = 2;
    calibration->scale = 0.125;
    calibration->errors = summary_of(37, 0);
    calibration->left_out = summary_of(37, 0.01);
    calibration->folds = 10;
    calibration->solution.cost = 0.6185;
    calibration->solution.freedom = 3.26;
    calibration->solution.iterations = 59;
    return calibration;
}

/* Rows of two GPUs, each by a fit to the other's, and rows that no fit has seen. */
static void hold_out(made_report *own)
{
    make_group(&own->groups[0], "h100", 21, 0.02);
    make_group(&own->groups[1], "a100", 16, 0.03);
    make_group(&own->parts[0], "", 37, 0.04);
    make_group(&own->parts[1], "dense", 29, 0.05);
    make_group(&own->tests[0], "", 8, 0.06);
    make_group(&own->tests[1], "experts", 5, 0.07);
    own->columns[0] = "gpu";
    own->held = (st_held){.column = "gpu",
                          .groups = own->groups,
                          .group_count = HELD,
                          .parts = own->parts,
                          .part_count = HELD};
    own->calibration.columns = own->columns;
    own->calibration.column_count = 1;
    own->calibration.held = &own->held;
    own->calibration.tests = own->tests;
    own->calibration.test_count = HELD;
}

static void report(fixture *own, const st_calibration *calibration)
{
    const st_fit_record record = {.date = "2026-11-21"};
    st_calibration_report(calibration, &record, own->arena, &own->result);
    write_forms(own);
}

TEST_WITH(the_title_says_how_it_was_fitted, set_up, tear_down)
{
    made_report made;
    st_calibration *calibration = make_report(&made);
    calibration->logarithms = true;
    calibration->noise = 0.07;
    report(*state, calibration);
    SAYS(*state, "4 constants fitted to 37 measured rows with 3.3 degrees of freedom, squares of "
                 "logarithmic errors, linear above 12.5 %\n");
    HAS(*state, "\"date\": \"2026-11-21\"", "\"loss\": \"soft-l1\"", "\"scale\": 0.125",
        "\"cost\": 0.6185", "\"iterations\": 59", "\"freedom\": 3.26", "\"folds\": 10");
}

TEST_WITH(one_of_each_is_no_plural, set_up, tear_down)
{
    made_report made;
    st_calibration *calibration = make_report(&made);
    calibration->varied_count = 1;
    calibration->errors.count = 1;
    calibration->loss = ST_LOSS_SQUARE;
    report(*state, calibration);
    SAYS(*state, "1 constant fitted to 1 measured row, squares of relative errors\n");
    assert_silent(*state, "linear above");
    HAS(*state, "\"loss\": \"square\"");
}

/* Bounds are told of constants that rows are sensitive to. */
TEST_WITH(constants_stand_with_bounds_and_notes, set_up, tear_down)
{
    made_report made;
    report(*state, make_report(&made));
    SAYS(*state, " fitted standard error from to\n constants.gemm 0.25 0.0125 0.002 0.75",
         "\n constants.start 312.5 ms 12.5 ms 3 ms 1750 ms at its lower bound\n",
         "\n cluster.nic_bandwidth 0.375 unknown 0.004 2.75 at its upper bound\n",
         "\n model.width 437.5 ms 12.5 ms 5 ms 3750 ms no row is sensitive to it\n");
    assert_silent(*state, "sd of its log");
    HAS(*state, "\"key\": \"constants.gemm\"", "\"at_bound\": false",
        "\"correlations\": [1, 0.385, 0.385, 0.385]", "\"name\": \"start of h100\"",
        "\"at_bound\": true", "\"correlations\": [0.385, 1, 0.385, 0.385]");
    HAS(*state, "\"sd\": null", "\"source\": null", "\"sd\": 0.17", "\"source\": \"a paper\"");
}

/* With priors and without, as all that stands below the title. */
TEST(tables_are_indented)
{
    for (int priors = 0; priors < 2; priors++) {
        made_report made;
        fixture *own = NULL;
        st_buffer text = {0};
        st_calibration *calibration = make_report(&made);
        calibration->noise = priors * 0.07;
        hold_out(&made);
        assert_int_equal(set_up((void **)&own), 0);
        report(own, calibration);
        st_result_write_text(&own->result, &(st_paint){false, 0}, &text);
        assert_contains(text.data, "\n  constants.gemm  ");
        assert_contains(text.data, "\n  rows of the fit  ");
        assert_contains(text.data, "\n  h100  ");
        st_buffer_free(&text);
        tear_down((void **)&own);
    }
    (void)state;
}

TEST_WITH(priors_have_columns_of_their_own, set_up, tear_down)
{
    made_report made;
    st_calibration *calibration = make_report(&made);
    calibration->noise = 0.07;
    report(*state, calibration);
    SAYS(*state,
         " fitted standard error from to prior sd of its log\n"
         " constants.gemm 0.25 0.0125 0.002 0.75 - -",
         "\n start of h100 312.5 ms 12.5 ms 3 ms 1750 ms 300 ms 0.17 at its lower bound\n");
}

TEST_WITH(errors_of_rows_left_out_are_shown_where_there_are, set_up, tear_down)
{
    made_report made;
    report(*state, make_report(&made));
    SAYS(*state,
         " errors rows mean median bias max in 5 % in 10 % in 20 %\n"
         " rows of the fit 37 6.4 % 5.2 % -2.1 % 23.9 % 31.2 % 51.3 % 81.5 %\n",
         " each tenth by a fit to the others 37 7.4 %");
    assert_silent(*state, "each row by a fit");
}

TEST_WITH(a_fold_may_be_a_row_and_there_may_be_none, set_up, tear_down)
{
    made_report made;
    st_calibration *calibration = make_report(&made);
    calibration->folds = 37;
    report(*state, calibration);
    SAYS(*state, " each row by a fit to the others 37 7.4 %");
    assert_silent(*state, "each tenth");
}

TEST_WITH(whole_fits_leave_nothing_out, set_up, tear_down)
{
    made_report made;
    st_calibration *calibration = make_report(&made);
    calibration->folds = 0;
    report(*state, calibration);
    assert_silent(*state, "by a fit to the others");
    assert_silent(*state, "that no fit has seen");
    HAS(*state, "\"left_out\": []", "\"tests\": []");
}

TEST_WITH(values_of_a_column_are_left_out_in_turn, set_up, tear_down)
{
    made_report made;
    st_calibration *calibration = make_report(&made);
    hold_out(&made);
    report(*state, calibration);
    SAYS(*state,
         " each gpu by a fit to the others rows mean median bias max in 15 %\n"
         " h100 21 8.4 % 7.2 % -0.1 % 25.9 % 73.4 %\n a100 16 9.4 %",
         "\n all of these 37 10.4 %", "\n dense 29 11.4 %",
         "rows that no fit has seen rows mean median bias max in 15 %\n all of these 8 12.4 %",
         "\n experts 5 13.4 %");
    assert_silent(*state, "constant MFU");
    HAS(*state, "\"column\": \"gpu\"", "\"value\": \"h100\"", "\"parts\": [",
        "\"value\": \"dense\"");
}

/* Naive estimates of one kind are enough to show both columns. */
TEST(what_is_naive_stands_beside)
{
    for (size_t i = 0; i < ST_NAIVES; i++) {
        made_report made;
        fixture *own = NULL;
        st_calibration *calibration = make_report(&made);
        hold_out(&made);
        calibration->alike[i].count = 2;
        assert_int_equal(set_up((void **)&own), 0);
        report(own, calibration);
        SAYS(own,
             "bias max in 15 % constant MFU nearest row\n"
             " h100 21 8.4 % 7.2 % -0.1 % 25.9 % 73.4 % 18.4 % 28.4 %\n",
             "no fit has seen rows mean median bias max in 15 % constant MFU nearest row\n");
        HAS(own, "\"constant_mfu\": {\"rows\": 21", "\"nearest_row\": {\"rows\": 0");
        tear_down((void **)&own);
    }
    (void)state;
}

TEST_WITH(rows_tell_programs_their_errors, set_up, tear_down)
{
    made_report made;
    report(*state, make_report(&made));
    HAS(*state, "\"id\": \"y\"", "\"source\": \"book\"", "\"measured\": 3750", "\"test\": true",
        "\"error\": 0.0421", "\"error_left_out\": 0.0532", "\"id\": \"x\"", "\"test\": false",
        "\"error_left_out\": null");
}

/* What holds for some rows alone, and constants, have a file. */
TEST_WITH(keys_that_are_no_constants_have_advice, set_up, tear_down)
{
    made_report made;
    st_calibration *calibration = make_report(&made);
    made.varied[3].when.condition_count = 1;
    report(*state, calibration);
    SAYS(*state, " cluster.nic_bandwidth is not a constant; set it in the jobs, or give --set "
                 "'cluster.nic_bandwidth=0.375'\n");
    assert_silent(*state, "model.width is no constant");
    assert_silent(*state, "constants.gemm is no constant");
}

/* ---- files of constants ---- */

/* The whole file of a calibration without a sheet. */
static const char *file_of(fixture *own, const st_calibration *calibration)
{
    static const st_measured_table tables[] = {{.file = "far/runs.csv", .filter = "gpu=h100"},
                                               {.file = "other.csv"}};
    static const char *const sets[] = {"model.width=23"};
    static const char *const refine[] = {"nccl-whitebox"};
    const st_fit_record record = {.date = "2026-11-21",
                                  .tables = tables,
                                  .table_count = COUNT(tables),
                                  .sets = sets,
                                  .set_count = 1,
                                  .refine = refine,
                                  .refine_count = 1};
    st_buffer text = {0};
    st_calibration_write_yaml(calibration, &record, &text);
    assert_false(text.failed);
    const char *kept = st_arena_copy(own->arena, text.data, text.length);
    st_buffer_free(&text);
    assert_non_null(kept);
    return kept;
}

/* A tenth of a standard error is the last place of a value; half of that, of the error itself. */
TEST_WITH(values_have_the_digits_that_mean_something, set_up, tear_down)
{
    made_report made;
    st_calibration *calibration = make_report(&made);
    const double values[CONSTANTS] = {0.25684, 0.31234, 0.375123, 0.437125};
    const double errors[CONSTANTS] = {0.01284, 0.01234, (double)NAN, 0};
    memcpy(calibration->solution.values, values, sizeof values);
    memcpy(calibration->solution.errors, errors, sizeof errors);
    calibration->set_count = 0;
    const char *text = file_of(*state, calibration);
    assert_contains(text, "source: steptime fit, 2026-11-21\ngemm: 0.257\nstart: 312 ms\nfit:\n");
    assert_contains(
        text,
        "  loss: soft-l1\n  scale: 0.125\n  constants:\n"
        "    constants.gemm: {value: 0.257, standard_error: 0.013, low: 0.002, high: 0.75}\n"
        "    \"start of h100\": {key: constants.start, value: 312 ms, standard_error: 12 ms, low: "
        "3 "
        "ms, high: 1750 ms, at_bound: low, prior: 300 ms, sd: 0.17, source: \"a paper\"}\n"
        "    cluster.nic_bandwidth: {value: 0.375123, standard_error: unknown, low: 0.004, high: "
        "2.75, at_bound: high}\n"
        "    model.width: {value: 437.125 ms, standard_error: 0 ms, low: 5 ms, high: 3750 ms, "
        "at_bound: low}\n"
        "  errors: {rows: 37, mean: 0.0637, median: 0.0523, bias: -0.0214, largest: 0.2387}\n"
        "  errors_each_tenth_left_out: {rows: 37, mean: 0.0737, median: 0.0623, bias: -0.0114, "
        "largest: 0.2487}\n"
        "  tables:\n    - {file: \"runs.csv\", rows: \"gpu=h100\"}\n    - {file: \"other.csv\"}\n"
        "  set:\n    - \"model.width=23\"\n  refine:\n    - \"nccl-whitebox\"\n"
        "  rows: [\n    x]\n"); /* y is a test */
}

TEST_WITH(a_file_says_what_was_left_out, set_up, tear_down)
{
    made_report made;
    st_calibration *calibration = make_report(&made);
    hold_out(&made);
    calibration->set_count = 0;
    calibration->folds = 37;
    calibration->noise = 0.0712345678;
    calibration->loss = ST_LOSS_SQUARE;
    made.varied[0].when.condition_count = 1;
    made.varied[0].name = "true";
    made.varied[3].name = "a100-sxm.2_b/c";
    const char *text = file_of(*state, calibration);
    assert_contains(text, "2026-11-21\nstart: "); /* gemm is not for all rows */
    assert_contains(text, "  loss: square\n  constants:\n    \"true\": {key: constants.gemm, ");
    assert_contains(text, "\n    a100-sxm.2_b/c: {key: model.width, ");
    assert_contains(text, "  noise: 0.071235\n  degrees_of_freedom: 3.26\n  errors: {");
    assert_contains(text, "\n  errors_each_row_left_out: {rows: 37, mean: 0.0737, ");
    assert_contains(text,
                    "\n  errors_left_out_by:\n    gpu: {rows: 37, mean: 0.1037, median: 0.0923, "
                    "bias: 0.0186, largest: 0.2787}\n");
}

/* Lines have at most 98 columns: four blanks, an id and a comma, then a blank more for each. */
TEST_WITH(ids_stand_as_many_on_a_line_as_it_holds, set_up, tear_down)
{
    static const char *const first = "a123456789012345678901234567890123456789";
    for (size_t length = 51; length <= 52; length++) {
        char second[64] = "";
        made_report made;
        st_calibration *calibration = make_report(&made);
        memset(second, 'b', length);
        second[length] = '\0';
        made.rows[0].id = first;
        made.rows[1].id = second;
        made.used[0] = (st_used_row){.row = 0};
        made.used[1] = (st_used_row){.row = 1};
        calibration->set_count = 0;
        char wanted[160];
        (void)snprintf(wanted, sizeof wanted, "  rows: [\n    %s,%s%s]\n", first,
                       length == 51 ? " " : "\n    ", second);
        assert_contains(file_of(*state, calibration), wanted);
    }
}

TESTS(calibration_report);
