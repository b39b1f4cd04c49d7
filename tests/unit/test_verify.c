/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding what went wrong in a row: the cell where a value stops to exist, with its formula and its
 * operands, and the checks that fail, with their messages.
 */
#include "../support/programs.h"
#include "program/program.h"
#include "steptime/tool/providers.h"

#define INPUTS                                                                                     \
    "sheet: t\n"                                                                                   \
    "enums:\n"                                                                                     \
    "  mode: [none, part, full]\n"                                                                 \
    "inputs:\n"                                                                                    \
    "  x: {from: a.x}\n"                                                                           \
    "  y: {from: a.y}\n"                                                                           \
    "  V: {from: a.v, unit: MB}\n"                                                                 \
    "  C: {from: a.c, unit: GB/s}\n"                                                               \
    "  w: {from: a.w, unit: bool}\n"                                                               \
    "  m: {from: a.m, unit: mode}\n"

/* x = 0, y = 7.25e300, V = 2.385 MB, C = 12.5 GB/s, w yes, m part */
static const double row[] = {0, 7.25e300, 2.385e6, 12.5e9, 1, 1};

static const char *verify(shelf *own, st_status status, const st_program *program,
                          const double *inputs)
{
    st_errors_clear(own->errors);
    st_status found = st_program_verify(program, inputs, own->errors);
    if (found != status)
        fail_msg("status %d instead of %d: %s", found, status, said(own));
    assert_int_equal(st_program_verify(program, inputs, NULL), status);
    return said(own);
}

/* What is said about INPUTS with more lines behind. */
static const char *verify_sheet(shelf *own, st_status status, const char *more)
{
    const char *text = st_arena_printf(own->arena, INPUTS "%s", more);
    return verify(own, status, compile(own, text), row);
}

/* --- values that do not exist ---------------------------------------------------------------- */

TEST_WITH(the_operation_that_failed_is_named, make_shelf, drop_shelf)
{
    /* A cell T with its formula in line 14 from column 9. */
    static const struct {
        const char *formula;
        int column; /* from 1 in the formula */
        const char *said;
    } cases[] = {
        {"3.5/x", 1, "division by zero in '3.5/x' with x = 0; formula: 3.5/x"},
        {"y + 2*(x/(x + 0)) - 1", 7,
         "division by zero in '(x/(x + 0))' with x = 0; formula: y + 2*(x/(x + 0)) - 1"},
        {"x/x", 1, "division by zero in 'x/x' with x = 0; formula: x/x"},
        {"1/0", 1, "division by zero in '1/0'; formula: 1/0"},
        {"x + y*y", 5, "the result is too large in 'y*y' with y = 7.25e300; formula: x + y*y"},
        {"y/1e-200", 1,
         "the result is too large in 'y/1e-200' with y = 7.25e300; formula: y/1e-200"},
        {"exp(y)", 1, "the result is too large in 'exp(y)' with y = 7.25e300; formula: exp(y)"},
        {"sqrt(x - 4)", 1,
         "square root of a negative number in 'sqrt(x - 4)' with x = 0; formula: sqrt(x - 4)"},
        {"log(x)", 1,
         "logarithm of a number that is not positive in 'log(x)' with x = 0; formula: "
         "log(x)"},
        {"2 - log2(x - 1)", 5,
         "logarithm of a number that is not positive in 'log2(x - 1)' with x = 0; formula: 2 - "
         "log2(x - 1)"},
        {"x^-0.5", 1, "invalid power or overflow in 'x^-0.5' with x = 0; formula: x^-0.5"},
        {"(x - 1)^0.5", 1,
         "invalid power or overflow in '(x - 1)^0.5' with x = 0; formula: (x - 1)^0.5"},
        {"min(V/C/1[s], 1/x)", 15,
         "division by zero in '1/x' with x = 0; formula: min(V/C/1[s], 1/x)"},
        {"V/(C*x)*1[1/s]", 1,
         "division by zero in 'V/(C*x)' with V = 2.385 MB, C = 12.5 GB/s, x = "
         "0; formula: V/(C*x)*1[1/s]"},
        {"if(1/x > 2, 1, 2)", 4,
         "division by zero in '1/x' with x = 0; formula: if(1/x > 2, 1, 2)"},
        {"if(w and m == part, 1/x, 2)", 21,
         "division by zero in '1/x' with x = 0; formula: if(w and m == part, 1/x, 2)"},
        {"if(x > 0, 1/x, 1/(x*x))", 16,
         "division by zero in '1/(x*x)' with x = 0; formula: if(x > 0, 1/x, 1/(x*x))"},
        {"if(w and 1/x > 1, 1, 2)", 10,
         "division by zero in '1/x' with x = 0; formula: if(w and 1/x > 1, 1, 2)"},
    };
    shelf *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *more = st_arena_printf(
            own->arena, "cells:\n  T:\n    doc: a cell\n    is: %s\n", cases[i].formula);
        const char *expected =
            st_arena_printf(own->arena, "main:14:%d: error: cell 'T' has no value: %s\n",
                            8 + cases[i].column, cases[i].said);
        assert_string_equal(verify_sheet(own, ST_ERR_MATH, more), expected);
    }
}

TEST_WITH(what_is_not_chosen_is_not_told, make_shelf, drop_shelf)
{
    static const char *const formulas[] = {
        "if(x > 0, 1/x, 3.5)",
        "if(w, 3.5, 1/x)",
        "if(not w, sqrt(x - 1), 2)",
        "if(w or 1/x > 1, 1, 2)",
        "if(not w and 1/x > 1, 1, 2)",
        "if(1/x > 1 or w, 1, 2)",
        "if(m == full, 1/x, if(m == part, 2.5, log(x)))",
    };
    shelf *own = *state;
    for (size_t i = 0; i < COUNT(formulas); i++) {
        const char *more = st_arena_printf(own->arena, "cells:\n  T:\n    is: %s\n", formulas[i]);
        assert_string_equal(verify_sheet(own, ST_OK, more), "");
    }
}

TEST_WITH(the_first_cell_without_a_value_is_named, make_shelf, drop_shelf)
{
    assert_string_equal(verify_sheet(*state, ST_ERR_MATH,
                                     "cells:\n"
                                     "  total: {is: 2*middle + y}\n"
                                     "  middle: {is: 3 + low}\n"
                                     "  low: {is: y/x}\n"),
                        "main:14:13: error: cell 'low' has no value: division by zero in 'y/x' "
                        "with y = 7.25e300, x "
                        "= 0; formula: y/x\n");
}

TEST_WITH(each_fault_is_told_once, make_shelf, drop_shelf)
{
    assert_string_equal(
        verify_sheet(*state, ST_ERR_MATH,
                     "cells:\n"
                     "  a: {is: 1/x}\n"
                     "  b: {is: y*y}\n"
                     "  c: {is: 2*a}\n"
                     "  d: {is: b + 1}\n"
                     "  e: {is: c + d}\n"
                     "  f: {is: a}\n"
                     "checks:\n  - {that: c > 1, else: no}\n  - {that: e > 1, else: no}\n"),
        "main:12:11: error: cell 'a' has no value: division by zero in '1/x' with x = 0; formula: "
        "1/x\n"
        "main:13:11: error: cell 'b' has no value: the result is too large in 'y*y' with y = "
        "7.25e300; formula: y*y\n");
}

TEST_WITH(faults_in_functions_name_the_cell_and_the_function, make_shelf, drop_shelf)
{
    assert_string_equal(
        verify_sheet(*state, ST_ERR_MATH,
                     "functions:\n"
                     "  share: {args: {some: 1, whole: 1}, is: 'some/(whole - 2.5)'}\n"
                     "  twice: {args: {v: 1}, is: 'share(v, 5) + share(2*v, v)'}\n"
                     "cells:\n"
                     "  a: {is: 'share(3.25, x + 2.5)'}\n"
                     "  b: {is: 'twice(2.5)'}\n"),
        "main:12:43: error: cell 'a' has no value (in function 'share'): division by zero in "
        "'some/(whole - 2.5)' with some = 3.25, whole = 2.5; formula: some/(whole - 2.5)\n"
        "main:12:43: error: cell 'b' has no value (in function 'share'): division by zero in "
        "'some/(whole - 2.5)' with some = 5, whole = 2.5; formula: some/(whole - 2.5)\n");
}

TEST_WITH(operands_are_shown_with_their_units_once, make_shelf, drop_shelf)
{
    assert_string_equal(
        verify_sheet(*state, ST_ERR_MATH,
                     "cells:\n"
                     "  v2: {unit: MB, is: 2*V}\n"
                     "  T: {unit: us, is: 'if(w, (V + v2 + V)/(C*x - C*x), V/C)'}\n"),
        "main:13:28: error: cell 'T' has no value: division by zero in '(V + v2 + V)/(C*x - C*x)' "
        "with V = 2.385 MB, v2 = 4.77 MB, C = 12.5 GB/s, x = 0; formula: if(w, (V + v2 + V)/(C*x - "
        "C*x), V/C)\n");
}

TEST_OF(long_formulas_are_shortened, shelf *own, make_shelf, drop_shelf)
{
    st_buffer text = {0};
    st_buffer_text(&text, INPUTS "cells:\n");
    for (int i = 0; i < 40; i++)
        st_buffer_printf(&text, "  operand_%d: {is: x}\n", i);
    st_buffer_text(&text, "  T:\n    is: 1/(x");
    for (int i = 0; i < 40; i++)
        st_buffer_printf(&text, " + operand_%d", i);
    st_buffer_text(&text, ")\n");
    const char *found = verify(own, ST_ERR_MATH, compile(own, text.data), row);
    assert_contains(found, "operand_10 = 0; formula: 1/(x + operand_0");
    assert_lacks(found, "operand_11 = 0");
    assert_true(strlen(found) < 1200);
    st_buffer_free(&text);
}

TEST_WITH(only_what_was_asked_for_is_looked_at, make_shelf, drop_shelf)
{
    static const char *const text = INPUTS "cells:\n  bad: {is: 1/x}\n  good: {is: x + 2.5}\n";
    static const char *const good[] = {"good", NULL};
    static const char *const twice[] = {"bad", "good", "bad", NULL};
    shelf *own = *state;
    assert_string_equal(verify(own, ST_OK, compile_for(own, text, good, NULL), row), "");
    assert_string_equal(
        verify(own, ST_ERR_MATH, compile_for(own, text, twice, NULL), row),
        "main:12:13: error: cell 'bad' has no value: division by zero in '1/x' with "
        "x = 0; formula: 1/x\n");
}

TEST_WITH(inputs_without_a_value_are_named, make_shelf, drop_shelf)
{
    static const char *const text = INPUTS "cells:\n  a: {is: 2*y + 1}\n";
    static const char *const outputs[] = {"a", "x", "y", NULL};
    const double inputs[] = {NOT_A_NUMBER, INFINITE, 2.385e6, 12.5e9, 1, 1};
    shelf *own = *state;
    assert_string_equal(verify(own, ST_ERR_MATH, compile_for(own, text, outputs, NULL), inputs),
                        "main:12:13: error: cell 'a' has no value: an input without a value in 'y' "
                        "with y = not finite; formula: 2*y + 1\n"
                        "main:5:3: error: input 'x' has no value\n"
                        "main:6:3: error: input 'y' has no value\n");
}

TEST_OF(long_chains_are_searched_at_once, shelf *own, make_shelf, drop_shelf)
{
    st_buffer text = {0};
    st_buffer_text(&text, INPUTS "cells:\n  a0: {is: 1/x}\n");
    for (int i = 1; i < 19900; i++)
        st_buffer_printf(&text, "  a%d: {is: a%d + 1}\n", i, i - 1);
    const char *found = verify(own, ST_ERR_MATH, compile(own, text.data), row);
    assert_string_equal(found,
                        "main:12:12: error: cell 'a0' has no value: division by zero in '1/x' "
                        "with x = 0; formula: 1/x\n");
    st_buffer_free(&text);
}

/* --- checks ---------------------------------------------------------------------------------- */

TEST_WITH(failing_checks_fill_their_messages, make_shelf, drop_shelf)
{
    assert_string_equal(
        verify_sheet(*state, ST_ERR_CHECK,
                     "cells:\n"
                     "  T: {unit: us, is: V/C}\n"
                     "checks:\n"
                     "  - that: x >= 1\n"
                     "    else: 'x is {x}, {{x}} and {2*x + 1.5}: {V} in {T}, {V/(2*C)}'\n"
                     "  - that: T > 1[s]\n"
                     "    else: 'mode {m} with w {w}, {not w} and {if(w, full, m)}'\n"
                     "    level: warning\n"
                     "  - that: w\n"
                     "    else: never\n"
                     "  - that: m != part\n"
                     "    else: '{T > 1[s]} {{ }} {T*x} {V*C} {sqrt(V)} {1/(3*T)} {2*x}'\n"),
        "main:14:11: error: x is 0, {x} and 1.5: 2.385 MB in 190.8 us, 95.4 us\n"
        "main:16:11: warning: mode part with w yes, no and full\n"
        "main:21:11: error: no { } 0 s 2.98125e16 B^2/s 1544.34 B^0.5 1747.03 1/s 0\n");
}

TEST_WITH(warnings_are_no_failure, make_shelf, drop_shelf)
{
    assert_string_equal(verify_sheet(*state, ST_OK,
                                     "checks:\n"
                                     "  - {that: x > 1, else: 'only {x}', level: warning}\n"
                                     "  - {that: y > 1, else: never}\n"),
                        "main:12:12: warning: only 0\n");
}

TEST_WITH(checks_without_a_value_are_faults, make_shelf, drop_shelf)
{
    assert_string_equal(
        verify_sheet(*state, ST_ERR_MATH,
                     "checks:\n"
                     "  - {that: 1/x > 1, else: never}\n"
                     "  - {that: x > 1 and 1/x > 1, else: 'x is {x}', level: warning}\n"
                     "  - {that: w and log(x) > 1, else: never, level: warning}\n"),
        "main:12:12: error: a check has no value: division by zero in '1/x' with x = 0; formula: "
        "1/x "
        "> 1\n"
        "main:13:12: warning: x is 0\n"
        "main:14:18: error: a check has no value: logarithm of a number that is not positive in "
        "'log(x)' with x = 0; formula: w and log(x) > 1\n");
}

/* That the configuration makes no sense says more than what follows from it. */
TEST_WITH(failing_checks_come_before_values, make_shelf, drop_shelf)
{
    assert_string_equal(verify_sheet(*state, ST_ERR_CHECK,
                                     "cells:\n"
                                     "  T: {is: y/x}\n"
                                     "checks:\n"
                                     "  - {that: T > 1, else: never}\n"
                                     "  - {that: x > 1, else: 'x {x} gives {T}'}\n"),
                        "main:12:11: error: cell 'T' has no value: division by zero in 'y/x' with "
                        "y = 7.25e300, x = "
                        "0; formula: y/x\n"
                        "main:15:12: error: x 0 gives not finite\n");
}

TEST_OF(checks_may_be_left_out, shelf *own, make_shelf, drop_shelf)
{
    st_program_options options = {.without_checks = true};
    const st_sheet *sheet =
        accept(own, INPUTS "cells:\n  a: {is: x}\nchecks:\n  - {that: x > 1, else: no}\n");
    assert_string_equal(verify(own, ST_OK, compile_with(own, sheet, &options), row), "");
}

TEST_WITH(good_rows_say_nothing, make_shelf, drop_shelf)
{
    assert_string_equal(verify_sheet(*state, ST_OK,
                                     "cells:\n  T: {unit: us, is: V/C}\n"
                                     "checks:\n  - {that: T*x == 0*T, else: never}\n"),
                        "");
    assert_string_equal(verify_sheet(*state, ST_OK, ""), "");
}

/* --- providers ------------------------------------------------------------------------------- */

static st_status refuse_all(void *self, size_t rows, const double *const *arguments, double *values)
{
    (void)self;
    (void)arguments;
    for (size_t i = 0; i < rows; i++)
        values[i] = -2.385;
    return ST_OK;
}

TEST_WITH(refusing_providers_are_named, make_shelf, drop_shelf)
{
    static const char *const text =
        INPUTS "functions:\n"
               "  ring: {open: true, args: {size: B}, unit: us, is: 'size/1[GB/s]'}\n"
               "cells:\n"
               "  T: {unit: us, is: '2*ring(V + V)'}\n"
               "  U: {unit: us, open: true, is: V/C}\n"
               "  S: {unit: us, is: 'if(w, T + U, 0[s])'}\n";
    static const char *const arguments[] = {"V"};
    const st_unit bytes[] = {unit_of("B")};
    st_provider ring = {.name = "ring",
                        .source = "bench",
                        .argument_names = arguments,
                        .argument_units = bytes,
                        .argument_count = 1,
                        .unit = unit_of("s"),
                        .evaluate = refuse_all};
    st_provider cell = ring;
    cell.name = "U";
    const st_provider *providers[] = {&ring, &cell, NULL};
    shelf *own = *state;
    assert_string_equal(
        verify(own, ST_ERR_PROVIDER, compile_for(own, text, NULL, providers), row),
        "main:14:24: error: cell 'T' has no value: provider 'bench' fails or returns an unusable "
        "value in 'ring(V + V)' with V = 2.385 MB; formula: 2*ring(V + V)\n"
        "main:15:33: error: cell 'U' has no value: provider 'bench' fails or returns an unusable "
        "value in 'V/C' with V = 2.385 MB, C = 12.5 GB/s; formula: V/C\n");
}

TESTS(verify);
