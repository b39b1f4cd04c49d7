/* SPDX-License-Identifier: Apache-2.0 */
/* Families of cells: what they expand to, what reductions give, and what is refused. */
#include "../support/programs.h"
#include "program/program.h"

#define FAMILY_ENUMS                                                                               \
    "sheet: t\n"                                                                                   \
    "enums:\n"                                                                                     \
    "  stage: [first, middle, last]\n"                                                             \
    "  kind: [dense, moe]\n"                                                                       \
    "inputs:\n"                                                                                    \
    "  p: {from: parallel.pp}\n"                                                                   \
    "  V: {from: constants.v, unit: MB}\n"                                                         \
    "cells:\n"

static const char stages[] = FAMILY_ENUMS
    "  M:\n"
    "    per: stage\n"
    "    where: {middle: p > 2}\n"
    "    unit: MB\n"
    "    is: A[stage]*if(stage == first or p < 0, 2.385, p) + if(not stage == last, V, 0[MB])\n"
    "    doc: memory of the {stage} stage\n"
    "    cite: p. 7\n"
    "  A:\n"
    "    per: stage\n"
    "    unit: MB\n"
    "    is: {first: V*3, middle: 'A[first] + V', last: 'A[ first ]*2'}\n"
    "  T:\n"
    "    per: [stage, kind]\n"
    "    is: {dense: 'M[stage]/V', moe: 'T[stage, dense]*1.75'}\n"
    "  worst: {unit: stage, is: 'argmax(M[*])'}\n"
    "  best: {unit: stage, is: 'argmin(M[*])'}\n"
    "  most: {unit: MB, is: 'max(M[*]) - min(M[*] + V)'}\n"
    "  all: {is: '3*sum(T[*, dense]*T[*,moe]) + sum(T[last,*])'}\n"
    "  by_kind: {per: kind, is: 'sum(T[*, kind])'}\n"
    "checks:\n"
    "  - {that: 'max(A[*]) > V', else: 'the {worst} stage needs {max(M[*])}'}\n"
    "report:\n"
    "  - section: Memory\n"
    "    cells:\n"
    "      - M\n"
    "      - A[last]\n"
    "      - worst\n";

static const char *formula_of(const st_sheet *sheet, const char *name)
{
    const st_sheet_cell *cell = st_sheet_find_cell(sheet, name);
    if (cell == NULL)
        fail_msg("no cell '%s'", name);
    return cell->formula;
}

TEST_WITH(members_are_cells_with_formulas_of_their_own, make_shelf, drop_shelf)
{
    static const char *const formulas[][2] = {
        {"M[first]", "A[first]*2.385 + V"},
        {"M[middle]", "if(p > 2, A[middle]*if(p < 0, 2.385, p) + V, 0[MB])"},
        {"M[last]", "A[last]*if(p < 0, 2.385, p)"},
        {"A[middle]", "A[first] + V"},
        {"A[last]", "A[first]*2"},
        {"T[middle,dense]", "M[middle]/V"},
        {"T[last,moe]", "T[last,dense]*1.75"},
        {"worst", "argmax(M[first], if(p > 2, M[middle], M[first]), M[last])"},
        {"most", "max(M[first], if(p > 2, M[middle], M[first]), M[last])"
                 " - min(M[first] + V, if(p > 2, M[middle] + V, M[first] + V), M[last] + V)"},
        {"all", "3*(T[first,dense]*T[first,moe] + T[middle,dense]*T[middle,moe]"
                " + T[last,dense]*T[last,moe]) + (T[last,dense] + T[last,moe])"},
        {"by_kind[moe]", "T[first,moe] + T[middle,moe] + T[last,moe]"},
    };
    const st_sheet *sheet = accept(*state, stages);
    for (size_t i = 0; i < COUNT(formulas); i++)
        assert_string_equal(formula_of(sheet, formulas[i][0]), formulas[i][1]);
    const st_sheet_cell *last = st_sheet_find_cell(sheet, "M[last]");
    assert_string_equal(last->doc, "memory of the last stage");
    assert_string_equal(last->cite, "p. 7");
    assert_string_equal(last->type.unit.text, "MB");
    assert_int_equal(last->formula_place.line, 13);
    assert_null(st_sheet_find_cell(sheet, "M"));
    size_t count = 0;
    const st_sheet_section *sections = st_sheet_sections(sheet, &count);
    assert_int_equal(sections[0].count, 5);
    assert_string_equal(sections[0].cells[1], "M[middle]");
    assert_string_equal(sections[0].cells[3], "A[last]");
}

/* V is 2.385 MB: A is 7.155, 9.54, 14.31 MB. */
TEST_OF(reductions_pass_over_members_that_do_not_exist, shelf *own, make_shelf, drop_shelf)
{
    const st_program *program = compile(own, stages);
    const double few[] = {1.5, 2.385e6};
    const double many[] = {4.5, 2.385e6};
    const double *out = run_row(own, program, few);
    const double first = 3 * 2.385e6 * 2.385 + 2.385e6;
    assert_double(output_of(program, out, "M[first]"), first, "M[first]");
    assert_double(output_of(program, out, "M[middle]"), 0, "M[middle]");
    assert_double(output_of(program, out, "worst"), 2, "worst");
    assert_double(output_of(program, out, "best"), 0, "best, not the stage that is missing");
    assert_double(output_of(program, out, "most"), 3 * 2.385e6 * 2 * 1.5 - (first + 2.385e6),
                  "most");
    out = run_row(own, program, many);
    assert_double(output_of(program, out, "M[middle]"), (3 * 2.385e6 + 2.385e6) * 4.5 + 2.385e6,
                  "M[middle]");
    assert_double(output_of(program, out, "worst"), 2, "worst");
}

TEST_OF(the_first_of_equal_members_wins, shelf *own, make_shelf, drop_shelf)
{
    const st_program *program =
        compile(own, FAMILY_ENUMS "  X: {per: stage, is: {first: p - V/V, middle: p, last: p}}\n"
                                  "  Y: {per: stage, is: p}\n"
                                  "  high: {unit: stage, is: 'argmax(X[*])'}\n"
                                  "  low: {unit: stage, is: 'argmin(Y[*])'}\n"
                                  "  is_high: {unit: bool, is: high == middle}\n");
    const double inputs[] = {2.385, 7.25};
    const double *out = run_row(own, program, inputs);
    assert_double(output_of(program, out, "high"), 1, "high");
    assert_double(output_of(program, out, "low"), 0, "low");
    assert_double(output_of(program, out, "is_high"), 1, "is_high");
}

TEST_OF(explanations_name_the_index, shelf *own, make_shelf, drop_shelf)
{
    const st_program *program = compile(own, stages);
    const double inputs[] = {4.5, 2.385e6};
    const st_explanation *told = NULL;
    assert_int_equal(
        st_program_explain(program, inputs, "M[first]", 1, own->arena, &told, own->errors), ST_OK);
    assert_string_equal(told->name, "M[first]");
    assert_string_equal(told->formula, "A[first]*2.385 + V");
    assert_string_equal(told->numbers, "7.155[MB]*2.385 + 2.385[MB]");
    assert_string_equal(told->operands[0]->name, "A[first]");
    assert_int_equal(
        st_program_explain(program, inputs, "T[first,dense]", 0, own->arena, &told, own->errors),
        ST_OK);
    assert_string_equal(told->formula, "M[first]/V");
}

TEST_OF(an_including_sheet_overrides_members_and_families, shelf *own, make_shelf, drop_shelf)
{
    put(own, "below", stages);
    const st_sheet *sheet = accept(own, "sheet: above\n"
                                        "include: below\n"
                                        "cells:\n"
                                        "  A[middle]: {override: true, is: 'A[first]*7.25'}\n"
                                        "  T[ last , moe ]: {override: true, is: 'M[stage]/V'}\n"
                                        "  by_kind:\n"
                                        "    override: true\n"
                                        "    per: kind\n"
                                        "    is: max(T[*, kind])\n");
    assert_string_equal(formula_of(sheet, "A[middle]"), "A[first]*7.25");
    assert_string_equal(formula_of(sheet, "T[last,moe]"), "M[last]/V");
    assert_string_equal(st_sheet_find_cell(sheet, "A[middle]")->type.unit.text, "MB");
    assert_string_equal(formula_of(sheet, "by_kind[dense]"),
                        "max(T[first,dense], T[middle,dense], T[last,dense])");
}

static const char kinds[] = FAMILY_ENUMS "  is_moe: {unit: bool, is: 'p > 2 and not V < 0[MB]'}\n"
                                         "  W:\n"
                                         "    per: kind\n"
                                         "    where: {moe: is_moe}\n"
                                         "    unit: MB\n"
                                         "    is: V*if(kind == moe, 7.25, 2.385)\n"
                                         "  all: {unit: MB, is: 'sum(W[*]*1.75) + max(W[*])'}\n"
                                         "  own: {unit: MB, per: kind, is: 'W[kind] + W[moe]'}\n"
                                         "checks:\n"
                                         "  - {that: 'sum(W[*]) > V', else: 'no weights'}\n";

/* What is known of p: the number behind `context`, or nothing. */
static bool knows_p(const void *context, const st_sheet_input *input, double *value)
{
    const double *p = context;
    bool known = p != NULL && strcmp(input->name, "p") == 0;
    *value = known ? *p : 0;
    return known;
}

/* The program for what is given of p, which gives what the one without gives. */
static const st_program *compile_given(shelf *own, const double *p)
{
    const st_program *program = NULL;
    const st_given given = {knows_p, p};
    const st_program_options options = {.given = &given};
    const st_sheet *sheet = accept(own, kinds);
    assert_int_equal(st_program_compile(sheet, &options, own->arena, &program, own->errors), ST_OK);
    return program;
}

static void assert_same_values(shelf *own, const st_program *program, const double *inputs)
{
    const st_program *whole = compile(own, kinds);
    const double *out = run_row(own, program, inputs);
    const double *wanted = run_row(own, whole, inputs);
    assert_int_equal(st_program_output_count(program), st_program_output_count(whole));
    for (size_t i = 0; i < st_program_output_count(whole); i++)
        assert_double(out[i], wanted[i], st_program_output_name(whole, i));
}

TEST_OF(a_job_leaves_members_out_that_it_cannot_have, shelf *own, make_shelf, drop_shelf)
{
    const double few[] = {1.5, 2.385e6};
    const double many[] = {4.5, 2.385e6};
    const st_program *least = compile_given(own, &few[0]);
    size_t all = st_program_operation_count(compile(own, kinds));
    assert_same_values(own, least, few);
    assert_true(st_program_operation_count(least) < all);
    /* A condition that holds, or that nobody knows, leaves nothing out. */
    assert_same_values(own, compile_given(own, &many[0]), many);
    assert_same_values(own, compile_given(own, NULL), few);
    assert_same_values(own, compile_given(own, NULL), many);
    assert_int_equal(st_program_operation_count(compile_given(own, NULL)), all);
}

/* A condition that the cell has itself needs no further look: else nobody asks for the cell. */
TEST_WITH(a_reduction_may_lean_on_the_condition_of_its_cell, make_shelf, drop_shelf)
{
    const st_sheet *sheet = accept(
        *state, FAMILY_ENUMS "  T: {per: [stage, kind], where: {moe: p > 2}, is: p}\n"
                             "  U: {per: kind, where: {moe: p > 2}, is: 'max(T[*, kind])'}\n");
    assert_string_equal(formula_of(sheet, "U[moe]"),
                        "if(p > 2, max(T[first,moe], T[middle,moe], T[last,moe]), 0)");
}

typedef struct refused {
    st_status status;
    const char *cells;
    const char *said;
} refused;

static const refused faults[] = {
    {ST_ERR_NAME, "  M: {per: stge, is: p}\n",
     "main:9:12: error: a family requires enumerations: found 'stge', expected the name of an "
     "enumeration, or a list of up to 4; did you mean 'stage'?\n"},
    {ST_ERR_NAME, "  M: {per: stage, is: p}\n  N: {is: 2*M}\n",
     "main:10:13: error: family 'M' requires an index: expected M[stage], a value such as first, "
     "or '*' in a reduction\n"},
    {ST_ERR_NAME, "  M: {per: stage, is: p}\n  N: {is: '2*M[frst]'}\n",
     "main:10:14: error: unknown value 'frst' of 'stage' in 'M[frst]'; did you mean 'first'?\n"},
    {ST_ERR_NAME, "  M: {per: stage, is: p}\n  N: {is: '2*M[stage]'}\n",
     "main:10:14: error: ambiguous 'stage' for 'M[stage]': expected a value of it, or a cell that "
     "is 'per: stage'\n"},
    {ST_ERR_NAME, "  M: {per: stage, is: p}\n  N: {is: '2*M[first, moe]'}\n",
     "main:10:14: error: 'M[first,moe]' has 2 indices: expected M[stage]\n"},
    {ST_ERR_NAME, "  N: {unit: MB, is: 'V[first]'}\n",
     "main:9:22: error: 'V' is not a family of cells: expected its name only; units follow "
     "numbers, as in 2[B]\n"},
    {ST_ERR_NAME, "  M_last: {per: stage, is: p}\n  N: {is: 'M_lst[first]'}\n",
     "main:10:12: error: unknown name 'M_lst'; did you mean 'M_last[first]'?\n"},
    {ST_ERR_NAME, "  M: {per: stage, is: p}\n  N: {is: 'M[*] + 1'}\n",
     "main:10:12: error: 'M[*]' is outside of a reduction: expected '*' in the only argument of "
     "sum, min, max, argmin or argmax\n"},
    {ST_ERR_NAME,
     "  M: {per: stage, is: p}\n  K: {per: kind, is: p}\n  N: {is: 'sum(M[*]*K[*])'}\n",
     "main:11:21: error: '*' ranges over both 'stage' and 'kind': expected one enumeration per "
     "reduction\n"},
    {ST_ERR_VALUE, "  M: {per: stage, where: {first: p > 1}, is: p}\n  N: {is: 'max(M[*])'}\n",
     "main:10:16: error: the reduction may be empty: 'M[first]' may not exist: expected a first "
     "member without 'where', or use sum\n"},
    {ST_ERR_VALUE, "  N: {unit: stage, is: 'argmax(p, p)'}\n",
     "main:9:25: error: 'argmax' requires a family of cells: expected one argument with '*', as in "
     "argmax(M[*])\n"},
    {ST_ERR_NAME, "  M: {per: stage, is: {first: p, last: p}}\n",
     "main:9:3: error: 'M[middle]' has no formula: expected one formula for all members, or one "
     "for each, in 'is'\n"},
    {ST_ERR_NAME, "  M: {per: stage, is: {first: p, frist: p}}\n",
     "main:9:34: error: 'frist' is not in the enumerations of 'M': expected values of one of its "
     "enumerations; did you mean 'first'?\n"},
    {ST_ERR_NAME, "  M: {per: [stage, stage], is: p}\n",
     "main:9:12: error: ambiguous index 'stage': expected each enumeration once, with a name that "
     "no value has\n"},
    {ST_ERR_UNIT, "  M: {per: stage, unit: MB, is: 'V*p*if(stage == last, V, 1)'}\n",
     "main:9:34: error: cell 'M[last]' has the wrong unit: found 'V*p*V' (B^2), expected MB "
     "(B)\n"},
    {ST_ERR_NAME, "  M: {per: stage, is: p + q}\n", "main:9:27: error: unknown name 'q'\n"},
    {ST_ERR_NAME, "  M[first]: {override: true, is: p}\n",
     "main:9:3: error: 'M[first]' overrides nothing: expected a member of a family of an "
     "included sheet; a family is defined with 'per'\n"},
    {ST_ERR_VALUE, "  M: {per: stage, where: {last: p > 1}, unit: kind, is: dense}\n",
     "main:9:3: error: enumeration values cannot have 'where': expected a family of numbers or "
     "truth values with 'where'\n"},
    {ST_ERR_CYCLE, "  M: {per: stage, is: 'M[first] + 1'}\n",
     "main:9:24: error: circular dependency of cells: M[first] -> M[first]\n"},
    {ST_ERR_SYNTAX, "  M: {per: stage, is: p}\n  N: {is: 'M[first'}\n",
     "main:10:19: error: unclosed index: expected ',' or ']'\n"},
    {ST_ERR_SYNTAX, "  M: {per: stage, is: p}\n  N: {is: 'M[first,]'}\n",
     "main:10:20: error: invalid index: expected a value of an enumeration, the name of one, or "
     "'*'\n"},
    {ST_ERR_NAME, "  stage: {is: p}\n  M: {per: stage, is: 'if(stage == first, p, 1)'}\n",
     "main:10:3: error: index 'stage' of 'M' is also the name of an input or a cell: expected a "
     "different name for one of them\n"},
    {ST_ERR_UNIT, "  M: {per: stage, where: {last: 'p > 2[B]'}, is: p}\n",
     "main:9:36: error: cannot compare 'p' (a pure number) and '2[B]' (B): expected the same "
     "dimension on both sides\n"},
};

TEST_WITH(faults_are_reported_with_their_place, make_shelf, drop_shelf)
{
    for (size_t i = 0; i < COUNT(faults); i++) {
        char text[1000];
        (void)snprintf(text, sizeof text, "%s%s", FAMILY_ENUMS, faults[i].cells);
        assert_string_equal(refuse(*state, faults[i].status, text), faults[i].said);
    }
}

TEST_OF(overrides_keep_to_the_shape_of_a_family, shelf *own, make_shelf, drop_shelf)
{
    static const refused cases[] = {
        {ST_ERR_NAME, "  M: {override: true, is: V}\n",
         "main:4:3: error: 'M' is already defined at below:9, as a family: expected another name, "
         "or 'per' with the same enumerations to override it\n"},
        {ST_ERR_NAME, "  M: {override: true, per: kind, unit: MB, is: V}\n",
         "main:4:3: error: 'M' has different enumerations at below:9: expected the same 'per'\n"},
        {ST_ERR_NAME, "  M: {per: stage, unit: MB, is: V}\n",
         "main:4:3: error: 'M' is already defined at below:9: expected another name, or 'override: "
         "true' to replace a definition of an included sheet\n"},
        {ST_ERR_NAME, "  worst: {override: true, per: stage, is: p}\n",
         "main:4:3: error: 'worst' is already a cell or an input: expected another name: a family "
         "cannot override it\n"},
        {ST_ERR_NAME, "  A[middle]: {is: V}\n",
         "main:4:3: error: 'A[middle]' is already defined at below:16: expected another name, or "
         "'override: true' to replace a definition of an included sheet\n"},
        {ST_ERR_NAME, "  A[midle]: {override: true, is: V}\n",
         "main:4:3: error: 'A[midle]' overrides nothing: expected a member of a family of an "
         "included sheet; a family is defined with 'per'\n"},
    };
    put(own, "below", stages);
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[1000];
        (void)snprintf(text, sizeof text, "sheet: above\ninclude: below\ncells:\n%s",
                       cases[i].cells);
        assert_string_equal(refuse(own, cases[i].status, text), cases[i].said);
    }
}

/* 64 values in a reduction in a reduction, four deep, are more than any formula may have. */
TEST_OF(the_growth_of_a_formula_is_bounded, shelf *own, make_shelf, drop_shelf)
{
    st_buffer text = {0};
    st_buffer_text(&text, "sheet: t\nenums:\n");
    for (char axis = 'a'; axis < 'd'; axis++) {
        st_buffer_printf(&text, "  e%c: [", axis);
        for (int i = 0; i < 64; i++)
            st_buffer_printf(&text, "%s%c%d", i == 0 ? "" : ", ", axis, i);
        st_buffer_text(&text, "]\n");
    }
    st_buffer_text(&text, "inputs:\n  p: {from: parallel.pp}\ncells:\n");
    for (char axis = 'a'; axis < 'd'; axis++)
        st_buffer_printf(&text, "  M%c: {per: e%c, is: p}\n", axis, axis);
    st_buffer_text(&text, "  N: {is: 'max(Ma[*] + max(Mb[*] + max(Mc[*])))'}\n");
    assert_string_equal(refuse(own, ST_ERR_LIMIT, text.data),
                        "main:12:45: error: the formula is too large after its families are "
                        "expanded: expected at most 64 KiB and 1000 operators in a row\n");
    st_buffer_free(&text);
}

/* Who reads a member whose own formula is at fault is not told that there is none. */
TEST_WITH(members_at_fault_are_members_all_the_same, make_shelf, drop_shelf)
{
    const char *found = refuse(
        *state, ST_ERR_SYNTAX,
        FAMILY_ENUMS "  M: {per: stage, is: {first: p, middle: 'p +', last: p}}\n"
                     "  a: {is: 'M[middle]'}\n  b: {is: 'M[midd]'}\n  c: {is: 'M[medium]'}\n");
    assert_lacks(found, "'middle' is no value");
    assert_contains(found, "unknown value 'midd' of 'stage' in 'M[midd]'; did you mean 'middle'?");
    assert_contains(found, "unknown value 'medium' of 'stage' in 'M[medium]'");
}

TESTS(families);
