/* SPDX-License-Identifier: Apache-2.0 */
/* Formulas as spreadsheets read them: names, precedence, laziness, parts and providers. */
#include "../support/programs.h"
#include "program/program.h"
#include "steptime/tool/providers.h"

#include "export/cell_names.h"
#include "export/spreadsheet.h"

static const double inputs[] = {7, 571.3e6, 23.85e9, 2.385e-6, 1, 2, 1}; /* n V C t w m k */

static st_live_sheet translate(shelf *own, const st_program *program)
{
    st_live_sheet live;
    st_status status = st_live_translate(program, inputs, own->arena, &live, own->errors);
    if (status != ST_OK)
        fail_msg("cannot be translated: %s", said(own));
    return live;
}

static const char *formula_of(shelf *own, const char *text, const char *cell)
{
    const st_sheet *sheet = accept(own, text);
    const st_sheet_cell *cells = st_sheet_cells(sheet, &(size_t){0});
    st_live_sheet live = translate(own, compile_with(own, sheet, NULL));
    return live.cells[st_sheet_find_cell(sheet, cell) - cells].formula;
}

typedef struct translated {
    const char *formula;
    const char *expected;
} translated;

/* Formulas of a cell T over inputs of all types; `x` may fail, `N_p` may not. */
static void assert_formulas(shelf *own, const char *unit, const translated *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *text = st_arena_printf(
            own->arena,
            SHEET_INPUTS "functions:\n  ring: {args: {x: 1}, is: 2*x}\n"
                         "  both: {args: {x: 1, y: 1}, is: x*x - y}\n"
                         "  pick: {args: {how: mode, on: bool}, unit: bool, is: how == full and "
                         "on}\n"
                         "cells:\n  N_p: {is: n}\n  x: {is: n/N_p}\n  T:\n    unit: %s\n    is: "
                         "%s\n",
            unit, cases[i].formula);
        const char *found = formula_of(own, text, "T");
        if (strcmp(found, cases[i].expected) != 0)
            fail_msg("'%s' becomes %s and not %s", cases[i].formula, found, cases[i].expected);
    }
}

TEST_WITH(operators_group_as_spreadsheets_do, make_shelf, drop_shelf)
{
    static const translated cases[] = {
        {"n + N_p - 2", "n+N_p-2"},
        {"n - (N_p - 2)", "n-(N_p-2)"},
        {"n + (N_p + 2)", "n+(N_p+2)"},
        {"n*N_p/2", "n*N_p/2"},
        {"n*(N_p/2)", "n*(N_p/2)"},
        {"(n + 1)*2", "(n+1)*2"},
        {"-n", "-n"},
        {"-n^2", "-(n^2)"},
        {"(-n)^2", "(-n)^2"},
        {"-n*2", "-n*2"},
        {"n*-2", "n*(-2)"},
        {"n - -2", "n-(-2)"},
        {"-(-n)", "-(-n)"},
        {"2^-n", "2^(-n)"},
        {"2^n^0.5", "2^(n^0.5)"},
        {"(2^n)^0.5", "(2^n)^0.5"},
        {"(n/2)^2", "(n/2)^2"},
        {"-(n + 2)/3", "-(n+2)/3"},
    };
    assert_formulas(*state, "1", cases, COUNT(cases));
}

TEST_WITH(numbers_keep_their_digits, make_shelf, drop_shelf)
{
    static const translated cases[] = {
        {"2.50*n", "2.5*n"},
        {"n*1.5e-7", "n*1.5E-7"},
        {"n*6.02214076e23", "n*6.02214076E23"},
        {"t/1[us]", "t/1E-6"},
        {"V/25[MiB]", "V/26214400"},
        {"n*0.1234567890123456", "n*(0.123456789012346-4.02456E-16)"},
        {"n*12345678901234567", "n*(1.23456789012346E16-32)"},
        {"n*1234567890123451", "n*(1.23456789012345E15+1)"},
    };
    assert_formulas(*state, "1", cases, COUNT(cases));
}

TEST_WITH(calls_have_their_names, make_shelf, drop_shelf)
{
    static const translated cases[] = {
        {"min(n, 2, N_p)", "MIN(n,2,N_p)"},
        {"max(n, 2)", "MAX(n,2)"},
        {"floor(n/2)", "INT(n/2)"},
        {"ceil(n)", "-INT(-n)"},
        {"ceil(n - 1)*2", "-INT(-(n-1))*2"},
        {"2*ceil(n)", "2*(-INT(-n))"},
        {"round(n)", "ROUND(n,0)"},
        {"sqrt(n)", "SQRT(n)"},
        {"log2(n)", "LOG(n,2)"},
        {"log(n)", "LN(n)"},
        {"exp(n)", "EXP(n)"},
        {"abs(n)", "ABS(n)"},
        {"if(w, n, 2)", "IF(w,n,2)"},
        {"ring(n + 1)", "2*(n+1)"},
        {"ring(ring(n))", "2*(2*n)"},
        {"both(n, 2)", "n*n-2"},
        {"both(n + 1, n + 2)", "(n+1)*(n+1)-(n+2)"},
    };
    assert_formulas(*state, "1", cases, COUNT(cases));
}

TEST_WITH(truth_values_stay_lazy, make_shelf, drop_shelf)
{
    static const translated cases[] = {
        {"n < 2", "n<2"},
        {"n != 2", "n<>2"},
        {"n >= 2 and w", "AND(n>=2,w)"},
        {"w and n > 1 and n > 2", "AND(w,n>1,n>2)"},
        {"w and (n > 1 and n > 2)", "AND(w,AND(n>1,n>2))"},
        {"w and n > 1 or n > 2", "OR(AND(w,n>1),n>2)"},
        {"not w", "NOT(w)"},
        {"w == (n < 2)", "w=(n<2)"},
        {"(n < 2) != w", "(n<2)<>w"},
        {"w == true", "w=TRUE"},
        {"n > 1 and x > 2", "IF(n>1,x>2,FALSE)"},
        {"x > 2 and n > 1", "IF(n>1,x>2,FALSE)"},
        {"n > 1 or 3/n > 2", "IF(n>1,TRUE,3/n>2)"},
        {"n/2 > 1 or w", "OR(n/2>1,w)"},
        {"x > 1 and x > 2", "IF(IFERROR(x>1,TRUE),IF(x>2,x>1,FALSE),FALSE)"},
        {"x > 1 or x > 2", "IF(IFERROR(x>1,FALSE),TRUE,IF(x>2,TRUE,x>1))"},
        {"sqrt(n) > 2 and w", "IF(w,SQRT(n)>2,FALSE)"},
        {"m == full", "m=\"full\""},
        {"none != m", "\"none\"<>m"},
        {"if(w, m, none) == part", "IF(w,m,\"none\")=\"part\""},
        {"pick(part, w)", "AND(\"part\"=\"full\",w)"},
    };
    assert_formulas(*state, "bool", cases, COUNT(cases));
}

TEST_WITH(names_become_legal, make_shelf, drop_shelf)
{
    static const char *const cases[][2] = {
        {"h", "h"},
        {"T1", "T1_"},
        {"abc123", "abc123_"},
        {"XFD1048576", "XFD1048576_"},
        {"abcd1", "abcd1"},
        {"r", "r_"},
        {"R", "R__2"},
        {"C", "C_"},
        {"RC", "RC_"},
        {"R2", "R2_"},
        {"R1C1", "R1C1_"},
        {"r7c", "r7c_"},
        {"rcx", "rcx"},
        {"C3", "C3_"},
        {"True", "True_"},
        {"Print_Area", "Print_Area_"},
        {"_xlnm_Criteria", "n_xlnm_Criteria"},
        {"b", "b"},
        {"B", "B_2"},
        {"B_2", "B_2_2"},
        {"b_2", "b_2_3"},
        {"T_tp", "T_tp"},
        {"t_tp", "t_tp_2"},
        {"t_TP", "t_TP_3"},
        {"T1_", "T1__2"},
        {"_", "_"},
    };
    shelf *own = *state;
    st_cell_names names = {.arena = own->arena};
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_string_equal(st_cell_names_add(&names, cases[i][0]), cases[i][1]);
}

TEST_OF(formulas_use_the_legal_names, shelf *own, make_shelf, drop_shelf)
{
    const char *text = "sheet: t\ninputs:\n  B: {from: constants.B}\n  r: {from: constants.r}\n"
                       "cells:\n  b: {is: B*r}\n  T1: {is: b + B}\n  check_1: {is: T1*b}\n"
                       "checks: [{that: T1 > b, else: no}]\n";
    const st_program *program = compile(own, text);
    st_live_sheet live = translate(own, program);
    assert_string_equal(live.input_names[0], "B");
    assert_string_equal(live.input_names[1], "r_");
    assert_string_equal(live.cells[0].formula, "B*r_");
    assert_string_equal(live.cells[1].formula, "b_2+B");
    assert_string_equal(live.cells[2].formula, "T1_*b_2");
    assert_string_equal(live.checks[0].name, "check_1_2");
    assert_string_equal(live.checks[0].formula, "T1_>b_2");
    assert_double(live.cells[2].value, (7 * 571.3e6 + 7) * (7 * 571.3e6), "check_1");
    assert_double(live.checks[0].value, 1, "the check");
}

TEST_WITH(values_that_differ_in_case_are_compared_exactly, make_shelf, drop_shelf)
{
    const char *text = "sheet: t\nenums:\n  mode: [low, Low, high]\n"
                       "inputs: {m: {from: constants.m, unit: mode}}\n"
                       "cells:\n  T: {unit: bool, is: m == low}\n"
                       "  U: {unit: bool, is: m != high}\n";
    assert_string_equal(formula_of(*state, text, "T"), "EXACT(m,\"low\")");
    assert_string_equal(formula_of(*state, text, "U"), "NOT(EXACT(m,\"high\"))");
}

/* --- parts ----------------------------------------------------------------------------------- */

TEST_OF(long_arguments_that_are_used_twice_become_parts, shelf *own, make_shelf, drop_shelf)
{
    const char *text = SHEET_INPUTS "functions:\n  square: {args: {x: 1}, is: x*x}\n"
                                    "cells:\n  S: {is: square(n*1.25 + n*2.5 + 0.75*n*n*n*n) + "
                                    "square(n*1.25 + n*2.5 + 0.75*n*n*n*n)}\n"
                                    "  U: {is: square(n*1.25 + n*2.5 + 0.75*n*n*n*n)}\n";
    st_live_sheet live = translate(own, compile(own, text));
    assert_int_equal(live.part_count, 2); /* one for each cell */
    assert_string_equal(live.parts[0].name, "S_part1");
    assert_string_equal(live.parts[0].formula, "n*1.25+n*2.5+0.75*n*n*n*n");
    assert_string_equal(live.parts[0].text, "n*1.25 + n*2.5 + 0.75*n*n*n*n");
    assert_string_equal(live.parts[0].owner, "S");
    assert_double(live.parts[0].value, 1827, "the part");
    assert_string_equal(live.cells[0].formula, "S_part1*S_part1+S_part1*S_part1");
    assert_string_equal(live.parts[1].name, "U_part1");
    assert_string_equal(live.cells[1].formula, "U_part1*U_part1");
}

TEST_OF(parts_tell_the_function_that_they_come_from, shelf *own, make_shelf, drop_shelf)
{
    const char *text =
        SHEET_INPUTS "functions:\n  square: {args: {x: 1}, is: x*x}\n"
                     "  shifted: {args: {x: 1}, is: square(x*1.25 + x*2.5 + 0.75*x*x*x*x)}\n"
                     "cells:\n  T: {is: shifted(n)}\n";
    st_live_sheet live = translate(own, compile(own, text));
    assert_int_equal(live.part_count, 1);
    assert_string_equal(live.parts[0].text, "x*1.25 + x*2.5 + 0.75*x*x*x*x  in shifted");
    assert_string_equal(live.parts[0].formula, "n*1.25+n*2.5+0.75*n*n*n*n");
}

/* Nesting of calls and parentheses, and the length. */
static void assert_bounded(const st_live *live)
{
    size_t depth = 0;
    size_t deepest = 0;
    for (const char *c = live->formula; *c != '\0'; c++) {
        depth += *c == '(' ? 1 : 0;
        depth -= *c == ')' ? 1 : 0;
        deepest = depth > deepest ? depth : deepest;
    }
    assert_int_equal(depth, 0);
    assert_true(deepest <= ST_LIVE_DEPTH + 4);
    assert_true(strlen(live->formula) <= 8192);
}

static void assert_all_bounded(const st_live_sheet *live, size_t cell_count)
{
    for (size_t i = 0; i < cell_count; i++)
        assert_bounded(&live->cells[i]);
    for (size_t i = 0; i < live->part_count; i++)
        assert_bounded(&live->parts[i]);
}

TEST_OF(long_formulas_are_split, shelf *own, make_shelf, drop_shelf)
{
    st_buffer text = {0};
    st_buffer_text(&text, SHEET_INPUTS "cells:\n  T:\n    is: n");
    for (int i = 1; i < 990; i++)
        st_buffer_printf(&text, " + %d.385*n", i);
    st_buffer_text(&text, "\n");
    st_live_sheet live = translate(own, compile(own, text.data));
    st_buffer_free(&text);
    assert_true(live.part_count >= 4);
    assert_all_bounded(&live, 1);
}

TEST_OF(calls_of_many_names_stay_in_bounds, shelf *own, make_shelf, drop_shelf)
{
    st_buffer text = {0};
    st_buffer_text(&text, SHEET_INPUTS "cells:\n");
    for (int i = 0; i < 64; i++)
        st_buffer_printf(&text, "  a%097d_: {is: n + %d}\n", i, i);
    st_buffer_text(&text, "  S: {is: 'max(");
    for (int i = 0; i < 64; i++)
        st_buffer_printf(&text, "%sa%097d_", i == 0 ? "" : ", ", i);
    st_buffer_text(&text, ") + max(");
    for (int i = 0; i < 64; i++)
        st_buffer_printf(&text, "%sa%097d_", i == 0 ? "" : ", ", i);
    st_buffer_text(&text, ")'}\n");
    st_live_sheet live = translate(own, compile(own, text.data));
    st_buffer_free(&text);
    assert_int_equal(live.part_count, 1); /* for both: they are equal */
    assert_string_equal(live.cells[64].formula, "S_part1+S_part1");
    assert_all_bounded(&live, 65);
}

TEST_OF(deep_formulas_are_split, shelf *own, make_shelf, drop_shelf)
{
    st_buffer text = {0};
    st_buffer_text(&text, SHEET_INPUTS "cells:\n  T:\n    is: ");
    for (int i = 0; i < 150; i++)
        st_buffer_text(&text, "abs(");
    st_buffer_text(&text, "n");
    for (int i = 0; i < 150; i++)
        st_buffer_text(&text, " - 3.25)");
    st_buffer_text(&text, "\n");
    st_live_sheet live = translate(own, compile(own, text.data));
    st_buffer_free(&text);
    assert_true(live.part_count >= 3);
    assert_all_bounded(&live, 1);
}

/* Every function calls the one before it twice: 2^16 calls, but few different values. */
TEST_OF(equal_calls_are_translated_once, shelf *own, make_shelf, drop_shelf)
{
    st_buffer text = {0};
    st_buffer_text(&text, SHEET_INPUTS "functions:\n  f0: {args: {x: 1}, is: x + 0.385}\n");
    for (int i = 1; i <= 16; i++)
        st_buffer_printf(&text, "  f%d: {args: {x: 1}, is: f%d(x) + f%d(x)*1.5}\n", i, i - 1,
                         i - 1);
    st_buffer_text(&text, "cells:\n  T: {is: f16(n)}\n");
    const st_program *program = compile(own, text.data);
    st_buffer_free(&text);
    st_live_sheet live = translate(own, program);
    assert_true(live.part_count > 0 && live.part_count < 20);
    assert_all_bounded(&live, 1);
}

/* Every function calls the one before it twice, and no two calls are equal. */
TEST_OF(endless_formulas_are_refused, shelf *own, make_shelf, drop_shelf)
{
    st_live_sheet live;
    st_buffer text = {0};
    st_buffer_text(&text, SHEET_INPUTS "functions:\n  f0: {args: {x: 1}, is: x + 0.385}\n");
    for (int i = 1; i <= 16; i++)
        st_buffer_printf(&text, "  f%d: {args: {x: 1}, is: f%d(x*1.5) - f%d(x + %d.25)}\n", i,
                         i - 1, i - 1, i);
    st_buffer_text(&text, "cells:\n  S: {is: f16(n)}\n");
    const st_program *program = compile(own, text.data);
    st_buffer_free(&text);
    assert_int_equal(st_live_translate(program, inputs, own->arena, &live, own->errors),
                     ST_ERR_LIMIT);
    assert_contains(said(own),
                    "main: error: the sheet is too large after its functions are expanded");
}

/* --- providers ------------------------------------------------------------------------------- */

static st_status give_sum(void *self, size_t rows, const double *const *arguments, double *values)
{
    (void)self;
    for (size_t i = 0; i < rows; i++)
        values[i] = arguments[0][i] * 3.5 + arguments[1][i];
    return ST_OK;
}

#define PROVIDED                                                                                   \
    SHEET_INPUTS "functions:\n"                                                                    \
                 "  busy: {open: true, args: {x: 1, y: 1}, unit: 1}\n"                             \
                 "cells:\n"                                                                        \
                 "  start: {is: n*2.25}\n"                                                         \
                 "  given: {open: true, is: start + 1}\n"                                          \
                 "  T: {is: '2*busy(start + 1, n) + given'}\n"                                     \
                 "  U: {is: 'busy(n, 2)'}\n"

TEST_OF(values_of_providers_keep_their_arguments, shelf *own, make_shelf, drop_shelf)
{
    static const char *const names[] = {"start", "n"};
    st_unit units[2] = {st_unit_one(), st_unit_one()};
    const st_provider function = {.name = "busy",
                                  .source = "a test",
                                  .argument_units = units,
                                  .argument_count = 2,
                                  .unit = st_unit_one(),
                                  .evaluate = give_sum};
    st_provider cell = function;
    cell.name = "given";
    cell.argument_names = names;
    const st_provider *const providers[] = {&function, &cell, NULL};
    st_live_sheet live = translate(own, compile_for(own, PROVIDED, NULL, providers));
    assert_null(live.cells[1].formula);
    assert_double(live.cells[1].value, 15.75 * 3.5 + 7, "given");
    assert_string_equal(live.cells[1].call->provider->source, "a test");
    assert_string_equal(live.cells[1].call->labels[0], "start");
    assert_string_equal(live.cells[1].call->formulas[0], "start");
    assert_double(live.cells[1].call->values[0], 15.75, "start");
    assert_string_equal(live.cells[2].formula, "2*busy+given");
    assert_string_equal(live.cells[2].with, "a test");
    assert_null(live.cells[0].with);
    assert_string_equal(live.cells[3].formula, "busy_2");
    assert_int_equal(live.part_count, 2);
    assert_null(live.parts[0].formula);
    assert_string_equal(live.parts[0].text, "busy(start + 1, n)");
    assert_double(live.parts[0].value, 16.75 * 3.5 + 7, "busy");
    assert_string_equal(live.parts[0].call->labels[0], "x");
    assert_string_equal(live.parts[0].call->formulas[0], "start+1");
    assert_double(live.parts[0].call->values[1], 7, "y");
    assert_double(live.parts[1].value, 26.5, "busy(n, 2)");
}

TEST_OF(cells_that_nothing_computes_have_no_formula, shelf *own, make_shelf, drop_shelf)
{
    static const char *const outputs[] = {"start", NULL};
    st_live_sheet live = translate(own, compile_for(own, PROVIDED, outputs, NULL));
    assert_string_equal(live.cells[0].formula, "n*2.25");
    assert_string_equal(live.cells[1].formula, "start+1");
    assert_null(live.cells[2].formula);
    assert_null(live.cells[2].call);
    assert_true(isnan(live.cells[2].value));
    assert_null(live.cells[3].formula);
}

TEST_OF(shared_values_of_providers_have_one_cell, shelf *own, make_shelf, drop_shelf)
{
    st_unit units[2] = {st_unit_one(), st_unit_one()};
    const st_provider function = {.name = "busy",
                                  .source = "a test",
                                  .argument_units = units,
                                  .argument_count = 2,
                                  .unit = st_unit_one(),
                                  .evaluate = give_sum};
    const st_provider *const providers[] = {&function, NULL};
    const char *text = SHEET_INPUTS "functions:\n"
                                    "  busy: {open: true, args: {x: 1, y: 1}, unit: 1}\n"
                                    "cells:\n  T: {is: 'busy(n, 2) + busy(n, 2)*1.5'}\n";
    st_live_sheet live = translate(own, compile_for(own, text, NULL, providers));
    assert_int_equal(live.part_count, 1);
    assert_string_equal(live.cells[0].formula, "busy+busy*1.5");
}

TESTS(spreadsheet);
