/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs: what every operation computes, what is folded, shared and dropped, and that a row gives
 * the same bits alone and in a block of any size.
 */
#include "../support/programs.h"
#include "program/program.h"

#include "program/blocks.h"

#define NUMBERS                                                                                    \
    "sheet: t\n"                                                                                   \
    "inputs:\n"                                                                                    \
    "  x: {from: a.x}\n"                                                                           \
    "  y: {from: a.y}\n"                                                                           \
    "  z: {from: a.z}\n"                                                                           \
    "  p: {from: a.p, unit: bool}\n"                                                               \
    "  q: {from: a.q, unit: bool}\n"

enum { X, Y, Z, P, Q, NUMBER_INPUTS };

/* --- what operations compute ----------------------------------------------------------------- */

/* A formula over x, y, z, p, q, and the same in C. */
typedef double plain(double x, double y, double z, bool p, bool q);

#define PLAIN(name, value)                                                                         \
    static double name(double x, double y, double z, bool p, bool q)                               \
    {                                                                                              \
        (void)x, (void)y, (void)z, (void)p, (void)q;                                               \
        return (value);                                                                            \
    }

PLAIN(sum, x + y - z)
PLAIN(product, x *y / z)
PLAIN(mixed, -x + y * z - x / (y - z))
PLAIN(by_three, x / 3 + y * 0.1)
PLAIN(by_eight, x / 8 - y / 0.25)
PLAIN(square, x *x)
PLAIN(cube, x *x *x)
PLAIN(fourth, (y * y) * (y * y))
PLAIN(inverse, 1 / x)
PLAIN(inverse_square, 1 / (z * z))
PLAIN(fifth, pow(x, 5))
PLAIN(root, pow(fabs(y), 0.5))
PLAIN(power, pow(fabs(x), y))
PLAIN(nothing, 1)
PLAIN(least, fmin(fmin(x, y), z))
PLAIN(most, fmax(fmax(z, x), y))
PLAIN(size, fabs(x - 2 * y))
PLAIN(whole, floor(x) + 10 * ceil(y) + 100 * round(z))
PLAIN(functions, sqrt(fabs(x)) + log2(fabs(y)) + log(fabs(z)) + exp(x / 10))
PLAIN(choice, p ? x : y)
PLAIN(nested_choice, p ? (q ? x : y) : (x > y ? z : -z))
PLAIN(less, x < y)
PLAIN(less_equal, x <= y)
PLAIN(greater, x > y)
PLAIN(greater_equal, x >= y)
PLAIN(equal, floor(x) == floor(y))
PLAIN(unequal, floor(x) != floor(y))
PLAIN(logic, (p && !q) || (q && x > y))
PLAIN(both_or_none, p == q)
PLAIN(either, p != q)

static const struct {
    const char *unit;
    const char *formula;
    plain *value;
} operations[] = {
    {"1", "x + y - z", sum},
    {"1", "x*y/z", product},
    {"1", "-x + y*z - x/(y - z)", mixed},
    {"1", "x/3 + y*0.1", by_three},
    {"1", "x/8 - y/0.25", by_eight},
    {"1", "x^2", square},
    {"1", "x^3", cube},
    {"1", "y^4", fourth},
    {"1", "x^-1", inverse},
    {"1", "z^-2", inverse_square},
    {"1", "x^5", fifth},
    {"1", "abs(y)^0.5", root},
    {"1", "abs(x)^y", power},
    {"1", "x^0", nothing},
    {"1", "min(x, y, z)", least},
    {"1", "max(z, x, y)", most},
    {"1", "abs(x - 2*y)", size},
    {"1", "floor(x) + 10*ceil(y) + 100*round(z)", whole},
    {"1", "sqrt(abs(x)) + log2(abs(y)) + log(abs(z)) + exp(x/10)", functions},
    {"1", "if(p, x, y)", choice},
    {"1", "if(p, if(q, x, y), if(x > y, z, -z))", nested_choice},
    {"bool", "x < y", less},
    {"bool", "x <= y", less_equal},
    {"bool", "x > y", greater},
    {"bool", "x >= y", greater_equal},
    {"bool", "floor(x) == floor(y)", equal},
    {"bool", "floor(x) != floor(y)", unequal},
    {"bool", "p and not q or q and x > y", logic},
    {"bool", "p == q", both_or_none},
    {"bool", "p != q", either},
};

static const char *sheet_of_operations(shelf *own)
{
    st_buffer text = {0};
    st_buffer_text(&text, NUMBERS "cells:\n");
    for (size_t i = 0; i < COUNT(operations); i++)
        st_buffer_printf(&text, "  c%zu:\n    unit: %s\n    is: %s\n", i, operations[i].unit,
                         operations[i].formula);
    const char *copy = st_arena_copy(own->arena, text.data, text.length);
    assert_non_null(copy);
    st_buffer_free(&text);
    return copy;
}

TEST_WITH(operations_compute_what_c_does, make_shelf, drop_shelf)
{
    static const double rows[][3] = {
        {2.385, -7.112, 0.4271},
        {-31.07, 16.25, 8.5},
        {2.5, 2.5, -3.5},
        {0.49999999999999994, 1.5, 7},
        {1.25e-7, 3.3e11, -4503599627370497.5},
        {-0.5, 0.5, 1.5},
        {6.02214e23, 1.3806e-23, 2.718281828},
    };
    shelf *own = *state;
    const st_program *program = compile(own, sheet_of_operations(own));
    for (size_t row = 0; row < COUNT(rows) * 4; row++) {
        const double *v = rows[row / 4];
        bool p = (row & 1) != 0;
        bool q = (row & 2) != 0;
        double inputs[NUMBER_INPUTS] = {v[0], v[1], v[2], p ? 1 : 0, q ? 1 : 0};
        const double *outputs = run_row(own, program, inputs);
        for (size_t i = 0; i < COUNT(operations); i++)
            assert_double(outputs[i], operations[i].value(v[0], v[1], v[2], p, q),
                          operations[i].formula);
    }
}

/* One cell `T` over NUMBERS with x, y, z as given, p true and q false. */
static double value_of(shelf *own, const char *unit, const char *formula, double x, double y)
{
    const char *text = st_arena_printf(
        own->arena, NUMBERS "cells:\n  T:\n    unit: %s\n    is: %s\n", unit, formula);
    const double inputs[] = {x, y, 2.385, 1, 0};
    return run_row(own, compile(own, text), inputs)[0];
}

TEST_WITH(values_that_do_not_exist_stay_so, make_shelf, drop_shelf)
{
    /* x is 0, y is 7.25e300: 1/x and y*y have no value, and nothing hides that. */
    static const char *const formulas[] = {
        "1/x",
        "x/x",
        "y*y",
        "1/(1/x)",
        "1/(y*y)",
        "0*(1/x)",
        "y/(y*y)",
        "min(1/x, 3)",
        "max(-(1/x), 3)",
        "min(3, x/x)",
        "exp(-(1/x))",
        "exp(y)",
        "(1/x)^0",
        "1^(1/x)",
        "0.5^(y*y)",
        "(x - 1)^0.5",
        "x^-1",
        "x^-0.5",
        "sqrt(x - 1)",
        "log(x)",
        "log2(x)",
        "log(-y)",
        "floor(1/x)",
        "round(y*y)",
        "abs(x/x)",
        "if(1/x > 3, 1, 2)",
        "if(1/x == 1/x, 1, 2)",
        "if(x/x != 1, 1, 2)",
        "if(y*y >= 1, 1, 2)",
        "if(p, 1/x, 2)",
        "if(q, 2, y*y)",
        "if(not (1/x < 1), 1, 2)",
        "y*y - y*y",
    };
    for (size_t i = 0; i < COUNT(formulas); i++) {
        double value = value_of(*state, "1", formulas[i], 0, 7.25e300);
        if (isfinite(value))
            fail_msg("'%s' gives %g", formulas[i], value);
    }
}

TEST_WITH(what_is_not_chosen_is_nobodys_error, make_shelf, drop_shelf)
{
    static const struct {
        const char *unit;
        const char *formula;
        double value;
    } cases[] = {
        {"1", "if(p, z, 1/x)", 2.385},     {"1", "if(q, 1/x, z)", 2.385},
        {"1", "if(x > 0, z/x, 7.5)", 7.5}, {"1", "if(q, if(1/x > 1, 1, 2), 3.5)", 3.5},
        {"bool", "q and 1/x > 1", 0},      {"bool", "p or 1/x > 1", 1},
        {"bool", "1/x > 1 and q", 0},      {"bool", "1/x > 1 or p", 1},
        {"bool", "q and 1/x > 1 or p", 1}, {"1", "if(p or sqrt(x - 1) > 2, z*2, 1)", 4.77},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_double(value_of(*state, cases[i].unit, cases[i].formula, 0, 7.25e300),
                      cases[i].value, cases[i].formula);
    assert_true(isnan(value_of(*state, "bool", "p and 1/x > 1", 0, 7)));
    assert_true(isnan(value_of(*state, "bool", "q or 1/x > 1", 0, 7)));
}

TEST_WITH(rounding_goes_away_from_zero, make_shelf, drop_shelf)
{
    static const double values[] = {0.5,
                                    -0.5,
                                    1.5,
                                    2.5,
                                    -2.5,
                                    0.49999999999999994,
                                    2.385,
                                    -7.5,
                                    1e300,
                                    4503599627370495.5,
                                    9007199254740992.0,
                                    0};
    for (size_t i = 0; i < COUNT(values); i++)
        assert_double(value_of(*state, "1", "round(x)", values[i], 1) + 0, round(values[i]) + 0,
                      "round");
}

TEST_OF(enumerations_are_numbers_inside, shelf *own, make_shelf, drop_shelf)
{
    const st_program *program = compile(
        own, "sheet: t\nenums:\n  gear: [none, half, full]\n  door: [full, none]\n"
             "inputs:\n  g: {from: a.g, unit: gear}\n  d: {from: a.d, unit: door}\n"
             "cells:\n"
             "  a: {unit: bool, is: g == full}\n"
             "  b: {unit: bool, is: d == full}\n"
             "  c:\n    unit: gear\n    is: if(d == none, g, half)\n"
             "  e:\n    unit: gear\n    is: if(g == none, full, if(g == half, none, half))\n"
             "  f:\n    unit: bool\n    is: if(d == full, none, g) == if(g == half, g, none)\n");
    static const double gears[3] = {2, 0, 1}; /* what e makes of each */
    for (int g = 0; g < 3; g++) {
        for (int d = 0; d < 2; d++) {
            const double inputs[] = {g, d};
            const double *outputs = run_row(own, program, inputs);
            assert_double(outputs[0], g == 2 ? 1 : 0, "a");
            assert_double(outputs[1], d == 0 ? 1 : 0, "b");
            assert_double(outputs[2], d == 1 ? g : 1, "c");
            assert_double(outputs[3], gears[g], "e");
            assert_double(outputs[4], (d == 0 ? 0 : g) == (g == 1 ? 1 : 0) ? 1 : 0, "f");
        }
    }
}

TEST_OF(literals_and_inputs_are_in_base_units, shelf *own, make_shelf, drop_shelf)
{
    const st_program *program = compile(
        own, "sheet: t\ninputs:\n  V: {from: a.v, unit: MiB}\n  C: {from: a.c, unit: Gbit/s}\n"
             "cells:\n  T: {unit: ms, is: 'V/C + 2.5[us]'}\n"
             "  share: {unit: '%', is: 'V/(V + 3[kB])'}\n");
    const double inputs[] = {2.385e6, 1.37e9};
    const double *outputs = run_row(own, program, inputs);
    assert_double(outputs[0], 2.385e6 / 1.37e9 + 2.5 / 1e6, "T");
    assert_double(outputs[1], 2.385e6 / (2.385e6 + 3000), "share");
}

TEST_OF(functions_are_put_in_place, shelf *own, make_shelf, drop_shelf)
{
    const st_program *program =
        compile(own, NUMBERS "functions:\n"
                             "  swap: {args: {x: 1, y: 1}, is: x - 2*y}\n"
                             "  twice: {args: {z: 1}, is: 'swap(z, swap(3.5, z))'}\n"
                             "  pick: {args: {on: bool, x: 1}, is: 'if(on, x, -x)'}\n"
                             "cells:\n"
                             "  a: {is: 'swap(y, x)'}\n"
                             "  b: {is: 'twice(x + y)'}\n"
                             "  c: {is: 'pick(x > y, pick(p, z))'}\n");
    const double inputs[] = {2.385, -7.112, 0.4271, 1, 0};
    const double *outputs = run_row(own, program, inputs);
    double z = 2.385 + -7.112;
    assert_double(outputs[0], -7.112 - 2 * 2.385, "a");
    assert_double(outputs[1], z - 2 * (3.5 - 2 * z), "b");
    assert_double(outputs[2], 0.4271, "c");
}

/* --- folding, sharing, dropping -------------------------------------------------------------- */

static size_t operations_in(shelf *own, const char *formula)
{
    const char *text = st_arena_printf(own->arena, NUMBERS "cells:\n  T:\n    is: %s\n", formula);
    return st_program_operation_count(compile(own, text));
}

TEST_WITH(constants_are_folded, make_shelf, drop_shelf)
{
    static const struct {
        const char *formula;
        size_t operations;
    } cases[] = {
        {"2*3 + 4^2 - sqrt(16)", 0},
        {"x + 2*3", 1},
        {"x*1", 0},
        {"1*x", 0},
        {"x/1", 0},
        {"1/x", 1},
        {"x*0", 1},   /* x may have no value */
        {"x - x", 1}, /* likewise */
        {"x^1", 0},
        {"x^2", 1},
        {"x^3", 2},
        {"x^4", 2},
        {"x^-1", 1},
        {"x^-4", 3},
        {"x^5", 1},
        {"x^(1 + 1)", 1},
        {"x/8", 1},
        {"if(2 > 1, x, y)", 0},
        {"if(2 < 1, x, y*z)", 1},
        {"min(3, 2, 5)", 0},
        {"x + 1/0", 2}, /* has no value, so that it can be told which operation */
        {"(1 - 1)/0", 1},
        {"log(0 - 1)", 1},
        {"x*2*3", 2}, /* products are not rearranged: that would change bits */
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t found = operations_in(*state, cases[i].formula);
        if (found != cases[i].operations)
            fail_msg("'%s' takes %zu operations", cases[i].formula, found);
    }
}

TEST_WITH(equal_values_are_computed_once, make_shelf, drop_shelf)
{
    static const struct {
        const char *formula;
        size_t operations;
    } cases[] = {
        {"(x + y)*(x + y)", 2},
        {"(x + y)*(y + x)", 2},
        {"(x - y)*(y - x)", 3},
        {"x*y + y*x", 2},
        {"min(x, y) + min(y, x)", 2},
        {"x/4 + x*0.25", 2},
        {"x^2 + x*x", 2},
        {"x^4 + x^2", 3},
        {"exp(x) + exp(x) + exp(y)", 4},
        {"if((x < y) == (y > x), 1, 0)", 3},
        {"if((x <= y) == (y >= x), 1, 0)", 3},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t found = operations_in(*state, cases[i].formula);
        if (found != cases[i].operations)
            fail_msg("'%s' takes %zu operations", cases[i].formula, found);
    }
    const st_program *program =
        compile(*state, NUMBERS "functions:\n  f: {args: {u: 1, v: 1}, is: u*v + u}\n"
                                "cells:\n  a: {is: x*y}\n  b: {is: 'f(x, y)'}\n  c: {is: b + x*y}\n"
                                "  d: {is: 'f(x, y) + f(x, z)'}\n");
    assert_int_equal(st_program_operation_count(program), 6);
}

TEST_WITH(cells_that_nobody_asks_for_are_dropped, make_shelf, drop_shelf)
{
    static const char *const text =
        NUMBERS "cells:\n  a: {is: x*y}\n  b: {is: a + exp(z)}\n  c: {is: b/3 + log(x)}\n"
                "checks:\n  - {that: sqrt(x) > 1, else: small}\n";
    static const char *const only_a[] = {"a", NULL};
    static const char *const only_b[] = {"b", NULL};
    static const char *const nothing_at_all[] = {NULL};
    shelf *own = *state;
    assert_int_equal(st_program_operation_count(compile(own, text)), 8);
    assert_int_equal(st_program_operation_count(compile_for(own, text, only_a, NULL)), 3);
    assert_int_equal(st_program_operation_count(compile_for(own, text, only_b, NULL)), 5);
    assert_int_equal(st_program_operation_count(compile_for(own, text, nothing_at_all, NULL)), 2);
    st_program_options options = {.outputs = only_a, .output_count = 1, .without_checks = true};
    const st_program *program = compile_with(own, accept(own, text), &options);
    assert_int_equal(st_program_operation_count(program), 1);
    assert_int_equal(st_program_output_count(program), 1);
}

TEST_OF(registers_are_used_again, shelf *own, make_shelf, drop_shelf)
{
    st_buffer text = {0};
    st_buffer_text(&text, NUMBERS "cells:\n  a0: {is: x}\n");
    for (int i = 1; i < 3000; i++)
        st_buffer_printf(&text, "  a%d: {is: a%d*y + z}\n", i, i - 1);
    const st_program *program = compile(own, text.data);
    assert_int_equal(st_program_operation_count(program), 2 * 2999);
    assert_true(st_program_register_count(program) <= 6);
    st_buffer_free(&text);
}

/* --- outputs --------------------------------------------------------------------------------- */

TEST_WITH(outputs_may_be_anything_any_number_of_times, make_shelf, drop_shelf)
{
    static const char *const text =
        NUMBERS "cells:\n  same: {is: x}\n  seven: {is: 7.25}\n  T: {is: x*y}\n  U: {is: T}\n";
    static const char *const outputs[] = {"T", "x",    "seven", "T", "same",
                                          "p", "same", "seven", "U", NULL};
    shelf *own = *state;
    const st_program *program = compile_for(own, text, outputs, NULL);
    const double inputs[] = {2.385, -7.112, 3, 1, 0};
    const double expected[] = {2.385 * -7.112, 2.385, 7.25,          2.385 * -7.112, 2.385, 1,
                               2.385,          7.25,  2.385 * -7.112};
    assert_int_equal(st_program_output_count(program), COUNT(expected));
    const double *row = run_row(own, program, inputs);
    for (size_t i = 0; i < COUNT(expected); i++) {
        assert_double(row[i], expected[i], outputs[i]);
        assert_string_equal(st_program_output_name(program, i), outputs[i]);
    }
    assert_int_equal(st_program_output_type(program, 5)->kind, ST_TYPE_BOOL);
    static const size_t strides[][5] = {
        {1, 1, 1, 1, 1}, {0, 0, 0, 0, 0}, {1, 0, 0, 0, 1}, {0, 1, 0, 1, 0}, {3, 2, 1, 5, 0}};
    for (size_t i = 0; i < COUNT(strides); i++) {
        table t = make_table(own, st_program_sheet(program), strides[i], 600);
        assert_block_equals_rows(own, program, &t);
    }
}

TEST_WITH(unknown_outputs_are_all_named, make_shelf, drop_shelf)
{
    static const char *const outputs[] = {"T_comp", "T_com", "T_dpp", "xyzzy"};
    shelf *own = *state;
    const st_sheet *sheet =
        accept(own, "sheet: t\ncells:\n  T_comp: {is: 2.5}\n  T_dp: {is: 3.5}\n");
    const st_program *program = NULL;
    st_program_options options = {.outputs = outputs, .output_count = COUNT(outputs)};
    assert_int_equal(st_program_compile(sheet, &options, own->arena, &program, own->errors),
                     ST_ERR_USAGE);
    assert_null(program);
    assert_string_equal(said(own), "error: sheet 't' has no cell 'T_com'; did you mean 'T_comp'?\n"
                                   "error: sheet 't' has no cell 'T_dpp'; did you mean 'T_dp'?\n"
                                   "error: sheet 't' has no cell 'xyzzy'\n");
    assert_int_equal(st_program_compile(sheet, &options, own->arena, &program, NULL), ST_ERR_USAGE);
    assert_int_equal(st_program_compile(sheet, NULL, own->arena, &program, NULL), ST_OK);
}

/* --- blocks ---------------------------------------------------------------------------------- */

static const char everything[] =
    "sheet: t\nenums:\n  gear: [none, half, full]\n"
    "inputs:\n  x: {from: a.x}\n  y: {from: a.y}\n  z: {from: a.z}\n"
    "  p: {from: a.p, unit: bool}\n  g: {from: a.g, unit: gear}\n  V: {from: a.v, unit: MB}\n"
    "functions:\n  f: {args: {u: 1, on: bool}, is: 'if(on, u/(x_of(u) - 2.9), u^1.3)'}\n"
    "  x_of: {args: {u: 1}, is: floor(u)}\n"
    "cells:\n"
    "  a: {is: 'f(x, p) + f(y, not p)'}\n"
    "  b: {is: 'min(x, y, z) - max(x*y, 3.25, z) + abs(y - z)'}\n"
    "  c: {unit: MB, is: 'V*exp(-x) + V/8 + V/3'}\n"
    "  d: {is: 'if(g == full, a, if(g == half, b, c/V))'}\n"
    "  e: {is: 'log(x - 3) + log2(y) + sqrt(z - 4.1) + round(x*7) + ceil(y)'}\n"
    "  h: {unit: bool, is: 'x > y and e < 9 or p'}\n"
    "  i: {unit: gear, is: 'if(h, g, half)'}\n"
    "  k: {is: 7.25}\n"
    "  l: {is: 'x^2 + y^3 - z^-2 + x^y'}\n"
    "  m: {is: '1/(floor(x) - 3) + -z'}\n"
    "checks:\n  - {that: x > 3, else: '{x}'}\n  - {that: p, else: 'no', level: warning}\n"
    "  - {that: true, else: never}\n  - {that: m > 0 or g != none, else: 'no'}\n";

static void check_rows(shelf *own, const st_program *program, size_t rows, unsigned mask)
{
    size_t strides[6];
    for (size_t i = 0; i < COUNT(strides); i++)
        strides[i] = mask >> i & 1;
    table t = make_table(own, st_program_sheet(program), strides, rows);
    assert_block_equals_rows(own, program, &t);
}

TEST_WITH(blocks_of_any_size_give_the_bits_of_rows, make_shelf, drop_shelf)
{
    static const size_t sizes[] = {255, 256, 257, 511, 512, 513, 767, 1023, 1024, 1025, 1999, 2000};
    shelf *own = *state;
    const st_program *program = compile(own, everything);
    for (size_t rows = 1; rows <= 130; rows++)
        check_rows(own, program, rows, (unsigned)(rows * 37 % 64));
    for (size_t i = 0; i < COUNT(sizes); i++)
        check_rows(own, program, sizes[i], (unsigned)(i * 29 + 63) % 64);
}

TEST_OF(any_inputs_may_vary, shelf *own, make_shelf, drop_shelf)
{
    const st_program *program = compile(own, everything);
    for (unsigned mask = 0; mask < 64; mask++)
        check_rows(own, program, 67, mask);
}

TEST_WITH(strides_may_be_larger_than_one, make_shelf, drop_shelf)
{
    static const size_t strides[][6] = {
        {2, 1, 0, 3, 1, 7}, {5, 5, 5, 5, 5, 5}, {0, 64, 1, 0, 2, 0}};
    shelf *own = *state;
    const st_program *program = compile(own, everything);
    for (size_t i = 0; i < COUNT(strides); i++) {
        table t = make_table(own, st_program_sheet(program), strides[i], 700);
        assert_block_equals_rows(own, program, &t);
    }
}

/* Many live values make blocks small: the row count of a block must not matter. */
TEST_OF(small_blocks_give_the_same, shelf *own, make_shelf, drop_shelf)
{
    st_buffer text = {0};
    st_buffer_text(&text, NUMBERS "cells:\n");
    for (int i = 0; i < 400; i++)
        st_buffer_printf(&text, "  a%d: {is: 'exp(x/%d) + y*%d.5'}\n", i, i + 2, i);
    st_buffer_text(&text, "  T:\n    is: a399");
    for (int i = 399; i-- > 0;)
        st_buffer_printf(&text, " - a%d*z", i);
    st_buffer_text(&text, "\n");
    const st_program *program = compile(own, text.data);
    assert_true(st_program_register_count(program) > 300);
    static const size_t strides[] = {1, 1, 1, 0, 0};
    table t = make_table(own, st_program_sheet(program), strides, 333);
    assert_block_equals_rows(own, program, &t);
    st_buffer_free(&text);
}

TEST_OF(workspaces_may_be_used_again, shelf *own, make_shelf, drop_shelf)
{
    const st_program *program = compile(own, everything);
    size_t outputs = st_program_output_count(program);
    st_workspace *workspace = st_workspace_create(program);
    assert_non_null(workspace);
    static const size_t strides[2][6] = {{1, 1, 1, 1, 1, 1}, {0, 1, 0, 0, 1, 0}};
    double **columns[4];
    for (size_t i = 0; i < 4; i++) {
        table t = make_table(own, st_program_sheet(program), strides[i % 2], 90 - 30 * (i % 2));
        columns[i] = make_columns(own, outputs, 90);
        assert_int_equal(st_program_run(program, workspace, t.columns, t.rows, columns[i], NULL),
                         ST_OK);
        assert_int_equal(st_program_run(program, workspace, t.columns, 0, columns[i], NULL), ST_OK);
    }
    for (size_t i = 0; i < outputs; i++) {
        for (size_t row = 0; row < 90; row++) {
            assert_double(columns[0][i][row], columns[2][i][row], "all vary");
            assert_double(columns[1][i][row], columns[3][i][row], "some vary");
        }
    }
    st_workspace_destroy(workspace);
    st_workspace_destroy(NULL);
}

TEST_OF(sheets_without_inputs_run, shelf *own, make_shelf, drop_shelf)
{
    const st_program *program =
        compile(own, "sheet: t\ncells:\n  a: {is: 2.5}\n  b: {is: 1/(a - 2.5)}\n");
    assert_double(run_row(own, program, NULL)[0], 2.5, "a");
    double **columns = make_columns(own, 2, 70);
    st_workspace *workspace = st_workspace_create(program);
    assert_int_equal(st_program_run(program, workspace, NULL, 70, columns, NULL), ST_OK);
    assert_double(columns[0][69], 2.5, "a");
    assert_true(!isfinite(columns[1][0]));
    st_workspace_destroy(workspace);
}

/* --- kernels --------------------------------------------------------------------------------- */

static const double odd_values[] = {
    0,    -0.0,  1,      -1,     2.385,  -2.385,   0.5,  -0.5,
    1.5,  2.5,   1e308,  -1e308, 5e-324, 2.2e-308, 1e16, 4503599627370495.5,
    3.25, 709.7, -745.2, 1e-17,  7};
enum { ODD_ROWS = 67 };

/* Operands of a step: a value per row, some of them infinite or none at all. */
static void fill_operand(double *values, size_t seed, bool truth)
{
    for (size_t row = 0; row < ODD_ROWS; row++) {
        size_t pick = (row * 13 + seed * 29) % (COUNT(odd_values) + 3);
        values[row] = pick < COUNT(odd_values)        ? odd_values[pick]
                      : pick == COUNT(odd_values)     ? INFINITE
                      : pick == COUNT(odd_values) + 1 ? -INFINITE
                                                      : NOT_A_NUMBER;
        if (truth)
            values[row] = pick % 7 == 6 ? NOT_A_NUMBER : (double)(pick % 2);
    }
}

static void check_step(st_kernels *kernels, st_op op, unsigned scalars)
{
    enum { ROOM = ODD_ROWS + ST_REGISTER_LANES };
    static double a[ROOM], b[ROOM], c[ROOM], out[ROOM + 1];
    bool truth = op == ST_OP_NOT || op == ST_OP_AND || op == ST_OP_OR;
    for (size_t seed = 0; seed < 9; seed++) {
        fill_operand(a, seed, truth);
        fill_operand(b, seed + 4, truth);
        fill_operand(c, seed + 7, true);
        size_t rows = ODD_ROWS - seed * 7;
        size_t room = (rows + ST_REGISTER_LANES - 1) / ST_REGISTER_LANES * ST_REGISTER_LANES;
        out[room] = -77.25;
        st_step step = {.op = op, .scalars = scalars, .a = a, .b = b, .c = c, .out = out};
        kernels(&step, 1, rows);
        for (size_t row = 0; row < rows; row++) {
            double x = a[(scalars & ST_SCALAR_A) != 0 ? 0 : row];
            double y = b[(scalars & ST_SCALAR_B) != 0 ? 0 : row];
            double z = c[(scalars & ST_SCALAR_C) != 0 ? 0 : row];
            double expected = st_apply(op, x, y, z);
            if (!same_double(out[row], expected))
                fail_msg("operation %d with scalars %u of %.17g, %.17g, %g: %.17g, not %.17g", op,
                         scalars, x, y, z, out[row], expected);
        }
        assert_double(out[room], -77.25, "beyond the last vector");
    }
}

static void check_kernels(st_kernels *kernels)
{
    for (int op = ST_OP_NEGATE; op < ST_OP_SELECT; op++) {
        check_step(kernels, (st_op)op, 0);
        if (op >= ST_OP_ADD) {
            check_step(kernels, (st_op)op, ST_SCALAR_A);
            check_step(kernels, (st_op)op, ST_SCALAR_B);
        }
    }
    for (unsigned scalars = 0; scalars < 7; scalars++)
        check_step(kernels, ST_OP_SELECT, scalars);
}

TEST_WITH(kernels_give_the_bits_of_scalars, make_shelf, drop_shelf)
{
    check_kernels(st_kernels_baseline);
}

TEST_WITH(avx2_kernels_give_the_same, make_shelf, drop_shelf)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        check_kernels(st_kernels_avx2);
        return;
    }
#endif
    skip();
}

TEST_WITH(avx512_kernels_give_the_same, make_shelf, drop_shelf)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
        check_kernels(st_kernels_avx512);
        return;
    }
#endif
    skip();
}

/* --- looking at a program -------------------------------------------------------------------- */

TEST_WITH(a_program_can_be_printed, make_shelf, drop_shelf)
{
    static const char *const outputs[] = {"T", "x", "k", NULL};
    shelf *own = *state;
    const st_program *program =
        compile_for(own,
                    NUMBERS "cells:\n  T: {is: '2.5*x + if(p, y, -y)'}\n  k: {is: 7.25}\n"
                            "checks:\n  - {that: x < y, else: 'no'}\n",
                    outputs, NULL);
    st_buffer text = {0};
    st_program_print(program, &text);
    assert_false(text.failed);
    assert_contains(text.data, "; sheet t: 5 operations, 2 constants, ");
    assert_contains(text.data, "%0 = * 2.5, x  ; register ");
    assert_contains(text.data, "%1 = - y  ; register ");
    assert_contains(text.data, "%2 = if y, %1, p  ; register ");
    assert_contains(text.data, "%3 = + %0, %2  ; register ");
    assert_contains(text.data, "%4 = < x, y  ; register ");
    assert_contains(text.data, "\nT = %3\nx = x\nk = 7.25\ncheck x < y = %4\n");
    st_buffer_free(&text);
}

/* --- sheets that are made to take long ------------------------------------------------------- */

/* f0 is x + 1, every further function calls the one before twice. */
static char *doubling(shelf *own, int functions, const char *more)
{
    st_buffer text = {0};
    st_buffer_text(&text, NUMBERS "functions:\n  f0: {args: {x: 1}, is: x+1}\n");
    for (int i = 1; i < functions; i++)
        st_buffer_printf(&text, "  f%d: {args: {x: 1}, is: f%d(x)+f%d(x*%d.5)}\n", i, i - 1, i - 1,
                         i);
    st_buffer_printf(&text, "%scells:\n  T: {is: f%d(x)}\n", more, functions - 1);
    char *copy = st_arena_copy(own->arena, text.data, text.length);
    assert_non_null(copy);
    st_buffer_free(&text);
    return copy;
}

TEST_WITH(exponential_functions_are_bounded, make_shelf, drop_shelf)
{
    static const char *const bare[] = {"", "  bare: {open: true, args: {x: 1}}\n"};
    shelf *own = *state;
    assert_int_equal(st_program_output_count(compile(own, doubling(own, 12, ""))), 1);
    for (size_t i = 0; i < COUNT(bare); i++) {
        const st_program *program = NULL;
        const st_sheet *sheet = accept(own, doubling(own, 60, bare[i]));
        assert_int_equal(st_program_compile(sheet, NULL, own->arena, &program, own->errors),
                         ST_ERR_LIMIT);
        assert_contains(said(own),
                        "main: error: the sheet is too large after its functions are expanded\n");
        assert_null(program);
    }
}

TEST_OF(long_chains_of_cells_compile_and_run, shelf *own, make_shelf, drop_shelf)
{
    st_buffer text = {0};
    st_buffer_text(&text, NUMBERS "cells:\n");
    for (int i = 19990; i-- > 1;)
        st_buffer_printf(&text, "  a%d: {is: a%d+y}\n", i, i - 1);
    st_buffer_text(&text, "  a0: {is: x}\n");
    const st_program *program = compile(own, text.data);
    st_buffer_free(&text);
    const double inputs[] = {2.385, 0.25, 0, 0, 0};
    const double *outputs = run_row(own, program, inputs);
    assert_double(output_of(program, outputs, "a19989"), 2.385 + 19989 * 0.25, "a19989");
}

TESTS(program);
