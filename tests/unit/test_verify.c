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

/* Cells with a formula each, one by one: the formula, and what is said about it. */
static const char *verify_formulas(shelf *own, char *formulas)
{
    const char *found = "=> one by one\n";
    for (char *formula = strtok(formulas, "\n"); formula != NULL; formula = strtok(NULL, "\n")) {
        const char *text = st_arena_printf(
            own->arena, INPUTS "cells:\n  T:\n    doc: a cell\n    is: %s\n", formula);
        st_status status = st_program_verify(compile(own, text), row, own->errors);
        found = st_arena_printf(own->arena, "%s%s => %s\n%s", found, formula,
                                st_status_text(status), said(own));
    }
    return found;
}

static const char *answer(void *context, const char *name, char *given)
{
    shelf *own = context;
    if (strncmp(name, "formulas: ", 10) == 0)
        return verify_formulas(own, given);
    const st_program *program = compile(own, st_arena_printf(own->arena, INPUTS "%s", given));
    st_errors_clear(own->errors);
    st_status status = st_program_verify(program, row, own->errors);
    assert_int_equal(st_program_verify(program, row, NULL), status);
    return st_arena_printf(own->arena, "=> %s\n%s", st_status_text(status), said(own));
}

TEST_OF(rows_are_verified_as_in_the_cases, shelf *own, make_shelf, drop_shelf)
{
    run_text_cases("tests/unit/cases/verify.txt", answer, own, own->arena);
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

TEST_OF(checks_may_be_left_out, shelf *own, make_shelf, drop_shelf)
{
    st_program_options options = {.without_checks = true};
    const st_sheet *sheet =
        accept(own, INPUTS "cells:\n  a: {is: x}\nchecks:\n  - {that: x > 1, else: no}\n");
    assert_string_equal(verify(own, ST_OK, compile_with(own, sheet, &options), row), "");
}

TEST_OF(parts_of_messages_are_left_out_where_a_number_is_zero, shelf *own, make_shelf, drop_shelf)
{
    const st_sheet *sheet = accept(
        own, INPUTS "cells:\n  b: {unit: MB, is: V/4}\nchecks:\n"
                    "  - {that: 'V < 1[MB]', else: 'no[[, {x} less]][[, {b} more]], {V}[[!]]'}\n");
    assert_string_equal(verify(own, ST_ERR_CHECK, compile_with(own, sheet, NULL), row),
                        "main:14:13: error: no, 596.2 kB more, 2.385 MB!\n");
    assert_contains(refuse(own, ST_ERR_SYNTAX,
                           INPUTS "cells:\n  a: {is: x}\nchecks:\n"
                                  "  - {that: x > 1, else: 'no [[{a}'}\n"),
                    "'[[' in the message is not closed: expected ']]'");
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
