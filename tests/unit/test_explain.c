/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explanations: every number in one is that of the running program, steps stand in the order of
 * their formulas, and nothing is reported twice.
 */
#include "../support/programs.h"
#include "program/program.h"
#include "steptime/tool/providers.h"

static const char model[] =
    "sheet: t\n"
    "enums:\n"
    "  mode: [none, part, full]\n"
    "inputs:\n"
    "  n: {from: parallel.dp, doc: ranks, cite: table 1}\n"
    "  V: {from: constants.v, unit: MB, doc: message}\n"
    "  C: {from: constants.c, unit: GB/s, doc: bandwidth}\n"
    "  w: {from: constants.w, unit: bool, doc: switch}\n"
    "  m: {from: constants.m, unit: mode, doc: mode}\n"
    "functions:\n"
    "  ring:\n"
    "    open: true\n"
    "    args: {size: B, ranks: 1, rate: GB/s}\n"
    "    unit: us\n"
    "    is: if(ranks > 1, 2*steps(ranks)/ranks * size/rate, 0[us])\n"
    "    doc: time of a ring\n"
    "    cite: sec. 5\n"
    "  steps: {args: {ranks: 1}, is: ranks - 1, doc: steps of a ring}\n"
    "cells:\n"
    "  half: {unit: MB, is: V/2, doc: half a message, cite: eq. 1}\n"
    "  T: {unit: us, is: 'ring(half, n, C) + lag', doc: time, cite: eq. 2}\n"
    "  lag: {unit: us, is: 'if(w, 2.5[us] + T0, half/C)', doc: lag}\n"
    "  T0: {unit: us, is: '-3.5[us]*(n - 9)'}\n"
    "  total: {unit: ms, is: T + lag + half/C + T, doc: all}\n"
    "  flag: {unit: bool, is: w and m == full}\n"
    "  gear: {unit: mode, is: 'if(flag, m, part)'}\n";

enum { N, VOLUME, RATE, SWITCH, MODE };
static const double row[] = {8, 2.386e6, 12.5e9, 1, 2};

static const st_explanation *explain(shelf *own, const st_program *program, const double *inputs,
                                     const char *cell, int depth)
{
    const st_explanation *explanation = NULL;
    st_status status =
        st_program_explain(program, inputs, cell, depth, own->arena, &explanation, own->errors);
    if (status != ST_OK)
        fail_msg("'%s' cannot be explained: %s", cell, said(own));
    return explanation;
}

/* "name = value [formula | numbers] {operands}", marks for cut and shown before. */
static void print_step(const st_explanation *step, st_buffer *buffer)
{
    char text[ST_QUANTITY_TEXT];
    st_buffer_printf(buffer, "%s = %s", step->name,
                     st_type_format(&step->type, step->value, ST_STYLE_SCALED, text, sizeof text));
    if (step->kind != ST_EXPLAIN_INPUT)
        st_buffer_printf(buffer, " [%s | %s]", step->formula, step->numbers);
    st_buffer_text(buffer, step->cut ? " cut" : step->shown_before ? " before" : "");
    for (size_t i = 0; i < step->operand_count; i++) {
        st_buffer_text(buffer, i == 0 ? " {" : "; ");
        print_step(step->operands[i], buffer);
    }
    st_buffer_text(buffer, step->operand_count > 0 ? "}" : "");
}

static void assert_explained(shelf *own, const st_explanation *explanation, const char *expected)
{
    st_buffer buffer = {0};
    print_step(explanation, &buffer);
    const char *text = st_arena_copy(own->arena, buffer.data, buffer.length);
    st_buffer_free(&buffer);
    assert_string_equal(text, expected);
}

/* --- what is shown --------------------------------------------------------------------------- */

TEST_OF(formulas_are_shown_with_numbers_down_to_the_inputs, shelf *own, make_shelf, drop_shelf)
{
    const st_program *program = compile(own, model);
    assert_explained(
        own, explain(own, program, row, "T", -1),
        "T = 173 us [ring(half, n, C) + lag | ring(1.193[MB], 8, 12.5[GB/s]) + 6[us]] {"
        "ring = 167 us [if(ranks > 1, 2*steps(ranks)/ranks * size/rate, 0[us]) | "
        "if(8 > 1, 2*steps(8)/8 * 1.193[MB]/12.5[GB/s], 0[us])] {"
        "steps = 7 [ranks - 1 | 8 - 1]}; "
        "half = 1.193 MB [V/2 | 2.386[MB]/2] {V = 2.386 MB}; n = 8; C = 12.5 GB/s; "
        "lag = 6 us [if(w, 2.5[us] + T0, half/C) | if(true, 2.5[us] + 3.5[us], "
        "1.193[MB]/12.5[GB/s]"
        ")] {w = yes; T0 = 3.5 us [-3.5[us]*(n - 9) | -3.5[us]*(8 - 9)] {n = 8}}}");
}

TEST_OF(steps_have_their_texts_and_types, shelf *own, make_shelf, drop_shelf)
{
    const st_program *program = compile(own, model);
    const st_explanation *step = explain(own, program, row, "T", -1);
    assert_int_equal(step->kind, ST_EXPLAIN_CELL);
    assert_string_equal(step->doc, "time");
    assert_string_equal(step->cite, "eq. 2");
    assert_string_equal(step->provider, "");
    assert_string_equal(step->type.unit.text, "us");
    assert_int_equal(step->place.line, 21);
    assert_double(step->formula_value, step->value, "formula");
    const st_explanation *ring = step->operands[0];
    assert_int_equal(ring->kind, ST_EXPLAIN_FUNCTION);
    assert_string_equal(ring->doc, "time of a ring");
    assert_string_equal(ring->cite, "sec. 5");
    assert_int_equal(ring->place.line, 11);
    const st_explanation *n = step->operands[2];
    assert_int_equal(n->kind, ST_EXPLAIN_INPUT);
    assert_string_equal(n->formula, "parallel.dp");
    assert_string_equal(n->numbers, "");
    assert_string_equal(n->doc, "ranks");
    assert_string_equal(n->cite, "table 1");
    assert_int_equal(n->place.line, 5);
    assert_int_equal(n->operand_count, 0);
}

TEST_OF(branches_that_are_not_taken_are_left_out, shelf *own, make_shelf, drop_shelf)
{
    const st_program *program = compile(own, model);
    double inputs[5];
    memcpy(inputs, row, sizeof row);
    inputs[SWITCH] = 0;
    assert_explained(own, explain(own, program, inputs, "lag", -1),
                     "lag = 95.44 us [if(w, 2.5[us] + T0, half/C) | if(false, 2.5[us] + 3.5[us], "
                     "1.193[MB]/12.5[GB/s])] {w = no; half = 1.193 MB [V/2 | 2.386[MB]/2] {V = "
                     "2.386 MB}; C = 12.5 GB/s}");
    assert_explained(own, explain(own, program, inputs, "flag", -1),
                     "flag = no [w and m == full | false and full == full] {w = no}");
    inputs[N] = 1;
    assert_explained(
        own, explain(own, program, inputs, "T", 1),
        "T = 95.44 us [ring(half, n, C) + lag | ring(1.193[MB], 1, 12.5[GB/s]) + "
        "95.44[us]] {ring = 0 us [if(ranks > 1, 2*steps(ranks)/ranks * size/rate, 0[us])"
        " | if(1 > 1, 2*steps(1)/1 * 1.193[MB]/12.5[GB/s], 0[us])]; half = 1.193 MB "
        "[V/2 | 2.386[MB]/2] cut; n = 1; C = 12.5 GB/s; lag = 95.44 us [if(w, 2.5[us] + "
        "T0, half/C) | if(false, 2.5[us] + 28[us], 1.193[MB]/12.5[GB/s])] cut}");
}

TEST_OF(enumerations_and_truths_are_shown_as_written, shelf *own, make_shelf, drop_shelf)
{
    const st_program *program = compile(own, model);
    assert_explained(
        own, explain(own, program, row, "gear", -1),
        "gear = full [if(flag, m, part) | if(true, full, part)] {flag = yes [w and m == "
        "full | true and full == full] {w = yes; m = full}; m = full}");
}

TEST_WITH(depth_cuts_and_says_so, make_shelf, drop_shelf)
{
    static const char *const outputs[] = {"total", "half", "V", NULL};
    shelf *own = *state;
    const st_program *program = compile_for(own, model, outputs, NULL);
    assert_explained(own, explain(own, program, row, "total", 0),
                     "total = 447.5 us [T + lag + half/C + T | 173[us] + 6[us] + "
                     "1.193[MB]/12.5[GB/s] + 173[us]] cut");
    assert_explained(own, explain(own, program, row, "half", 1),
                     "half = 1.193 MB [V/2 | 2.386[MB]/2] {V = 2.386 MB}");
    assert_explained(own, explain(own, program, row, "half", 0),
                     "half = 1.193 MB [V/2 | 2.386[MB]/2] cut");
    assert_explained(own, explain(own, program, row, "V", 0), "V = 2.386 MB");
    assert_explained(own, explain(own, program, row, "V", -1), "V = 2.386 MB");
}

TEST_OF(steps_are_unfolded_once, shelf *own, make_shelf, drop_shelf)
{
    const st_program *program = compile(own, model);
    const st_explanation *total = explain(own, program, row, "total", -1);
    /* T, lag, half, C: each once, although T stands twice in the formula. */
    assert_int_equal(total->operand_count, 4);
    const st_explanation *T = total->operands[0];
    assert_false(T->shown_before);
    assert_string_equal(total->operands[1]->name, "lag");
    assert_true(total->operands[1]->shown_before);
    assert_int_equal(total->operands[1]->operand_count, 0);
    assert_double(total->operands[1]->value, T->operands[4]->value, "lag");
    assert_string_equal(total->operands[2]->name, "half");
    assert_true(total->operands[2]->shown_before);
    assert_string_equal(total->operands[3]->name, "C");
    assert_false(total->operands[3]->shown_before);
}

TEST_OF(negative_numbers_stand_in_parentheses, shelf *own, make_shelf, drop_shelf)
{
    const st_program *program =
        compile(own, "sheet: t\ninputs:\n  x: {from: a.x}\n  t: {from: a.t, unit: us}\n"
                     "cells:\n  a: {is: 2 - x}\n  b: {unit: us, is: ' 3*( t ) - t*(x) '}\n"
                     "  x2: {is: x^2*xx}\n  xx: {is: x}\n");
    const double inputs[] = {-2.5, -7.25e-6};
    assert_string_equal(explain(own, program, inputs, "a", 0)->numbers, "2 - (-2.5)");
    assert_string_equal(explain(own, program, inputs, "b", 0)->numbers,
                        "3*( (-7.25[us]) ) - (-7.25[us])*((-2.5))");
    assert_string_equal(explain(own, program, inputs, "x2", 0)->numbers, "(-2.5)^2*(-2.5)");
}

TEST_OF(values_that_do_not_exist_are_shown_too, shelf *own, make_shelf, drop_shelf)
{
    const st_program *program =
        compile(own, "sheet: t\ninputs:\n  x: {from: a.x}\ncells:\n  a: {unit: us, is: '1[us]/x'}\n"
                     "  b: {unit: us, is: 2*a}\n");
    const double inputs[] = {0};
    assert_explained(own, explain(own, program, inputs, "b", -1),
                     "b = not finite [2*a | 2*not finite] {a = not finite [1[us]/x | 1[us]/0] {x = "
                     "0}}");
}

TEST_OF(formulas_of_several_lines_keep_them, shelf *own, make_shelf, drop_shelf)
{
    const st_program *program =
        compile(own, "sheet: t\ninputs:\n  x: {from: a.x}\ncells:\n  a:\n    is: |\n      x +\n"
                     "        2*x\n");
    const double inputs[] = {2.385};
    assert_string_equal(explain(own, program, inputs, "a", 0)->numbers, "2.385 +\n  2*2.385");
}

/* --- the same numbers as the program --------------------------------------------------------- */

static void check_values(const st_program *program, const double *outputs,
                         const st_explanation *step)
{
    for (size_t i = 0; i < st_program_output_count(program); i++) {
        if (step->kind == ST_EXPLAIN_CELL &&
            strcmp(st_program_output_name(program, i), step->name) == 0)
            assert_double(step->value, outputs[i], step->name);
    }
    for (size_t i = 0; i < step->operand_count; i++)
        check_values(program, outputs, step->operands[i]);
}

TEST_OF(every_value_is_that_of_the_program, shelf *own, make_shelf, drop_shelf)
{
    const st_program *program = compile(own, model);
    for (size_t i = 0; i < 12; i++) {
        const double inputs[] = {1 + (double)(i * 5 % 9), 2.385e6 * (double)(i + 1),
                                 1.37e9 / (double)(i + 3), (double)(i % 2), (double)(i % 3)};
        const double *outputs = run_row(own, program, inputs);
        for (size_t j = 0; j < st_program_output_count(program); j++)
            check_values(program, outputs,
                         explain(own, program, inputs, st_program_output_name(program, j), -1));
    }
}

/* --- providers ------------------------------------------------------------------------------- */

static st_status add_up(void *self, size_t rows, const double *const *arguments, double *values)
{
    for (size_t i = 0; i < rows; i++)
        values[i] = arguments[0][i] * *(double *)self;
    return ST_OK;
}

TEST_OF(provided_functions_show_both_values, shelf *own, make_shelf, drop_shelf)
{
    double factor = 2.5e-9;
    const st_unit units[] = {unit_of("B"), unit_of("1"), unit_of("B/s")};
    const st_provider ring = {.name = "ring",
                              .source = "bench.so",
                              .argument_units = units,
                              .argument_count = 3,
                              .unit = unit_of("s"),
                              .evaluate = add_up,
                              .self = &factor};
    const st_provider *providers[] = {&ring, NULL};
    const st_program *program = compile_for(own, model, NULL, providers);
    const st_explanation *T = explain(own, program, row, "T", 1);
    const st_explanation *step = T->operands[0];
    assert_string_equal(step->provider, "bench.so");
    assert_double(step->value, 2.5e-9 * 1.193e6, "provider");
    assert_double(step->formula_value, 2 * 7.0 / 8 * 1.193e6 / 12.5e9, "formula");
    assert_string_equal(step->formula, "if(ranks > 1, 2*steps(ranks)/ranks * size/rate, 0[us])");
    assert_string_equal(T->provider, "");
}

/* The formula reads cells that nothing else needs, and a function that nobody provides. */
TEST_WITH(provided_cells_show_both_values, make_shelf, drop_shelf)
{
    static const char *const text = "sheet: t\ninputs:\n  x: {from: a.x}\n  y: {from: a.y}\n"
                                    "functions:\n  bare: {open: true, args: {v: 1}}\n"
                                    "cells:\n  deep: {is: x*3.5}\n  low: {is: deep + 1.25}\n"
                                    "  P: {open: true, is: low*2, doc: provided}\n"
                                    "  Q: {open: true, is: bare(x)}\n"
                                    "  T: {is: P + Q + y}\n";
    static const char *const reads[] = {"y"};
    static const char *const outputs[] = {"T", NULL};
    double factor = 7;
    const st_unit units[] = {unit_of("1")};
    st_provider P = {.name = "P",
                     .source = "bench.so",
                     .argument_names = reads,
                     .argument_units = units,
                     .argument_count = 1,
                     .unit = unit_of("1"),
                     .evaluate = add_up,
                     .self = &factor};
    st_provider Q = P;
    Q.name = "Q";
    const st_provider *providers[] = {&P, &Q, NULL};
    shelf *own = *state;
    const st_program *program = compile_for(own, text, outputs, providers);
    const double inputs[] = {2.385, 0.75};
    const st_explanation *T = explain(own, program, inputs, "T", -1);
    assert_double(T->value, 7 * 0.75 + 7 * 0.75 + 0.75, "T");
    const st_explanation *provided = T->operands[0];
    assert_string_equal(provided->provider, "bench.so");
    assert_string_equal(provided->formula, "low*2");
    assert_string_equal(provided->doc, "provided");
    assert_double(provided->value, 5.25, "P");
    assert_double(provided->formula_value, (2.385 * 3.5 + 1.25) * 2, "P by its formula");
    assert_int_equal(provided->operand_count, 1);
    assert_string_equal(provided->operands[0]->name, "y");
    assert_double(T->operands[1]->value, 5.25, "Q");
    assert_true(isnan(T->operands[1]->formula_value));
    assert_double(T->operands[2]->value, 0.75, "y");
    assert_true(explain(own, program, inputs, "T", 1)->operands[0]->cut);
    assert_double(run_row(own, program, inputs)[0], T->value, "program");
}

/* --- what cannot be explained ---------------------------------------------------------------- */

static const char *refuse_to_explain(shelf *own, const st_program *program, const char *cell,
                                     st_status status)
{
    const st_explanation *explanation = NULL;
    assert_int_equal(
        st_program_explain(program, row, cell, -1, own->arena, &explanation, own->errors), status);
    assert_null(explanation);
    return said(own);
}

TEST_WITH(unknown_cells_get_the_nearest_one, make_shelf, drop_shelf)
{
    static const char *const outputs[] = {"T", NULL};
    shelf *own = *state;
    const st_program *program = compile_for(own, model, outputs, NULL);
    assert_string_equal(refuse_to_explain(own, program, "totall", ST_ERR_USAGE),
                        "error: sheet 't' has no cell 'totall'; did you mean 'total'?\n");
    assert_string_equal(refuse_to_explain(own, program, "total", ST_ERR_USAGE),
                        "error: the program does not compute 'total': expected one of the outputs "
                        "requested at compile time\n");
    assert_contains(refuse_to_explain(own, program, "ring", ST_ERR_USAGE), "has no cell 'ring'");
}

TEST_OF(explanations_are_bounded, shelf *own, make_shelf, drop_shelf)
{
    st_buffer text = {0};
    st_buffer_text(&text, "sheet: t\ninputs:\n  x: {from: a.x}\n"
                          "functions:\n  f0: {args: {v: 1}, is: v+1}\n");
    for (int i = 1; i <= 17; i++)
        st_buffer_printf(&text, "  f%d: {args: {v: 1}, is: f%d(v)+f%d(v)}\n", i, i - 1, i - 1);
    st_buffer_text(&text, "cells:\n  T: {is: f17(x)}\n");
    const st_program *program = compile(own, text.data);
    assert_string_equal(refuse_to_explain(own, program, "T", ST_ERR_LIMIT),
                        "error: the explanation is too large; a smaller --depth\n");
    assert_int_equal(explain(own, program, row, "T", 3)->operand_count, 2);
    st_buffer_free(&text);
}

TEST_OF(long_chains_are_cut, shelf *own, make_shelf, drop_shelf)
{
    st_buffer text = {0};
    st_buffer_text(&text, "sheet: t\ninputs:\n  x: {from: a.x}\ncells:\n  a0: {is: x}\n");
    for (int i = 1; i < 19000; i++)
        st_buffer_printf(&text, "  a%d: {is: a%d + 1}\n", i, i - 1);
    const st_program *program = compile(own, text.data);
    const st_explanation *step = explain(own, program, row, "a18999", -1);
    size_t depth = 0;
    for (; step->operand_count > 0; step = step->operands[0])
        depth++;
    assert_int_equal(depth, 200);
    assert_true(step->cut);
    st_buffer_free(&text);
}

TESTS(explain);
