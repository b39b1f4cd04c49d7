/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checker of formulas: which types and units are accepted, and what is said about others, with
 * the place of every error.
 */
#include "../support/sheets.h"

/* Where a formula of `one_cell` begins: main:16:9. */
static const char *one_cell(shelf *own, const char *unit, const char *formula)
{
    char *text = st_arena_printf(
        own->arena, SHEET_INPUTS "cells:\n  T:\n    unit: %s\n    is: %s\n", unit, formula);
    assert_non_null(text);
    return text;
}

typedef struct judged {
    const char *unit;
    const char *formula;
} judged;

typedef struct faulty {
    const char *unit;
    const char *formula;
    int column; /* of the error, from 1 in the formula */
    const char *said;
} faulty;

static void assert_good(shelf *own, const judged *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        (void)accept(own, one_cell(own, cases[i].unit, cases[i].formula));
}

static void assert_faults(shelf *own, st_status status, const faulty *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *expected = st_arena_printf(own->arena, "main:16:%d: error: %s\n",
                                               8 + cases[i].column, cases[i].said);
        assert_string_equal(refuse(own, status, one_cell(own, cases[i].unit, cases[i].formula)),
                            expected);
    }
}

/* --- units ----------------------------------------------------------------------------------- */

TEST_WITH(units_that_agree_are_accepted, make_shelf, drop_shelf)
{
    static const judged cases[] = {
        {"us", "V/C"},
        {"day", "V/C"},
        {"MB", "C*t"},
        {"B^2/s", "V*C"},
        {"1/s", "C/V"},
        {"1", "V/(C*t)"},
        {"'%'", "V/(C*t)"},
        {"us", "V/C + t"},
        {"us", "V/C - t*n"},
        {"us", "max(V/C, t, 0[us], 3[day])"},
        {"us", "if(n > 1, V/C, t)"},
        {"us", "if(w, if(n > 1, V/C, t), 0[s])"},
        {"B^2", "V^2"},
        {"B^2", "V^(1 + 1)"},
        {"B^2", "V^2^1"},
        {"1/B", "V^-1"},
        {"1/B", "1/V"},
        {"B", "(V^0.5)^2"},
        {"B", "sqrt(V)*sqrt(V)"},
        {"B", "(V^(1/3))^3"},
        {"B", "(V^50[%])^2"},
        {"B", "(V^(2^-1))^2"},
        {"B", "(V^(0.75 - 0.25))*V^(2*0.25)"},
        {"1", "V^0"},
        {"1", "n^n"},
        {"1", "n^(V/(C*t))"},
        {"1", "2^0.3333"},
        {"B/s", "abs(-C)"},
        {"1", "floor(n) + ceil(n) + round(n) + sqrt(n) + log2(n) + log(n) + exp(n)"},
        {"1", "n + 3[%]"},
        {"$", "3[$/h]*t"},
        {"TFLOP/s", "5[FLOP/B]*C"},
        {"Wh", "250[W]*t"},
        {"bit", "V"},
    };
    assert_good(*state, cases, COUNT(cases));
}

TEST_WITH(sums_and_comparisons_name_both_sides, make_shelf, drop_shelf)
{
    static const faulty cases[] = {
        {"us", "V + C", 3,
         "cannot add 'V' (B) and 'C' (B/s): expected the same dimension on both sides"},
        {"us", "2*t - V/(C*C)", 5,
         "cannot subtract '2*t' (s) and 'V/(C*C)' (s^2/B): expected the same dimension on both "
         "sides"},
        {"us", "t + 1", 3,
         "cannot add 't' (s) and '1' (a pure number): expected the same dimension on both sides"},
        {"us", "t*2[B] + (V + V)", 8,
         "cannot add 't*2[B]' (B*s) and '(V + V)' (B): expected the same dimension on both sides"},
        {"bool", "V < C", 3,
         "cannot compare 'V' (B) and 'C' (B/s): expected the same dimension on both sides"},
        {"bool", "n > 1 and V == n", 13,
         "cannot compare 'V' (B) and 'n' (a pure number): expected the same dimension on both "
         "sides"},
        {"us", "if(w, t, 0)", 10,
         "cannot choose between 't' (s) and '0' (a pure number): expected the same dimension on "
         "both "
         "sides"},
        {"us", "max(t, V/C, 5, t)", 13,
         "cannot take the larger of 't' (s) and '5' (a pure number): expected the same dimension "
         "on "
         "both sides"},
        {"us", "min(t, n)", 8,
         "cannot take the smaller of 't' (s) and 'n' (a pure number): expected the same dimension "
         "on "
         "both sides"},
    };
    assert_faults(*state, ST_ERR_UNIT, cases, COUNT(cases));
}

TEST_WITH(declared_units_are_demanded, make_shelf, drop_shelf)
{
    static const faulty cases[] = {
        {"us", "V*C", 1, "cell 'T' has the wrong unit: found 'V*C' (B^2/s), expected us (s)"},
        {"1", "V", 1, "cell 'T' has the wrong unit: found 'V' (B), expected a pure number"},
        {"'%'", "t", 1, "cell 'T' has the wrong unit: found 't' (s), expected % (a pure number)"},
        {"B", "sqrt(V)", 1, "cell 'T' has the wrong unit: found 'sqrt(V)' (B^0.5), expected B"},
        {"GB/s", "3", 1,
         "cell 'T' has the wrong unit: found '3' (a pure number), expected GB/s (B/s)"},
        {"W", "2[J]", 1, "cell 'T' has the wrong unit: found '2[J]' (J), expected W (J/s)"},
    };
    assert_faults(*state, ST_ERR_UNIT, cases, COUNT(cases));
}

TEST_WITH(powers_of_units_are_constants, make_shelf, drop_shelf)
{
    static const faulty cases[] = {
        {"B", "V^n", 3,
         "the power of 'V' (B) must be a constant: expected a number such as 2 or 0.5"},
        {"B", "V^abs(2)", 3,
         "the power of 'V' (B) must be a constant: expected a number such as 2 or 0.5"},
        {"B", "V^0.3333", 3,
         "'V' (B) to the power 0.3333 has an invalid unit: expected a multiple of a twelfth, such "
         "as 0.5 or 1/3, and not beyond 100"},
        {"B", "V^101", 3,
         "'V' (B) to the power 101 has an invalid unit: expected a multiple of a twelfth, such as "
         "0.5 or 1/3, and not beyond 100"},
        {"B", "V^(1/0)", 3,
         "'V' (B) to the power (1/0) has an invalid unit: expected a multiple of a twelfth, such "
         "as 0.5 or 1/3, and not beyond 100"},
        {"B", "V^(0/0)", 3,
         "'V' (B) to the power (0/0) has an invalid unit: expected a multiple of a twelfth, such "
         "as 0.5 or 1/3, and not beyond 100"},
        {"B", "V^-(1e308*10)", 3,
         "'V' (B) to the power -(1e308*10) has an invalid unit: expected a multiple of a twelfth, "
         "such as 0.5 or 1/3, and not beyond 100"},
        {"B", "V^60*V^60", 5, "the unit's exponent exceeds 100"},
        {"B", "1/V^60/V^60", 7, "the unit's exponent exceeds 100"},
        {"1", "n^V", 3,
         "the exponent of '^' needs a pure number, not 'V' (B): expected a ratio, e.g. divided by "
         "a "
         "literal such as 1[B]"},
        {"B", "sqrt(V^(1/12))", 1, "'V^(1/12)' (B^(1/12)) has no square root"},
    };
    assert_faults(*state, ST_ERR_UNIT, cases, COUNT(cases));
}

TEST_WITH(pure_numbers_are_demanded, make_shelf, drop_shelf)
{
    static const char *const functions[] = {"floor", "ceil",   "round", "log2",
                                            "log",   "lgamma", "exp"};
    shelf *own = *state;
    for (size_t i = 0; i < COUNT(functions); i++) {
        const char *name = functions[i];
        faulty fault = {.unit = "1",
                        .formula = st_arena_printf(own->arena, "%s(2*V)", name),
                        .column = (int)strlen(name) + 2,
                        .said = st_arena_printf(own->arena,
                                                "'%s' needs a pure number, not '2*V' (B): expected "
                                                "a ratio, e.g. divided by a literal such as 1[B]",
                                                name)};
        assert_faults(own, ST_ERR_UNIT, &fault, 1);
    }
}

/* --- types ----------------------------------------------------------------------------------- */

TEST_WITH(types_that_agree_are_accepted, make_shelf, drop_shelf)
{
    static const judged cases[] = {
        {"bool", "true"},
        {"bool", "not w"},
        {"bool", "w and n > 1 or not (V == 2[MB])"},
        {"bool", "w == (n > 1)"},
        {"bool", "w != false"},
        {"bool", "if(w, n > 1, w)"},
        {"mode", "m"},
        {"mode", "full"},
        {"mode", "none"},
        {"link", "none"},
        {"mode", "if(w, none, m)"},
        {"mode", "if(w, if(n > 1, none, part), full)"},
        {"bool", "m == full"},
        {"bool", "none != m"},
        {"bool", "k == none and m == none"},
        {"bool", "if(w, none, m) == m"},
        {"bool", "if(w, none, full) == m"},
        {"bool", "if(w, none, m) == if(not w, m, part)"},
        {"bool", "if(w, none, k) == if(w, none, k)"},
        {"us", "if(m == part, t, 2*t)"},
    };
    assert_good(*state, cases, COUNT(cases));
}

TEST_WITH(operators_need_their_types, make_shelf, drop_shelf)
{
    static const faulty cases[] = {
        {"1", "n + w", 5, "'+' needs numbers, not 'w' (a truth value)"},
        {"1", "m - n", 1, "'-' needs numbers, not 'm' (a value of 'mode')"},
        {"1", "n * w", 5, "'*' needs numbers, not 'w' (a truth value)"},
        {"1", "(n > 1) / n", 1, "'/' needs numbers, not '(n > 1)' (a truth value)"},
        {"1", "-w", 2, "'-' needs numbers, not 'w' (a truth value)"},
        {"1", "n^w", 3, "the exponent of '^' needs numbers, not 'w' (a truth value)"},
        {"1", "m^2", 1, "'^' needs numbers, not 'm' (a value of 'mode')"},
        {"bool", "n and w", 1,
         "'and' needs a truth value, not 'n' (a pure number): expected a comparison, or true or "
         "false"},
        {"bool", "w or 1", 6,
         "'or' needs a truth value, not '1' (a pure number): expected a comparison, or true or "
         "false"},
        {"bool", "not V", 5,
         "'not' needs a truth value, not 'V' (B): expected a comparison, or true or false"},
        {"bool", "w < w", 1, "'<' needs numbers, not 'w' (a truth value)"},
        {"bool", "n >= m", 6, "'>=' needs numbers, not 'm' (a value of 'mode')"},
        {"bool", "w == 1", 3,
         "cannot compare 'w' (a truth value) and '1' (a pure number): expected the same type on "
         "both "
         "sides"},
        {"bool", "m != k", 3,
         "cannot compare 'm' (a value of 'mode') and 'k' (a value of 'link'): expected the same "
         "type "
         "on both sides"},
        {"bool", "m == w", 3,
         "cannot compare 'm' (a value of 'mode') and 'w' (a truth value): expected the same type "
         "on "
         "both sides"},
        {"1", "if(n, 1, 2)", 4,
         "the condition of 'if' needs a truth value, not 'n' (a pure number): expected a "
         "comparison, "
         "or true or false"},
        {"1", "if(w, 1, w)", 10,
         "cannot choose between '1' (a pure number) and 'w' (a truth value): expected the same "
         "type "
         "on both sides"},
        {"1", "max(w, w)", 5, "'max' needs numbers, not 'w' (a truth value)"},
        {"1", "abs(m)", 5, "'abs' needs numbers, not 'm' (a value of 'mode')"},
        {"1", "sqrt(w)", 6, "'sqrt' needs numbers, not 'w' (a truth value)"},
        {"1", "exp(w)", 5, "'exp' needs numbers, not 'w' (a truth value)"},
        {"1", "w", 1,
         "cell 'T' has the wrong type: found 'w' (a truth value), expected a pure number"},
        {"bool", "n", 1,
         "cell 'T' has the wrong type: found 'n' (a pure number), expected a truth value"},
        {"mode", "k", 1,
         "cell 'T' has the wrong type: found 'k' (a value of 'link'), expected a value of 'mode'"},
        {"mode", "2", 1,
         "cell 'T' has the wrong type: found '2' (a pure number), expected a value of 'mode'"},
    };
    assert_faults(*state, ST_ERR_VALUE, cases, COUNT(cases));
}

TEST_WITH(enumeration_values_need_an_enumeration, make_shelf, drop_shelf)
{
    static const faulty unsettled[] = {
        {"1", "none", 1,
         "cannot infer the enumeration of 'none': expected a comparison with an input or a cell of "
         "that enumeration"},
        {"bool", "none == none", 1,
         "cannot infer the enumeration of 'none': expected a comparison with an input or a cell of "
         "that enumeration"},
        {"bool", "if(w, ib, eth) == if(w, eth, ib)", 1,
         "cannot infer the enumeration of 'if(w, ib, eth)': expected a comparison with an input or "
         "a cell of that enumeration"},
        {"1", "none + 1", 1, "'+' needs numbers, not 'none' (a value of some enumeration)"},
        {"bool", "full == 2", 6,
         "cannot compare 'full' (a value of some enumeration) and '2' (a pure number): expected "
         "the "
         "same type on both sides"},
    };
    static const faulty foreign[] = {
        {"bool", "m == ib", 6, "unknown value 'ib' of 'mode'"},
        {"bool", "ib == m", 1, "unknown value 'ib' of 'mode'"},
        {"mode", "eth", 1, "unknown value 'eth' of 'mode'"},
        {"mode", "if(w, full, ib)", 13, "unknown value 'ib' of 'mode'"},
        {"bool", "m == fulll", 6, "unknown name 'fulll'; did you mean 'full'?"},
    };
    assert_faults(*state, ST_ERR_VALUE, unsettled, COUNT(unsettled));
    assert_faults(*state, ST_ERR_NAME, foreign, COUNT(foreign));
}

/* --- names and calls ------------------------------------------------------------------------- */

TEST_WITH(unknown_names_get_the_nearest_one, make_shelf, drop_shelf)
{
    static const faulty cases[] = {
        {"1", "2*oops", 3, "unknown name 'oops'"},
        {"1", "v/C", 1, "unknown name 'v'; did you mean 'V'?"},
        {"1", "flor(n)", 1, "unknown function 'flor'; did you mean 'floor'?"},
        {"1", "n*quux(n)", 3, "unknown function 'quux'"},
        {"1", "n(3)", 1, "'n' is not a function: expected '*' between a value and a parenthesis"},
        {"1", "T(3)", 1, "'T' is not a function: expected '*' between a value and a parenthesis"},
        {"1", "true(3)", 1, "unknown function 'true'"},
    };
    assert_faults(*state, ST_ERR_NAME, cases, COUNT(cases));
}

TEST_WITH(calls_need_the_right_number_of_arguments, make_shelf, drop_shelf)
{
    static const faulty cases[] = {
        {"1", "if(w, 1)", 1, "wrong number of arguments for 'if': found 2, expected 3"},
        {"1", "if(w, 1, 2, 3)", 1, "wrong number of arguments for 'if': found 4, expected 3"},
        {"1", "2*min(n)", 3, "wrong number of arguments for 'min': found 1, expected 2 or more"},
        {"1", "max()", 1, "wrong number of arguments for 'max': found 0, expected 2 or more"},
        {"1", "abs(n, n)", 1, "wrong number of arguments for 'abs': found 2, expected 1"},
        {"1", "sqrt()", 1, "wrong number of arguments for 'sqrt': found 0, expected 1"},
        {"1", "log2(n, 2)", 1, "wrong number of arguments for 'log2': found 2, expected 1"},
    };
    assert_faults(*state, ST_ERR_VALUE, cases, COUNT(cases));
}

/* The body stands in line 17, the cell's formula in line 21, both from column 9. */
static const char *with_ring(shelf *own, const char *body, const char *unit, const char *formula)
{
    return st_arena_printf(own->arena,
                           SHEET_INPUTS "functions:\n"
                                        "  ring:\n"
                                        "    args: {size: B, ranks: 1, on: bool, how: mode}\n"
                                        "    unit: us\n"
                                        "    is: %s\n"
                                        "cells:\n"
                                        "  T:\n"
                                        "    unit: %s\n"
                                        "    is: %s\n",
                           body, unit, formula);
}

TEST_WITH(arguments_have_types, make_shelf, drop_shelf)
{
    static const char *const body = "if(on and how != none, size/2.5[GB/s]*ranks, 0[s])";
    static const faulty cases[] = {
        {"us", "ring(n, n, w, m)", 6,
         "argument 'size' of 'ring' has the wrong unit: found 'n' (a pure number), expected B"},
        {"us", "ring(V, t, w, m)", 9,
         "argument 'ranks' of 'ring' has the wrong unit: found 't' (s), expected a pure number"},
        {"us", "ring(V, n, 1, m)", 12,
         "argument 'on' of 'ring' has the wrong type: found '1' (a pure number), expected a truth "
         "value"},
        {"us", "ring(V, n, w, k)", 15,
         "argument 'how' of 'ring' has the wrong type: found 'k' (a value of 'link'), expected a "
         "value of 'mode'"},
        {"us", "ring(V, n, w)", 1, "wrong number of arguments for 'ring': found 3, expected 4"},
        {"us", "ring(V, n, w, ib)", 15, "unknown value 'ib' of 'mode'"},
        {"MB", "ring(V, n, w, m)", 1,
         "cell 'T' has the wrong unit: found 'ring(V, n, w, m)' (s), expected MB (B)"},
        {"us", "ring*2", 1,
         "unknown name 'ring': expected arguments in parentheses: it is a function"},
    };
    shelf *own = *state;
    (void)accept(own, with_ring(own, body, "ms", "ring(V, n, w, m) + ring(V/2, 3, true, none)"));
    for (size_t i = 0; i < COUNT(cases); i++) {
        const st_sheet *sheet = NULL;
        put(own, "main", with_ring(own, body, cases[i].unit, cases[i].formula));
        assert_int_not_equal(load_main(own, &sheet), ST_OK);
        assert_string_equal(said(own), st_arena_printf(own->arena, "main:21:%d: error: %s\n",
                                                       8 + cases[i].column, cases[i].said));
    }
}

TEST_WITH(bodies_see_their_arguments_only, make_shelf, drop_shelf)
{
    static const faulty cases[] = {
        {NULL, "size/C", 6,
         "unknown name 'C': expected one of the function's arguments: pass the cell as an "
         "argument"},
        {NULL, "siz/2.5[GB/s]", 1, "unknown name 'siz'; did you mean 'size'?"},
        {NULL, "size*ranks", 1,
         "function 'ring' has the wrong unit: found 'size*ranks' (B), expected us (s)"},
        {NULL, "if(how == ib, 1[s], 2[s])", 11, "unknown value 'ib' of 'mode'"},
        {NULL, "T", 1,
         "unknown name 'T': expected one of the function's arguments: pass the cell as an "
         "argument"},
    };
    shelf *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const st_sheet *sheet = NULL;
        put(own, "main", with_ring(own, cases[i].formula, "us", "ring(V, n, w, m)"));
        assert_int_not_equal(load_main(own, &sheet), ST_OK);
        assert_string_equal(said(own), st_arena_printf(own->arena, "main:17:%d: error: %s\n",
                                                       8 + cases[i].column, cases[i].said));
    }
}

TEST_WITH(functions_may_call_functions_in_any_order, make_shelf, drop_shelf)
{
    (void)accept(*state, SHEET_INPUTS "functions:\n"
                                      "  twice: {args: {x: us}, unit: s, is: 2*half(4*x)}\n"
                                      "  half: {args: {x: us}, unit: s, is: x/2}\n"
                                      "cells:\n"
                                      "  T: {unit: s, is: twice(t)}\n");
}

/* --- cycles ---------------------------------------------------------------------------------- */

TEST_OF(cycles_are_shown_as_paths, shelf *own, make_shelf, drop_shelf)
{
    assert_string_equal(
        refuse(own, ST_ERR_CYCLE,
               "sheet: t\ncells:\n  a: {is: 2*b + c}\n  b: {is: c*3.5}\n"
               "  c: {is: 1 - d}\n  d: {is: e}\n  e: {is: 7*a}\n  f: {is: a}\n"),
        "main:7:13: error: circular dependency of cells: a -> b -> c -> d -> e -> a\n");
    assert_string_equal(refuse(own, ST_ERR_CYCLE, "sheet: t\ncells:\n  a: {is: 1 + a}\n"),
                        "main:3:15: error: circular dependency of cells: a -> a\n");
    assert_string_equal(refuse(own, ST_ERR_CYCLE,
                               "sheet: t\ncells:\n  a: {is: b}\n  b: {is: a}\n  c: {is: d}\n"
                               "  d: {is: c + a}\n"),
                        "main:4:11: error: circular dependency of cells: a -> b -> a\n"
                        "main:6:11: error: circular dependency of cells: c -> d -> c\n");
    assert_string_equal(
        refuse(own, ST_ERR_CYCLE,
               "sheet: t\nfunctions:\n  f: {args: {x: 1}, is: 2*g(x)}\n"
               "  g: {args: {x: 1}, is: h(x)}\n  h: {args: {x: 1}, is: x + f(x)}\n"),
        "main:5:29: error: circular function calls: f -> g -> h -> f\n");
    /* A branch that is never taken counts: cells are computed, not chosen. */
    (void)refuse(own, ST_ERR_CYCLE, "sheet: t\ncells:\n  a: {is: 'if(true, 1, a)'}\n");
}

TEST_OF(long_cycles_show_their_ends, shelf *own, make_shelf, drop_shelf)
{
    st_buffer text = {0};
    st_buffer_text(&text, "sheet: t\ncells:\n");
    for (int i = 0; i < 5000; i++)
        st_buffer_printf(&text, "  a%d: {is: a%d}\n", i, (i + 1) % 5000);
    assert_string_equal(
        refuse(own, ST_ERR_CYCLE, text.data),
        "main:5002:15: error: circular dependency of cells: a0 -> a1 -> a2 -> a3 -> a4 -> a5 -> a6 "
        "-> a7 -> a8 -> a9 -> a10 -> a11 -> ... 4976 more ... -> a4988 -> a4989 -> a4990 -> a4991 "
        "-> a4992 -> a4993 -> a4994 -> a4995 -> a4996 -> a4997 -> a4998 -> a4999 -> a0\n");
    st_buffer_free(&text);
}

/* --- several at once, and what is read by nobody ---------------------------------------------- */

TEST_WITH(all_faults_are_told_at_once, make_shelf, drop_shelf)
{
    assert_string_equal(
        refuse(*state, ST_ERR_SYNTAX,
               SHEET_INPUTS "functions:\n"
                            "  f: {args: {x: B}, unit: s, is: x*2}\n"
                            "cells:\n"
                            "  a: {is: 2 +}\n"
                            "  b: {unit: us, is: V + C}\n"
                            "  c: {unit: furlong, is: V}\n"
                            "  d: {unit: us, is: oops + C + nope}\n"
                            "checks:\n"
                            "  - {that: n, else: none}\n"
                            "  - {that: n > 1, else: 'no {gone} in {V + C}'}\n"),
        "main:16:14: error: unexpected end of the formula: expected a number, a name or '('\n"
        "main:18:13: error: unknown unit 'furlong': expected B, bit, FLOP, s, min, h, day, J, W, "
        "Wh or $ with a prefix, joined by *, / and ^\n"
        "main:14:34: error: function 'f' has the wrong unit: found 'x*2' (B), expected s\n"
        "main:17:23: error: cannot add 'V' (B) and 'C' (B/s): expected the same dimension on both "
        "sides\n"
        "main:19:21: error: unknown name 'oops'\n"
        "main:19:32: error: unknown name 'nope'; did you mean 'none'?\n"
        "main:21:12: error: the check has the wrong type: found 'n' (a pure number), expected a "
        "truth value\n"
        "main:22:30: error: unknown name 'gone'; did you mean 'none'?\n"
        "main:22:42: error: cannot add 'V' (B) and 'C' (B/s): expected the same dimension on both "
        "sides\n");
}

/* Declared types are trusted: one error does not bring others with it. */
TEST_WITH(a_faulty_cell_does_not_spoil_its_readers, make_shelf, drop_shelf)
{
    assert_string_equal(
        refuse(*state, ST_ERR_UNIT,
               SHEET_INPUTS "cells:\n"
                            "  a: {unit: us, is: V}\n"
                            "  b: {unit: us, is: a + t}\n"
                            "  c: {unit: us, is: b*n + a}\n"),
        "main:14:21: error: cell 'a' has the wrong unit: found 'V' (B), expected us "
        "(s)\n");
}

TEST_OF(inputs_that_nothing_reads_are_warned_about, shelf *own, make_shelf, drop_shelf)
{
    const st_sheet *sheet = accept(own, SHEET_INPUTS "cells:\n  T: {unit: us, is: V/C}\n"
                                                     "checks:\n  - {that: w, else: 'no {m}'}\n");
    assert_true(st_sheet_find_input(sheet, "V")->used);
    assert_true(st_sheet_find_input(sheet, "w")->used);
    assert_true(st_sheet_find_input(sheet, "m")->used); /* by a message */
    assert_false(st_sheet_find_input(sheet, "n")->used);
    assert_string_equal(said(own), "main:6:3: warning: no cell or check reads input 'n'\n"
                                   "main:9:3: warning: no cell or check reads input 't'\n"
                                   "main:12:3: warning: no cell or check reads input 'k'\n");
    /* A faulty formula might have read them. */
    assert_lacks(refuse(own, ST_ERR_SYNTAX, SHEET_INPUTS "cells:\n  T: {unit: us, is: V/C*}\n"),
                 "warning");
}

TEST_OF(messages_show_any_type, shelf *own, make_shelf, drop_shelf)
{
    (void)accept(own, SHEET_INPUTS "checks:\n  - that: w\n    else: '{n} {V/C} {m} {w and n > 1}"
                                   " {if(w, full, m)} {{ }}'\n");
    assert_string_equal(refuse(own, ST_ERR_VALUE,
                               SHEET_INPUTS "checks:\n  - that: w\n"
                                            "    else: 'x {full}'\n"),
                        "main:15:15: error: cannot infer the enumeration of 'full': expected a "
                        "comparison with an input or a cell of that enumeration\n");
}

TEST_OF(quoted_operands_are_shortened, shelf *own, make_shelf, drop_shelf)
{
    const char *said_text = refuse(
        own, ST_ERR_UNIT,
        one_cell(own, "us", "(V + V + V + V + V + V + V + V + V + V + V + V + V + V + V + V) + t"));
    assert_string_equal(
        said_text, "main:16:73: error: cannot add '(V + V + V + V + V + V + V + V + V + V + V + "
                   "V + V + V + V +...' (B) and 't' (s): expected the same dimension on both "
                   "sides\n");
}

TESTS(check);
