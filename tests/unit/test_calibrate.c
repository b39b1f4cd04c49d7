/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calibration against what can be computed otherwise. Estimates of TOY are linear in its two
 * constants, so that least squares of relative errors are a linear problem: its normal equations
 * give the constants, their standard errors and the errors of rows left out, with nothing of
 * estimator/fit in between.
 */
#include "fit_support.h"

enum { ROWS = 40 };

/* What a run is made of. */
typedef struct sample {
    double layers;
    double global;
    double dp;
    double measured_s;
    int batch; /* of the --group */
} sample;

static const double true_work_s = 2.385e-3;
static const double true_start_s = 0.771;

/* The same numbers everywhere: a linear congruential generator. */
static double noise(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005U + 1442695040888963407U;
    return (double)(*seed >> 11) / 9007199254740992.0 - 0.5;
}

static void make_samples(sample *samples, double size)
{
    uint64_t seed = 2385;
    for (size_t i = 0; i < ROWS; i++) {
        sample *own = &samples[i];
        own->layers = 11 + (double)(i % 7) * 6;
        own->dp = 3 + (double)(i % 5);
        own->global = own->dp * (7 + (double)(i % 11));
        own->batch = (int)(i % 4);
        own->measured_s = toy_time(own->layers, own->global, own->dp, true_work_s, true_start_s) *
                          (1 + size * noise(&seed));
    }
}

static const char *table_of(fixture *own, const sample *samples, size_t count)
{
    st_buffer text = {0};
    st_buffer_text(&text, "id,layers,global_batch,dp,batch,target_iter_s\n");
    for (size_t i = 0; i < count; i++)
        st_buffer_printf(&text, "r%zu,%.0f,%.0f,%.0f,b%d,%.17g\n", i, samples[i].layers,
                         samples[i].global, samples[i].dp, samples[i].batch, samples[i].measured_s);
    assert_false(text.failed);
    const char *copy = st_arena_copy(own->arena, text.data, text.length);
    assert_non_null(copy);
    st_buffer_free(&text);
    return copy;
}

/* Relative errors are A x - 1 with rows (work's share, start's share). */
typedef struct linear {
    double work_s;
    double start_s;
    double work_error_s;
    double start_error_s;
} linear;

static double work_share(const sample *own)
{
    return own->layers * own->global / own->dp / own->measured_s;
}

static linear solve_without(const sample *samples, size_t count, size_t left_out)
{
    double ww = 0;
    double ws = 0;
    double ss = 0;
    double w = 0;
    double s = 0;
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (i == left_out)
            continue;
        double a = work_share(&samples[i]);
        double b = 1 / samples[i].measured_s;
        ww += a * a;
        ws += a * b;
        ss += b * b;
        w += a;
        s += b;
        used++;
    }
    double determinant = ww * ss - ws * ws;
    linear own = {.work_s = (w * ss - s * ws) / determinant,
                  .start_s = (s * ww - w * ws) / determinant};
    double squares = 0;
    for (size_t i = 0; i < count; i++) {
        double error =
            own.work_s * work_share(&samples[i]) + own.start_s / samples[i].measured_s - 1;
        squares += i == left_out ? 0 : error * error;
    }
    double variance = squares / (double)(used - 2);
    own.work_error_s = sqrt(variance * ss / determinant);
    own.start_error_s = sqrt(variance * ww / determinant);
    return own;
}

static double error_of(const linear *own, const sample *row)
{
    return own->work_s * work_share(row) + own->start_s / row->measured_s - 1;
}

static const char *const both[] = {"constants.work=0.1 ms..90 ms, constants.start=0.01 s..20 s"};

/* Reads the rows and says what to fit to them. */
static st_status prepare(fixture *own, const char *table, const char *const *vary, size_t count,
                         st_calibration *calibration)
{
    st_measured_request request = toy_request(own);
    calibration->sets = good_rows(own, &request, table, NULL);
    calibration->set_count = 1;
    calibration->scale = 0.1;
    return st_varied_parse(calibration, vary, count, own->arena, own->errors);
}

static st_calibration fit(fixture *own, const char *table, st_loss loss)
{
    st_calibration calibration = {.loss = loss};
    if (prepare(own, table, both, 1, &calibration) != ST_OK ||
        st_calibrate(&calibration, own->arena, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    return calibration;
}

/* ---- fits ---- */

TEST_WITH(exact_rows_give_their_constants, set_up, tear_down)
{
    sample samples[ROWS];
    make_samples(samples, 0);
    st_calibration fitted = fit(*state, table_of(*state, samples, ROWS), ST_LOSS_SOFT_L1);
    near_to(fitted.solution.values[0], true_work_s, 1e-6);
    near_to(fitted.solution.values[1], true_start_s, 1e-6);
    assert_true(fitted.errors.largest < 1e-6);
    assert_int_equal(fitted.row_count, ROWS);
}

TEST_WITH(noisy_rows_give_the_linear_solution, set_up, tear_down)
{
    sample samples[ROWS];
    make_samples(samples, 0.12);
    st_calibration fitted = fit(*state, table_of(*state, samples, ROWS), ST_LOSS_SQUARE);
    linear expected = solve_without(samples, ROWS, SIZE_MAX);
    near_to(fitted.solution.values[0], expected.work_s, 1e-5);
    near_to(fitted.solution.values[1], expected.start_s, 1e-5);
    near_to(fitted.solution.errors[0], expected.work_error_s, 1e-3);
    near_to(fitted.solution.errors[1], expected.start_error_s, 1e-3);
    near_to(fitted.solution.values[0], true_work_s, 4 * expected.work_error_s / true_work_s);
    near_to(fitted.solution.values[1], true_start_s, 4 * expected.start_error_s / true_start_s);
}

TEST_WITH(rows_left_out_have_the_errors_of_a_fit_without_them, set_up, tear_down)
{
    sample samples[ROWS];
    double sum = 0;
    make_samples(samples, 0.12);
    st_calibration fitted = fit(*state, table_of(*state, samples, ROWS), ST_LOSS_SQUARE);
    for (size_t i = 0; i < ROWS; i++) {
        linear others = solve_without(samples, ROWS, i);
        double expected = error_of(&others, &samples[i]);
        assert_int_equal(fitted.rows[i].row, i);
        if (!(fabs(fitted.rows[i].error_left_out - expected) < 2e-5))
            fail_msg("row %zu: %.9g instead of %.9g", i, fitted.rows[i].error_left_out, expected);
        sum += fabs(expected);
    }
    near_to(fitted.left_out.mean_absolute, sum / ROWS, 1e-3);
    assert_true(fitted.left_out.mean_absolute > fitted.errors.mean_absolute);
    assert_int_equal(fitted.folds, ROWS);
}

/* Three quarters fit, the fourth is estimated, four times. */
TEST_WITH(groups_left_out_too, set_up, tear_down)
{
    static const char *const columns[] = {"batch"};
    sample samples[ROWS];
    make_samples(samples, 0.12);
    st_calibration fitted = {.loss = ST_LOSS_SQUARE, .columns = columns, .column_count = 1};
    const char *table = table_of(*state, samples, ROWS);
    fixture *own = *state;
    if (prepare(own, table, both, 1, &fitted) != ST_OK ||
        st_calibrate(&fitted, own->arena, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    assert_int_equal(fitted.held[0].group_count, 4);
    for (int group = 0; group < 4; group++) {
        sample others[ROWS];
        size_t count = 0;
        double sum = 0;
        size_t held = 0;
        for (size_t i = 0; i < ROWS; i++)
            if (samples[i].batch != group)
                others[count++] = samples[i];
        linear expected = solve_without(others, count, SIZE_MAX);
        for (size_t i = 0; i < ROWS; i++) {
            sum += samples[i].batch == group ? fabs(error_of(&expected, &samples[i])) : 0;
            held += samples[i].batch == group ? 1 : 0;
        }
        assert_int_equal(fitted.held[0].groups[group].errors.count, held);
        near_to(fitted.held[0].groups[group].errors.mean_absolute, sum / (double)held, 2e-3);
    }
    assert_int_equal(fitted.held[0].parts[0].errors.count, ROWS);
}

TEST_WITH(outliers_are_forgiven, set_up, tear_down)
{
    sample samples[ROWS];
    make_samples(samples, 0.02);
    samples[7].measured_s *= 5;
    samples[23].measured_s *= 4;
    const char *table = table_of(*state, samples, ROWS);
    st_calibration soft = fit(*state, table, ST_LOSS_SOFT_L1);
    st_calibration square = fit(*state, table, ST_LOSS_SQUARE);
    near_to(soft.solution.values[0], true_work_s, 0.03);
    near_to(soft.solution.values[1], true_start_s, 0.03);
    assert_true(fabs(soft.solution.values[0] - true_work_s) <
                fabs(square.solution.values[0] - true_work_s));
}

/* One fit over rows that have different providers; see parallel.order. */
TEST_WITH(rows_with_different_orders_are_one_fit, set_up, tear_down)
{
    static const char head[] =
        "id,layers,hidden,heads,ffn,vocab,seq,micro_batch,global_batch,recompute,dtype,tp,pp,dp,cp,"
        "gpus,gpus_per_node,order,target_iter_s\n";
    static const char plan[] = "22,3072,24,12288,50257,2048,1,384,selective,bf16,4,2,6,1,48,8,";
    static const char *const orders[] = {"dp-tp-pp", "", "pp-dp-tp", "dp-tp-pp"};
    static const char *const sets[] = {"cluster=dgx-a100", "cluster.nodes=6"};
    static const char *const vary[] = {"constants.site_factor=0.2..9"};
    fixture *own = *state;
    const st_measured_request request = {.paths = own->paths, .sets = sets, .set_count = 2};
    const char *table = head;
    for (size_t i = 0; i < 4; i++)
        table = st_arena_printf(own->arena, "%sr%zu,%s%s,2.385\n", table, i, plan, orders[i]);
    const st_measured *first = good_rows(own, &request, table, NULL);
    table = head;
    for (size_t i = 0; i < 4; i++)
        table = st_arena_printf(own->arena, "%sr%zu,%s%s,%.17g\n", table, i, plan, orders[i],
                                1.37 * first->rows[i].estimate);
    st_calibration fitted = {
        .sets = good_rows(own, &request, table, NULL), .set_count = 1, .loss = ST_LOSS_SQUARE};
    if (st_varied_parse(&fitted, vary, 1, own->arena, own->errors) != ST_OK ||
        st_calibrate(&fitted, own->arena, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    assert_int_equal(fitted.row_count, 4);
    assert_true(fitted.errors.largest < 1e-6);
    near_to(fitted.solution.values[0], 1.37, 1e-6);
}

/* ---- what cannot be fitted ---- */

static void expect_failure(fixture *own, const char *table, const char *vary, const char *words)
{
    st_calibration calibration = {.loss = ST_LOSS_SQUARE};
    st_status status = prepare(own, table, &vary, 1, &calibration);
    if (status == ST_OK)
        status = st_calibrate(&calibration, own->arena, own->errors);
    const char *messages = said(own);
    if (status == ST_OK || strstr(messages, words) == NULL)
        fail_msg("status %d, expected '%s' in:\n%s", status, words, messages);
}

TEST_WITH(impossible_fits_are_refused, set_up, tear_down)
{
    sample samples[ROWS];
    make_samples(samples, 0.05);
    fixture *own = *state;
    expect_failure(own, table_of(own, samples, 1), both[0],
                   "1 measured row cannot determine 2 constants");
    for (size_t i = 0; i < ROWS; i++)
        samples[i] = samples[0];
    expect_failure(own, table_of(own, samples, ROWS), both[0], "from the other constants");
}

TEST_WITH(wrong_requests_are_refused, set_up, tear_down)
{
    sample samples[ROWS];
    make_samples(samples, 0.05);
    fixture *own = *state;
    const char *table = table_of(own, samples, ROWS);
    expect_failure(own, table, "constants.wrok=1 ms..2 ms", "constants.work");
    expect_failure(own, table, "constants.work=2 ms..1 ms", "--vary");
    expect_failure(own, table, "constants.work=1..2", "--vary constants.work");
    expect_failure(own, table, "constants.work=1 GB..2 GB", "--vary constants.work");
    expect_failure(own, table, "constants.work=0 ms..2 ms", "--vary");
    expect_failure(own, table, "constants.work", "--vary");
    expect_failure(own, table, "constants.work=1 ms", "has no bounds in '1 ms'");
    expect_failure(own, table, "constants.work=1 ms..2 ms..3 ms..4 ms", "has no bounds in");
    expect_failure(own, table, "constants.work=1 ms..2 ms,constants.work=1 ms..2 ms",
                   "constants.work");
    expect_failure(own, table, "parallel.virtual_stages=1..4",
                   "no row is sensitive to parallel.virtual_stages");
}

/* LOW..START..HIGH; a start that nobody gives is the fit's own. */
TEST_WITH(bounds_and_starts_are_read, set_up, tear_down)
{
    static const char *const vary[] = {"constants.work=1 ms..4.3 ms..9 ms",
                                       "constants.start=0.2 s..7 s"};
    fixture *own = *state;
    sample samples[ROWS];
    st_calibration calibration = {.loss = ST_LOSS_SQUARE};
    make_samples(samples, 0.05);
    assert_int_equal(prepare(own, table_of(own, samples, ROWS), vary, 2, &calibration), ST_OK);
    assert_int_equal(calibration.varied_count, 2);
    near_to(calibration.varied[0].low, 1e-3, 1e-12);
    near_to(calibration.varied[0].start, 4.3e-3, 1e-12);
    near_to(calibration.varied[0].high, 9e-3, 1e-12);
    near_to(calibration.varied[1].low, 0.2, 1e-12);
    near_to(calibration.varied[1].high, 7, 1e-12);
    assert_true(isnan(calibration.varied[1].start));
}

TEST_WITH(a_bound_that_is_reached_is_told, set_up, tear_down)
{
    static const char *const low[] = {
        "constants.work=0.1 ms..1.1 ms, constants.start=0.01 s..20 s"};
    sample samples[ROWS];
    make_samples(samples, 0.05);
    fixture *own = *state;
    st_calibration calibration = {.loss = ST_LOSS_SQUARE};
    assert_int_equal(prepare(own, table_of(own, samples, ROWS), low, 1, &calibration), ST_OK);
    assert_int_equal(st_calibrate(&calibration, own->arena, own->errors), ST_OK);
    assert_true(calibration.solution.at_high[0]);
    assert_non_null(strstr(said(own), "constants.work ends at its upper bound"));
}

/* ---- the file ---- */

TEST_WITH(written_constants_give_the_same_estimates, set_up, tear_down)
{
    sample samples[ROWS];
    make_samples(samples, 0.12);
    fixture *own = *state;
    const char *table = table_of(own, samples, ROWS);
    st_calibration fitted = fit(own, table, ST_LOSS_SQUARE);
    const st_fit_record record = {.date = "2026-11-21",
                                  .tables = &(st_measured_table){.file = "table.csv"},
                                  .table_count = 1};
    st_buffer text = {0};
    st_calibration_write_yaml(&fitted, &record, &text);
    assert_false(text.failed);
    write_text(own, "fitted.yaml", text.data);
    assert_non_null(strstr(text.data, "date: 2026-11-21"));
    assert_non_null(strstr(text.data, "errors_each_row_left_out: {rows: 40, mean: "));
    st_buffer_free(&text);
    st_measured_request request = toy_request(own);
    request.constants = below(own, "fitted.yaml");
    st_measured *again = good_rows(own, &request, table, NULL);
    for (size_t i = 0; i < ROWS; i++) {
        double expected = toy_time(samples[i].layers, samples[i].global, samples[i].dp,
                                   fitted.solution.values[0], fitted.solution.values[1]);
        near_to(again->rows[i].estimate, expected, 0.01); /* written with as many digits as known */
    }
    assert_int_equal(
        st_measured_mark_fitted(again, own->paths, request.constants, own->arena, own->errors),
        ST_OK);
    assert_true(again->rows[ROWS - 1].fitted);
}

TESTS(calibrate);
