/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The least-squares core on problems whose answer is known: exact data, noise of a known size, an
 * outlier, bounds, and problems that have no answer.
 */
#include "base_support.h"

#include "fit/steps/solve.h"

#include <gsl/gsl_errno.h>

enum { ROWS = 60 };

/* y = a + b x^c, over x that a computer training has: 0.3 to 12. */
typedef struct curve {
    double x[ROWS];
    size_t evaluations;
    bool fails;    /* as when memory runs out */
    bool infinite; /* no finite estimate anywhere */
} curve;

static const double truth[] = {2.385, 0.771, 1.37};
static const st_parameter box[] = {{.low = 0.1, .high = 100, .start = 1},
                                   {.low = 0.01, .high = 10, .start = 1},
                                   {.low = 0.2, .high = 5, .start = 1}};

static void make_curve(curve *own)
{
    *own = (curve){.evaluations = 0};
    for (size_t i = 0; i < ROWS; i++)
        own->x[i] = 0.3 + 0.2 * (double)i;
}

static st_status evaluate(void *self, const double *values, double *estimates)
{
    curve *own = self;
    own->evaluations++;
    for (size_t i = 0; i < ROWS; i++)
        estimates[i] = values[0] + values[1] * pow(own->x[i], values[2]);
    if (own->infinite)
        estimates[ROWS / 2] = (double)INFINITY;
    return own->fails ? ST_ERR_MEMORY : ST_OK;
}

static st_problem problem_of(curve *own, const double *measured)
{
    return (st_problem){.parameters = box,
                        .parameter_count = 3,
                        .measured = measured,
                        .row_count = ROWS,
                        .loss = ST_LOSS_SOFT_L1,
                        .scale = 0.1,
                        .evaluate = evaluate,
                        .self = own};
}

static void assert_near(double value, double expected, double relative)
{
    if (!(fabs(value - expected) <= relative * fabs(expected)))
        fail_msg("%.17g is not within %g of %.17g", value, relative, expected);
}

/* ---- exact data ---- */

TEST(exact_data_give_the_truth)
{
    curve own;
    double measured[ROWS];
    make_curve(&own);
    assert_int_equal(evaluate(&own, truth, measured), ST_OK);
    for (int loss = 0; loss < 2; loss++) {
        st_problem problem = problem_of(&own, measured);
        problem.loss = loss == 0 ? ST_LOSS_SOFT_L1 : ST_LOSS_SQUARE;
        st_solution solution;
        assert_int_equal(st_solve(&problem, &solution), ST_OK);
        for (size_t i = 0; i < 3; i++) {
            assert_near(solution.values[i], truth[i], 1e-7);
            assert_false(solution.at_low[i] || solution.at_high[i]);
        }
        assert_true(solution.cost < 1e-15);
        assert_int_equal(solution.rows, ROWS);
        assert_true(solution.iterations > 0);
    }
}

TEST(the_same_problem_gives_the_same_bits)
{
    curve own;
    double measured[ROWS];
    make_curve(&own);
    assert_int_equal(evaluate(&own, truth, measured), ST_OK);
    measured[7] *= 1.4;
    const st_problem problem = problem_of(&own, measured);
    st_solution first = {0};
    st_solution second = {0};
    assert_int_equal(st_solve(&problem, &first), ST_OK);
    assert_int_equal(st_solve(&problem, &second), ST_OK);
    for (size_t i = 0; i < 3; i++) {
        assert_same_double(first.values[i], second.values[i]);
        assert_same_double(first.errors[i], second.errors[i]);
    }
}

TEST(a_bad_start_leads_to_the_same_minimum)
{
    curve own;
    double measured[ROWS];
    make_curve(&own);
    assert_int_equal(evaluate(&own, truth, measured), ST_OK);
    static const double starts[] = {0.1, 100, 1e9, 0, -3};
    for (size_t k = 0; k < COUNT(starts); k++) {
        st_parameter far[3];
        memcpy(far, box, sizeof far);
        far[0].start = starts[k];
        st_problem problem = problem_of(&own, measured);
        problem.parameters = far;
        st_solution solution;
        assert_int_equal(st_solve(&problem, &solution), ST_OK);
        for (size_t i = 0; i < 3; i++)
            assert_near(solution.values[i], truth[i], 1e-6);
    }
}

/* ---- noise ---- */

static double random_share(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005U + 1442695040888963407U;
    return (double)(*seed >> 11) / 9007199254740992.0;
}

/* Sum of twelve uniform numbers: normal enough. */
static double random_normal(uint64_t *seed)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += random_share(seed);
    return sum;
}

/* Over many draws the truth lies within two standard errors about nineteen times in twenty. */
TEST(standard_errors_cover_the_truth)
{
    uint64_t seed = 2385771;
    enum { DRAWS = 60 };
    size_t covered = 0;
    print_message("# seed %llu\n", (unsigned long long)seed);
    for (int draw = 0; draw < DRAWS; draw++) {
        curve own;
        double measured[ROWS];
        make_curve(&own);
        assert_int_equal(evaluate(&own, truth, measured), ST_OK);
        for (size_t i = 0; i < ROWS; i++)
            measured[i] /= 1 + 0.03 * random_normal(&seed);
        st_problem problem = problem_of(&own, measured);
        problem.loss = ST_LOSS_SQUARE;
        st_solution solution;
        assert_int_equal(st_solve(&problem, &solution), ST_OK);
        for (size_t i = 0; i < 3; i++) {
            assert_true(solution.errors[i] > 0);
            covered += fabs(solution.values[i] - truth[i]) <= 2 * solution.errors[i] ? 1 : 0;
            assert_near(solution.correlation[i][i], 1, 1e-9);
            assert_near(solution.correlation[i][(i + 1) % 3], solution.correlation[(i + 1) % 3][i],
                        1e-9);
        }
    }
    print_message("# covered %zu of %d\n", covered, 3 * DRAWS);
    assert_true(covered >= 3 * DRAWS * 88 / 100);
    assert_true(covered <= 3 * DRAWS * 995 / 1000);
}

/* The mean of one factor is known without a solver, and so is its standard error. */
TEST(one_factor_by_hand)
{
    curve own;
    double measured[ROWS];
    make_curve(&own);
    assert_int_equal(evaluate(&own, truth, measured), ST_OK);
    static const st_parameter factor[] = {{.low = 0.1, .high = 100, .start = 1},
                                          {.low = 0.770999999, .high = 0.771000001, .start = 0.771},
                                          {.low = 1.369999999, .high = 1.370000001, .start = 1.37}};
    st_problem problem = problem_of(&own, measured);
    problem.parameters = factor;
    problem.loss = ST_LOSS_SQUARE;
    st_solution solution;
    assert_int_equal(st_solve(&problem, &solution), ST_OK);
    assert_near(solution.values[0], truth[0], 1e-6);
}

TEST(a_robust_loss_forgives_an_outlier)
{
    curve own;
    double measured[ROWS];
    make_curve(&own);
    assert_int_equal(evaluate(&own, truth, measured), ST_OK);
    for (size_t i = 0; i < ROWS; i += 12)
        measured[i] /= 3; /* estimates three times too high */
    st_problem problem = problem_of(&own, measured);
    problem.scale = 0.02;
    st_solution robust;
    st_solution square;
    assert_int_equal(st_solve(&problem, &robust), ST_OK);
    problem.loss = ST_LOSS_SQUARE;
    assert_int_equal(st_solve(&problem, &square), ST_OK);
    double robust_error = fabs(robust.values[0] / truth[0] - 1);
    double square_error = fabs(square.values[0] / truth[0] - 1);
    print_message("# robust %.3f, square %.3f\n", robust_error, square_error);
    assert_true(robust_error < square_error / 3);
    /* half the sum of 2 c^2 (sqrt(1 + (e/c)^2) - 1), at least of the five outliers */
    double outlier = 0.02 * 0.02 * (sqrt(1 + (2 / 0.02) * (2 / 0.02)) - 1);
    assert_true(robust.cost > 5 * outlier * 0.8 && robust.cost < 5 * outlier * 1.2);
}

/* ---- rows that do not count ---- */

TEST(rows_that_do_not_count_have_no_say)
{
    curve own;
    double measured[ROWS];
    bool counts[ROWS];
    make_curve(&own);
    assert_int_equal(evaluate(&own, truth, measured), ST_OK);
    for (size_t i = 0; i < ROWS; i++) {
        counts[i] = i % 3 != 1;
        measured[i] *= counts[i] ? 1 : 7.3;
    }
    st_problem problem = problem_of(&own, measured);
    problem.counts = counts;
    problem.start_only = true;
    st_solution solution;
    assert_int_equal(st_solve(&problem, &solution), ST_OK);
    assert_int_equal(solution.rows, ROWS - ROWS / 3);
    for (size_t i = 0; i < 3; i++)
        assert_near(solution.values[i], truth[i], 1e-6);
}

/* ---- bounds ---- */

TEST(a_bound_stops_a_parameter)
{
    curve own;
    double measured[ROWS];
    make_curve(&own);
    assert_int_equal(evaluate(&own, truth, measured), ST_OK);
    st_parameter narrow[3];
    memcpy(narrow, box, sizeof narrow);
    narrow[1] = (st_parameter){.low = 0.9, .high = 3, .start = 1.5}; /* the truth is 0.771 */
    st_problem problem = problem_of(&own, measured);
    problem.parameters = narrow;
    st_solution solution;
    assert_int_equal(st_solve(&problem, &solution), ST_OK);
    assert_true(solution.at_low[1]);
    assert_false(solution.at_high[1]);
    assert_near(solution.values[1], 0.9, 2e-3);
    assert_true(solution.values[1] >= 0.9);
    assert_true(isnan(solution.errors[1]));
    assert_false(solution.at_low[0] || solution.at_low[2]);
    narrow[1] = (st_parameter){.low = 0.1, .high = 0.5, .start = 0.2};
    assert_int_equal(st_solve(&problem, &solution), ST_OK);
    assert_true(solution.at_high[1]);
    assert_true(solution.values[1] <= 0.5);
}

TEST(a_share_of_the_way)
{
    static const st_parameter parameter = {.low = 0.5, .high = 32, .start = 1};
    assert_near(st_parameter_at(&parameter, 0), 0.5, 1e-15);
    assert_near(st_parameter_at(&parameter, 1), 32, 1e-14);
    assert_near(st_parameter_at(&parameter, 0.5), 4, 1e-14);
}

/* ---- what is known beforehand ---- */

enum { FEW = 5 };

/* All rows are the first value; the second is told by none. */
static st_status same_for_all(void *self, const double *values, double *estimates)
{
    (void)self;
    for (size_t i = 0; i < FEW; i++)
        estimates[i] = values[0];
    return ST_OK;
}

static const double few_logs[] = {0.71, 0.83, 0.77, 0.69, 0.80}; /* of what was measured */

/* Logarithms of normal rows under a normal prior: the closed form of their posterior. */
TEST(priors_weigh_against_rows)
{
    const double sd = 0.05;
    const double prior = 1.9;
    double measured[FEW];
    double sum = 0;
    for (size_t i = 0; i < FEW; i++) {
        measured[i] = exp(few_logs[i]);
        sum += few_logs[i];
    }
    const st_parameter parameters[] = {
        {.low = 0.3, .high = 30, .start = 4.1, .prior = prior, .sd = sd},
        /* the prior lies in the middle of the bounds, where a coordinate is nearly 0 */
        {.low = 2.385 / 7.1, .high = 2.385 * 7.1, .start = 0.9, .prior = 2.385, .sd = 0.31}};
    for (size_t k = 0; k < 2; k++) {
        const double noise = k == 0 ? 0.13 : 0.02; /* more and less than the rows scatter */
        const st_problem problem = {.parameters = parameters,
                                    .parameter_count = 2,
                                    .measured = measured,
                                    .row_count = FEW,
                                    .loss = ST_LOSS_SQUARE,
                                    .logarithms = true,
                                    .noise = noise,
                                    .evaluate = same_for_all};
        st_solution solution;
        assert_int_equal(st_solve(&problem, &solution), ST_OK);
        double rows = FEW / (noise * noise);
        double known = 1 / (sd * sd);
        double mean = (sum / (noise * noise) + log(prior) * known) / (rows + known);
        assert_near(solution.values[0], exp(mean), 1e-6);
        assert_near(solution.freedom, rows / (rows + known), 1e-4);
        double scatter = 0;
        for (size_t i = 0; i < FEW; i++)
            scatter += (few_logs[i] - mean) * (few_logs[i] - mean);
        scatter = sqrt(scatter / (FEW - solution.freedom)) / noise;
        double wider = scatter > 1 ? scatter : 1;
        assert_true(k == 0 ? scatter < 1 : scatter > 1);
        assert_near(solution.errors[0], wider * exp(mean) / sqrt(rows + known), 1e-4);
        assert_near(solution.values[1], 2.385, 1e-6); /* nothing else tells it */
        assert_near(solution.errors[1], wider * 2.385 * 0.31, 1e-3);
    }
}

TEST(priors_stand_in_for_rows)
{
    const double measured[FEW] = {2.1, 2.1, 2.1, 2.1, 2.1};
    const bool counts[FEW] = {false, false, true};
    const st_parameter parameters[] = {
        {.low = 0.3, .high = 30, .start = 4.1},
        {.low = 0.2, .high = 20, .start = 0.9, .prior = 2.385, .sd = 0.31}};
    const st_problem problem = {.parameters = parameters,
                                .parameter_count = 2,
                                .measured = measured,
                                .row_count = FEW,
                                .counts = counts,
                                .loss = ST_LOSS_SQUARE,
                                .noise = 0.08,
                                .evaluate = same_for_all};
    st_solution solution;
    assert_int_equal(st_solve(&problem, &solution), ST_OK);
    assert_near(solution.values[0], 2.1, 1e-6);
    assert_near(solution.values[1], 2.385, 1e-6);
}

/* ---- no answer ---- */

TEST(fewer_rows_than_parameters)
{
    curve own;
    double measured[ROWS];
    bool counts[ROWS] = {true, false, true};
    make_curve(&own);
    assert_int_equal(evaluate(&own, truth, measured), ST_OK);
    st_problem problem = problem_of(&own, measured);
    problem.counts = counts;
    st_solution solution;
    assert_int_equal(st_solve(&problem, &solution), ST_ERR_VALUE);
    counts[20] = true; /* as many as parameters: an answer without errors */
    assert_int_equal(st_solve(&problem, &solution), ST_OK);
    for (size_t i = 0; i < 3; i++) {
        assert_near(solution.values[i], truth[i], 1e-5);
        assert_true(isnan(solution.errors[i]));
    }
    problem.parameter_count = 0;
    assert_int_equal(st_solve(&problem, &solution), ST_ERR_VALUE);
    problem.parameter_count = ST_FIT_MAX_PARAMETERS + 1;
    problem.counts = NULL;
    assert_int_equal(st_solve(&problem, &solution), ST_ERR_VALUE);
}

TEST(estimates_that_are_not_finite)
{
    curve own;
    double measured[ROWS];
    make_curve(&own);
    assert_int_equal(evaluate(&own, truth, measured), ST_OK);
    own.infinite = true;
    const st_problem problem = problem_of(&own, measured);
    st_solution solution;
    assert_int_equal(st_solve(&problem, &solution), ST_ERR_MATH);
}

TEST(an_evaluation_that_fails)
{
    curve own;
    double measured[ROWS];
    make_curve(&own);
    assert_int_equal(evaluate(&own, truth, measured), ST_OK);
    own.fails = true;
    own.evaluations = 0;
    const st_problem problem = problem_of(&own, measured);
    st_solution solution;
    assert_int_equal(st_solve(&problem, &solution), ST_ERR_MEMORY);
    assert_true(own.evaluations < 10); /* it does not go on */
}

/* Two parameters that only ever appear as their product. */
static st_status evaluate_product(void *self, const double *values, double *estimates)
{
    const curve *own = self;
    for (size_t i = 0; i < ROWS; i++)
        estimates[i] = values[0] * values[1] * own->x[i];
    return ST_OK;
}

TEST(parameters_that_rows_cannot_tell_apart)
{
    curve own;
    double measured[ROWS];
    make_curve(&own);
    for (size_t i = 0; i < ROWS; i++)
        measured[i] = 2.385 * own.x[i] * (i % 2 == 0 ? 1.01 : 0.99);
    st_problem problem = problem_of(&own, measured);
    problem.parameter_count = 2;
    problem.evaluate = evaluate_product;
    st_solution solution;
    assert_int_equal(st_solve(&problem, &solution), ST_OK);
    assert_near(solution.values[0] * solution.values[1], 2.385, 1e-3);
    assert_true(isnan(solution.errors[0]) || isnan(solution.errors[1]));
}

/* ---- GSL ---- */

static size_t handled;

static void count_faults(const char *reason, const char *file, int line, int code)
{
    (void)reason;
    (void)file;
    (void)line;
    (void)code;
    handled++;
}

/* The program's own handler is in force again afterwards, and was not called meanwhile. */
TEST(the_error_handler_is_kept)
{
    curve own;
    double measured[ROWS];
    make_curve(&own);
    assert_int_equal(evaluate(&own, truth, measured), ST_OK);
    own.infinite = true;
    const st_problem problem = problem_of(&own, measured);
    st_solution solution;
    gsl_error_handler_t *before = gsl_set_error_handler(count_faults);
    assert_int_equal(st_solve(&problem, &solution), ST_ERR_MATH);
    assert_int_equal(handled, 0);
    assert_true(gsl_set_error_handler(before) == count_faults);
}

TESTS(solve);
