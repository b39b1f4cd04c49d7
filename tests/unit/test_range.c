/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on ranges: ends as they must be, and what does not exist; and bounds of small sheets.
 */
#include "../support/programs.h"
#include "program/program.h"
#include "steptime/tool/providers.h"

#include "search/guided/bounds.h"
#include "search/guided/intervals.h"

static const st_range none = {(double)NAN, (double)NAN};
static const st_range truth = {0, 1};

static st_range range(double low, double high)
{
    return (st_range){low, high};
}

static void expect(st_op op, st_range a, st_range b, double low, double high)
{
    st_range found = st_range_apply(op, a, b, range(0, 0));
    bool same = isnan(low) ? isnan(found.low) : found.low == low && found.high == high;
    if (!same)
        fail_msg("operation %d of %g..%g and %g..%g gives %g..%g, not %g..%g", (int)op, a.low,
                 a.high, b.low, b.high, found.low, found.high, low, high);
}

TEST(sums_and_products_take_the_right_ends)
{
    expect(ST_OP_ADD, range(1.5, 2.25), range(-4, 7), -2.5, 9.25);
    expect(ST_OP_SUBTRACT, range(1.5, 2.25), range(-4, 7), -5.5, 6.25);
    expect(ST_OP_MULTIPLY, range(-2.5, 3), range(-4, 7), -17.5, 21);
    expect(ST_OP_MULTIPLY, range(0, HUGE_VAL), range(0, HUGE_VAL), 0, HUGE_VAL);
    expect(ST_OP_MULTIPLY, range(0, 0), range(-HUGE_VAL, HUGE_VAL), 0, 0);
    expect(ST_OP_NEGATE, range(-2.5, 3), none, -3, 2.5);
    expect(ST_OP_ABS, range(-2.5, 3), none, 0, 3);
    expect(ST_OP_ABS, range(-7.5, -3), none, 3, 7.5);
}

TEST(quotients_know_where_zero_is)
{
    expect(ST_OP_DIVIDE, range(3, 12), range(1.5, 4), 0.75, 8);
    expect(ST_OP_DIVIDE, range(3, 12), range(0, 4), 0.75, HUGE_VAL);
    expect(ST_OP_DIVIDE, range(-3, 12), range(0, 4), -HUGE_VAL, HUGE_VAL);
    expect(ST_OP_DIVIDE, range(3, 12), range(-4, 0), -HUGE_VAL, -0.75);
    expect(ST_OP_DIVIDE, range(3, 12), range(-4, 2), -HUGE_VAL, HUGE_VAL);
    expect(ST_OP_DIVIDE, range(3, 12), range(1.5, HUGE_VAL), 0, 8);
    expect(ST_OP_DIVIDE, range(0, HUGE_VAL), range(0.5, HUGE_VAL), 0, HUGE_VAL);
    expect(ST_OP_DIVIDE, range(3, 12), range(0, 0), (double)NAN, (double)NAN);
}

TEST(what_keeps_order_takes_end_to_end)
{
    expect(ST_OP_MIN, range(1.5, 9), range(2.5, 4), 1.5, 4);
    expect(ST_OP_MAX, range(1.5, 9), range(2.5, 4), 2.5, 9);
    expect(ST_OP_FLOOR, range(-1.5, 9.75), none, -2, 9);
    expect(ST_OP_CEIL, range(-1.5, HUGE_VAL), none, -1, HUGE_VAL);
    expect(ST_OP_ROUND, range(-1.5, 2.25), none, -2, 2);
    expect(ST_OP_SQRT, range(-3, 6.25), none, 0, 2.5);
    expect(ST_OP_SQRT, range(-3, -2), none, (double)NAN, (double)NAN);
    expect(ST_OP_LOG, range(-3, -2), none, (double)NAN, (double)NAN);
    expect(ST_OP_EXP, range(-HUGE_VAL, HUGE_VAL), none, 0, HUGE_VAL);
}

/* Where the library may round either way the range has room for it. */
TEST(library_functions_are_widened)
{
    st_range found = st_range_apply(ST_OP_POWER, range(1.25, 7.5), range(2.385, 2.385), none);
    double low = pow(1.25, 2.385);
    double high = pow(7.5, 2.385);
    assert_true(found.low < low && found.low > low * (1 - 1e-11));
    assert_true(found.high > high && found.high < high * (1 + 1e-11));
    found = st_range_apply(ST_OP_LOG2, range(1.25, 7.5), none, none);
    assert_true(found.low < log2(1.25) && found.high > log2(7.5));
    expect(ST_OP_POWER, range(0, HUGE_VAL), range(2.385, 2.385), 0, HUGE_VAL);
    expect(ST_OP_POWER, range(-2, 3), range(2.385, 2.385), -HUGE_VAL, HUGE_VAL);
}

TEST(comparisons_say_what_is_certain)
{
    expect(ST_OP_LESS, range(1.5, 2), range(2.5, 4), 1, 1);
    expect(ST_OP_LESS, range(2.5, 4), range(1.5, 2.5), 0, 0);
    expect(ST_OP_LESS, range(1.5, 3), range(2.5, 4), 0, 1);
    expect(ST_OP_LESS_EQUAL, range(1.5, 2.5), range(2.5, 4), 1, 1);
    expect(ST_OP_EQUAL, range(2.5, 2.5), range(2.5, 2.5), 1, 1);
    expect(ST_OP_EQUAL, range(1.5, 2), range(2.5, 4), 0, 0);
    expect(ST_OP_UNEQUAL, range(1.5, 3), range(2.5, 4), 0, 1);
    expect(ST_OP_NOT, truth, none, 0, 1);
    expect(ST_OP_AND, truth, range(0, 0), 0, 0);
    expect(ST_OP_AND, none, truth, 0, 0);
    expect(ST_OP_AND, none, range(1, 1), (double)NAN, (double)NAN);
    expect(ST_OP_OR, truth, range(1, 1), 1, 1);
    expect(ST_OP_OR, truth, range(0, 0), 0, 1);
    expect(ST_OP_OR, none, range(0, 0), (double)NAN, (double)NAN);
}

TEST(choices_span_what_may_be_chosen)
{
    st_range a = range(1.5, 2);
    st_range b = range(7, 9.25);
    st_range found = st_range_apply(ST_OP_SELECT, a, b, truth);
    assert_true(found.low == 1.5 && found.high == 9.25);
    found = st_range_apply(ST_OP_SELECT, a, none, truth);
    assert_true(found.low == 1.5 && found.high == 2);
    found = st_range_apply(ST_OP_SELECT, a, b, range(0, 0));
    assert_true(found.low == 7);
    found = st_range_apply(ST_OP_SELECT, a, b, none);
    assert_true(isnan(found.low));
    expect(ST_OP_OTHERWISE, range(0, HUGE_VAL), range(-3, -2), -3, HUGE_VAL);
    expect(ST_OP_OTHERWISE, none, range(-3, -2), -3, -2);
    expect(ST_OP_CALL, range(1, 2), range(3, 4), -HUGE_VAL, HUGE_VAL);
}

/* --- sheets ---------------------------------------------------------------------------------- */

static st_status never_called(void *self, size_t rows, const double *const *arguments,
                              double *values)
{
    (void)self;
    (void)rows;
    (void)arguments;
    (void)values;
    fail_msg("a provider that is not to be asked was asked");
    return ST_ERR_PROVIDER;
}

/* The least of a cell of one formula; x is 2.385 and y 7.31. */
static double least_of(void **state, const char *formula)
{
    shelf *own = *state;
    st_unit units[1] = {st_unit_one()};
    st_provider slow = {.name = "slow",
                        .source = "test",
                        .argument_units = units,
                        .argument_count = 1,
                        .unit = units[0],
                        .evaluate = never_called};
    const st_provider *providers[] = {&slow, NULL};
    const char *text = st_arena_printf(own->arena,
                                       "sheet: t\ninputs:\n  x: {from: a.x}\n  y: {from: a.y}\n"
                                       "functions:\n  slow: {open: true, args: {v: 1}}\n"
                                       "cells:\n  c:\n    is: %s\n",
                                       formula);
    static const char *const outputs[] = {"c", NULL};
    const st_program *program = compile_for(own, text, outputs, providers);
    const st_provider *unknown[] = {&slow};
    st_bounds *bounds = st_bounds_create(program, unknown, 1, own->arena);
    const double inputs[] = {2.385, 7.31};
    st_range found;
    assert_non_null(bounds);
    st_bounds_run(bounds, inputs, &found, NULL);
    double least = st_bounds_least(bounds, 0);
    return fmax(least, found.low);
}

static void expect_least(void **state, const char *formula, double least)
{
    double found = least_of(state, formula);
    double slack = isfinite(least) ? 2e-9 * fabs(least) : 0;
    if (!(found == least || (found <= least && found >= least - slack)))
        fail_msg("%s is at least %.12g, not %.12g", formula, least, found);
}

TEST_WITH(sums_of_times_have_a_bound, make_shelf, drop_shelf)
{
    expect_least(state, "x + slow(y)", 2.385);
    expect_least(state, "x*(1 + slow(y))*y", 2.385 * 7.31);
    expect_least(state, "max(x, slow(y)) + slow(x)", 2.385);
    expect_least(state, "x - slow(y)", -HUGE_VAL);
    expect_least(state, "if(x < y, x + slow(x), -slow(y))", 2.385);
}

/* What is hidden of a time is never more than that time. */
TEST_WITH(hidden_times_keep_a_bound, make_shelf, drop_shelf)
{
    expect_least(state, "x + slow(y) - 0.7*slow(y)", 2.385);
    expect_least(state, "x + 3*slow(y) - min(3*slow(y), y)", 2.385);
    expect_least(state, "x + slow(y) - min(1.2*slow(y), y)", 2.385 - 7.31);
    expect_least(state, "y + sqrt(slow(x)) + x*slow(y)^1.5", 7.31);
}

TEST_WITH(soft_maxima_keep_a_bound, make_shelf, drop_shelf)
{
    expect_least(state,
                 "max(x + slow(x), y)*(1 + (min(x + slow(x), y)/max(x + slow(x), y))^5.5)^(1/5.5)",
                 7.31 * pow(1 + pow(2.385 / 7.31, 5.5), 1 / 5.5));
    expect_least(state,
                 "max(y + slow(x), x)*(1 + (min(y + slow(x), x)/max(y + slow(x), x))^5.5)^(1/5.5)",
                 7.31 * pow(1 + pow(2.385 / 7.31, 5.5), 1 / 5.5));
}

/* Slopes of 1e-440 are no numbers, and no 0 either. */
TEST_WITH(slopes_too_small_for_a_number_keep_their_sign, make_shelf, drop_shelf)
{
    expect_least(state, "x/((y + slow(x))*y*1e219)", 0);
    expect_least(state, "x - 1e-200*(1e-200*slow(x))", -HUGE_VAL);
}

TESTS(range);
