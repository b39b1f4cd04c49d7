/* SPDX-License-Identifier: Apache-2.0 */
/* Open functions of the library's own: their units, and rows that have no value. */
#include "report_support.h"

#include "estimate/open_functions.h"

#include <math.h>

/* What it looks into, and 2.385 times the first less the others. */
static double value(const void *over, const double *arguments, int which)
{
    return which * *(const double *)over + 2.385 * arguments[0] - arguments[1] - arguments[2];
}

static const double over = 0.385;
static const st_open_function function = {
    .name = "left", .units = {"GB", "us", "GB/s", NULL}, .unit = "ms", .value = value, .which = 1};

TEST_OF(rows_without_a_number_have_no_value, fixture *own, set_up, tear_down)
{
    st_provider provider;
    static const double first[] = {1, 2, (double)INFINITY, 4, 5};
    static const double second[] = {7, (double)NAN, 9, 10, 11};
    static const double third[] = {0.5, 0.25, 0.125, -(double)INFINITY, 0.75};
    const double *columns[] = {first, second, third};
    double values[5];
    assert_int_equal(st_open_provider(&function, &over, own->arena, &provider, own->errors), ST_OK);
    assert_string_equal(provider.name, "left");
    assert_int_equal(provider.argument_count, 3);
    assert_string_equal(provider.unit.text, "ms");
    assert_string_equal(provider.argument_units[0].text, "GB");
    assert_string_equal(provider.argument_units[2].text, "GB/s");
    assert_int_equal(provider.evaluate(provider.self, 5, columns, values), ST_OK);
    assert_true(fabs(values[0] - (0.385 + 2.385 - 7.5)) < 1e-12);
    assert_true(isnan(values[1]) && isnan(values[2]) && isnan(values[3]));
    assert_true(fabs(values[4] - (0.385 + 5 * 2.385 - 11.75)) < 1e-12);
}

TEST_OF(units_that_are_none_are_refused, fixture *own, set_up, tear_down)
{
    st_provider provider;
    st_open_function wrong = function;
    wrong.units[1] = "parsec";
    assert_int_equal(st_open_provider(&wrong, &over, own->arena, &provider, own->errors),
                     ST_ERR_UNIT);
    assert_contains(said(own), "parsec");
    wrong = function;
    wrong.unit = "parsec";
    assert_int_equal(st_open_provider(&wrong, &over, own->arena, &provider, own->errors),
                     ST_ERR_UNIT);
}

TESTS(open_functions);
