/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fits that stand in a file: constants for some of the rows, what is known of them beforehand, and
 * what a fit must beat.
 */
#include "fit_support.h"

#include "fit/steps/fit_spec.h"

enum { ROWS = 24 };

static const double first_work_s = 2.385e-3;
static const double other_work_s = 5.13e-3;
static const double start_s = 0.771;

/* Rows of two machines, whose layers take different times. */
static const char *table_of(fixture *own)
{
    st_buffer text = {0};
    st_buffer_text(&text, "id,layers,global_batch,dp,machine,target_iter_s\n");
    for (size_t i = 0; i < ROWS; i++) {
        double layers = 11 + 6 * (double)(i % 7);
        double dp = 3 + (double)(i % 5);
        double global = dp * (7 + (double)(i % 11));
        double work_s = i % 2 == 0 ? first_work_s : other_work_s;
        st_buffer_printf(&text, "r%zu,%.0f,%.0f,%.0f,%s,%.17g\n", i, layers, global, dp,
                         i % 2 == 0 ? "m1" : "m2", toy_time(layers, global, dp, work_s, start_s));
    }
    assert_false(text.failed);
    const char *copy = st_arena_copy(own->arena, text.data, text.length);
    st_buffer_free(&text);
    assert_non_null(copy);
    return copy;
}

static st_status load(fixture *own, const char *text, st_fit_spec *spec)
{
    write_text(own, "fit.yaml", text);
    return st_fit_spec_load(below(own, "fit.yaml"), own->arena, spec, own->errors);
}

static st_status read_all(fixture *own, const char *text, st_calibration *calibration)
{
    st_fit_spec spec;
    st_measured_request request = toy_request(own);
    const char *table = table_of(own);
    st_status status = load(own, text, &spec);
    if (status != ST_OK)
        return status;
    *calibration = (st_calibration){
        .sets = good_rows(own, &request, table, NULL), .set_count = 1, .scale = 0.1};
    return st_fit_spec_apply(&spec, calibration, own->arena, own->errors);
}

static st_calibration fit(fixture *own, const char *text)
{
    st_calibration calibration;
    if (read_all(own, text, &calibration) != ST_OK ||
        st_calibrate(&calibration, own->arena, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    return calibration;
}

static void refuse(fixture *own, const char *text, const char *words)
{
    st_calibration calibration;
    st_status status = read_all(own, text, &calibration);
    const char *messages = said(own);
    if (status == ST_OK || strstr(messages, words) == NULL)
        fail_msg("status %d, expected '%s' in:\n%s", status, words, messages);
}

#define TABLES "tables: [{file: runs.csv}]\nerrors: log\n"
#define FIRST                                                                                      \
    "  - {key: constants.work, name: work on m1, low: 0.1 ms, high: 90 ms, if: {machine: m1}}\n"

/* Of constants that something was known of, what that was; of others nothing. */
static void expect_priors(const st_calibration *fitted)
{
    const st_fit_record record = {
        .date = "2026-11-23", .tables = &(st_measured_table){.file = "runs.csv"}, .table_count = 1};
    st_buffer text = {0};
    size_t count = 0;
    st_calibration_write_yaml(fitted, &record, &text);
    assert_false(text.failed);
    for (const char *at = strstr(text.data, "prior: "); at != NULL; at = strstr(at + 1, "prior: "))
        count++;
    assert_int_equal(count, 2);
    assert_non_null(strstr(text.data, ", prior: 4 ms, sd: 3"));
    assert_non_null(strstr(text.data, ", prior: 0.6 s, sd: 2.5"));
    st_buffer_free(&text);
}

TEST_WITH(constants_hold_for_some_rows, set_up, tear_down)
{
    const st_calibration fitted =
        fit(*state, TABLES "constants:\n" FIRST
                           "  - {key: constants.work, name: work elsewhere, prior: 4 ms, sd: 3}\n"
                           "  - {key: constants.start, prior: 0.6 s, sd: 2.5}\n"
                           "leave_out: [machine]\n");
    near_to(fitted.solution.values[0], first_work_s, 1e-3); /* priors pull a little */
    near_to(fitted.solution.values[1], other_work_s, 1e-3);
    near_to(fitted.solution.values[2], start_s, 1e-3);
    near_to(fitted.solution.freedom, 3, 2e-3);
    near_to(fitted.varied[1].low, 4e-3 * exp(-12), 1e-12);
    near_to(fitted.varied[1].high, 4e-3 * exp(12), 1e-12);
    assert_string_equal(fitted.varied[1].path, "constants.work");
    assert_true(fitted.errors.largest < 1e-3);
    expect_priors(&fitted);
    assert_int_equal(fitted.folds, 0);
    assert_int_equal(fitted.held[0].group_count, 2);
    /* without m1 its constant has no row and no prior: nothing can be said of m1 */
    assert_int_equal(fitted.held[0].groups[0].errors.count, 0);
    /* without m2 its constant stays at what is known beforehand */
    assert_int_equal(fitted.held[0].groups[1].errors.count, ROWS / 2);
    assert_true(fitted.held[0].groups[1].errors.bias < -0.05);
}

TEST_WITH(what_no_row_tells_stays, set_up, tear_down)
{
    const st_calibration fitted =
        fit(*state, TABLES "constants:\n" FIRST
                           "  - {key: constants.work, name: work elsewhere, prior: 4 ms, sd: 3}\n"
                           "  - {key: constants.start, name: start of m1, prior: 0.6 s, sd: 2.5, "
                           "unless: {machine: m9}}\n"
                           "  - {key: constants.start, name: start of m9, prior: 3.3 s, sd: 0.31, "
                           "if: {machine: m9}}\n");
    near_to(fitted.solution.values[3], 3.3, 1e-6);
    near_to(fitted.solution.errors[3], 3.3 * 0.31, 1e-3);
    assert_false(fitted.varied[3].moves);
    assert_true(fitted.varied[2].moves);
    assert_non_null(strstr(said(*state), "no row is sensitive to start of m9, which stays at its "
                                         "prior"));
}

/* Without a prior there is nothing that it could stay at. */
TEST_OF(what_no_row_tells_needs_a_prior, fixture *own, set_up, tear_down)
{
    st_calibration calibration;
    assert_int_equal(read_all(own,
                              TABLES "constants:\n" FIRST
                                     "  - {key: constants.work, prior: 4 ms, sd: 3}\n"
                                     "  - {key: constants.start, name: start of m9, low: 0.1 s, "
                                     "high: 2 s, if: {machine: m9}}\n",
                              &calibration),
                     ST_OK);
    assert_int_equal(st_calibrate(&calibration, own->arena, own->errors), ST_ERR_VALUE);
    assert_non_null(strstr(said(own), "no row is sensitive to start of m9; leave it out"));
}

TEST_OF(tests_are_estimated_and_not_fitted, fixture *own, set_up, tear_down)
{
    st_calibration calibration;
    if (read_all(own,
                 TABLES "constants:\n" FIRST
                        "  - {key: constants.work, name: work elsewhere, prior: 4 ms, sd: 3}\n"
                        "  - {key: constants.start, prior: 0.6 s, sd: 2.5}\n"
                        "leave_out: [machine]\n",
                 &calibration) != ST_OK)
        fail_msg("%s", said(own));
    st_measured sets[2] = {calibration.sets[0]};
    st_measured_request request = toy_request(own);
    sets[1] = *good_rows(own, &request,
                         "id,layers,global_batch,dp,machine,target_iter_s\n"
                         "t1,23,96,4,m1,9.1\nt2,29,90,3,m2,8.7\n",
                         NULL);
    calibration.sets = sets;
    calibration.set_count = 2;
    calibration.first_test = 1;
    if (st_calibrate(&calibration, own->arena, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    near_to(calibration.solution.values[0], first_work_s, 1e-3);
    near_to(calibration.solution.values[1], other_work_s, 1e-3);
    assert_int_equal(calibration.errors.count, ROWS);
    assert_int_equal(calibration.held[0].parts[0].errors.count, ROWS / 2);
    assert_int_equal(calibration.test_count, 1);
    assert_int_equal(calibration.tests[0].errors.count, 2);
    double first = toy_time(23, 96, 4, first_work_s, start_s) / 9.1 - 1;
    double second = toy_time(29, 90, 3, other_work_s, start_s) / 8.7 - 1;
    near_to(calibration.tests[0].errors.bias, (first + second) / 2, 2e-3);
}

/* Bounds and a prior on both sides of what they may be. */
TEST_WITH(constants_lie_between_their_bounds, set_up, tear_down)
{
    static const struct {
        const char *range;
        const char *words; /* NULL: taken */
    } cases[] = {
        {"low: 2 ms, high: 2.001 ms", NULL},
        {"low: 2 ms, high: 2 ms", "its bounds are equal or reversed"},
        {"low: 2 ms, high: 1.999 ms", "its bounds are equal or reversed"},
        {"low: 0 ms, high: 2 ms", "its lower bound is not above 0"},
        {"low: 0.001 us, high: 2 ms", NULL},
        {"low: 2 ms, high: 9 ms, prior: 2 ms, sd: 1", "its prior is out of bounds"},
        {"low: 2 ms, high: 9 ms, prior: 9 ms, sd: 1", "its prior is out of bounds"},
        {"low: 2 ms, high: 9 ms, prior: 2.01 ms, sd: 1", NULL},
        {"low: 2 ms, high: 9 ms, prior: 8.99 ms, sd: 1", NULL},
        {"low: 2 ms, high: 9 ms, sd: 1", "'prior' and its standard deviation 'sd'"},
        {"prior: 4 ms, sd: 0.5", NULL},
        {"prior: 4 ms, sd: 0.5, low: 3 ms", NULL},
    };
    fixture *own = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        st_calibration calibration;
        const char *text = st_arena_printf(
            own->arena, TABLES "constants:\n  - {key: constants.work, %s}\n", cases[i].range);
        st_status status = read_all(own, text, &calibration);
        const char *messages = said(own);
        if (cases[i].words == NULL ? status != ST_OK : strstr(messages, cases[i].words) == NULL)
            fail_msg("case %zu: status %d, '%s'", i, (int)status, messages);
        if (i == 10) { /* four standard deviations either way */
            near_to(calibration.varied[0].low, 4e-3 * exp(-2), 1e-12);
            near_to(calibration.varied[0].high, 4e-3 * exp(2), 1e-12);
            near_to(calibration.varied[0].start, 4e-3, 1e-12);
        }
        if (i == 0)
            assert_true(isnan(calibration.varied[0].start));
    }
}

TEST_WITH(wrong_files_are_refused, set_up, tear_down)
{
    refuse(*state, "constants: []\n", "missing key 'tables'");
    refuse(*state, "tables: [{rows: x=3}]\nconstants: []\n",
           "missing location of the table: expected either 'file'");
    refuse(*state, TABLES "constants:\n  - {key: constants.wrok, prior: 4 ms, sd: 3}\n",
           "fit.yaml:4:5: error: no sheet reads 'constants.wrok'; did you mean 'constants.work'?");
    refuse(*state,
           TABLES "constants:\n  - {key: constants.work, prior: 4 ms, low: 1 ms, "
                  "high: 9 ms}\n",
           "constants.work: 'prior' and its standard deviation 'sd' require each other");
    refuse(*state, TABLES "constants:\n  - {key: constants.work, prior: 4 ms, sd: 1, low: 5 ms}\n",
           "constants.work: its prior is out of bounds");
    refuse(*state, TABLES "constants:\n  - {key: constants.work, low: 5 ms}\n",
           "constants.work: its bounds are equal or reversed");
    refuse(*state, TABLES "constants:\n  - {key: constants.work, high: 5 ms}\n",
           "constants.work: its lower bound is not above 0");
    refuse(*state, TABLES "constants:\n  - {key: constants.work, prior: 4 GB, sd: 1}\n", "4 GB");
    refuse(*state, TABLES "constants:\n" FIRST FIRST,
           "duplicate 'work on m1'; give each its own 'name'");
    refuse(*state, TABLES "loss: cubic\nconstants:\n" FIRST,
           "'loss': found 'cubic', expected soft-l1 or square");
    refuse(*state, TABLES "noise: 0 %\nconstants:\n" FIRST, "'noise' is not above zero");
}

/* ---- what a fit must beat ---- */

TEST_OF(the_mfu_of_others, fixture *own, set_up, tear_down)
{
    st_measured_request request = toy_request(own);
    const st_measured *rows = good_rows(own, &request,
                                        "id,layers,global_batch,dp,gpu_name,experts,seq,"
                                        "target_iter_s\n"
                                        "r1,23,96,4,A,,11,2.5\nr2,23,96,4,A,8,11,2.5\n"
                                        "r3,23,96,4,A,16,17,2.5\nr4,23,96,4,B,,17,2.5\n"
                                        "r5,23,96,4,B,32,11,2.5\nr6,23,96,4,A,64,19,2.5\n",
                                        NULL);
    st_used_row used[6];
    for (size_t i = 0; i < 6; i++)
        used[i] = (st_used_row){.row = i};
    static const char *const same[] = {"gpu_name", "experts?"};
    static const char *const near[] = {"gpu_name", "seq"};
    const st_calibration calibration = {
        .sets = rows,
        .set_count = 1,
        .rows = used,
        .row_count = 6,
        .alike = {[ST_NAIVE_MFU] = {same, 2}, [ST_NAIVE_NEAREST] = {near, 2}}};
    const double mfu[] = {0.31, 0.37, 0.43, 0.53, 0.23, 0.47};
    const bool seen[] = {true, false, true, true, true, true};
    double scratch[6];
    /* experts on A: r3 and r6 */
    near_to(st_naive_mfu(&calibration, ST_NAIVE_MFU, 1, mfu, seen, scratch), 0.45, 1e-14);
    /* no row on B without experts but itself is seen: those without experts anywhere */
    const bool without[] = {true, true, true, false, true, true};
    near_to(st_naive_mfu(&calibration, ST_NAIVE_MFU, 3, mfu, without, scratch), 0.31, 1e-14);
    /* the same sequence counts more than the same GPU, the GPU decides between equals */
    near_to(st_naive_mfu(&calibration, ST_NAIVE_NEAREST, 1, mfu, seen, scratch), 0.31, 1e-14);
    near_to(st_naive_mfu(&calibration, ST_NAIVE_NEAREST, 3, mfu, without, scratch), 0.43, 1e-14);
}

TESTS(fit_spec);
