/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Powers that are products, quotients and roots, the same whether the exponent is a constant, the
 * same in all rows or another in each; and failures over the checks of rows.
 */
#include "../support/programs.h"
#include "program/program.h"

#include "program/blocks.h"
#include "program/rates.h"

enum { X, E, INPUTS, ROWS = 67 };

static const struct {
    const char *text;
    double number;
} exponents[] = {{"1", 1},   {"2", 2},     {"3", 3},       {"4", 4},   {"0.5", 0.5},
                 {"-1", -1}, {"-2", -2},   {"-3", -3},     {"-4", -4}, {"0.25", 0.25},
                 {"5", 5},   {"2.5", 2.5}, {"-0.5", -0.5}, {"0", 0},   {"-2.385", -2.385}};

static const double bases[] = {2.385,  0.4271, -7.112, 1.25e-7, 3.3e11, 0,
                               1e-170, 1e170,  1,      1e308,   5e-324, 0.1};

static const st_program *compile_power(shelf *own, const char *exponent)
{
    return compile(own, st_arena_printf(own->arena,
                                        "sheet: t\n"
                                        "inputs:\n"
                                        "  x: {from: a.x}\n"
                                        "  e: {from: a.e}\n"
                                        "cells:\n"
                                        "  given: {is: x^(%s)}\n"
                                        "  read: {is: x^e}\n",
                                        exponent));
}

TEST_OF(exponents_from_anywhere_give_one_value, shelf *own, make_shelf, drop_shelf)
{
    for (size_t i = 0; i < COUNT(exponents); i++) {
        const st_program *program = compile_power(own, exponents[i].text);
        double power = exponents[i].number;
        for (size_t j = 0; j < COUNT(bases); j++) {
            const double inputs[INPUTS] = {bases[j], power};
            const double *outputs = run_row(own, program, inputs);
            if (!same_double(outputs[0], outputs[1]))
                fail_msg("%g^%s is %.17g in a formula and %.17g of an input", bases[j],
                         exponents[i].text, outputs[0], outputs[1]);
            double exact = pow(bases[j], power);
            if (isfinite(outputs[0]) && fabs(outputs[0] - exact) > 1e-15 * fabs(exact))
                fail_msg("%g^%s is %.17g and not %.17g", bases[j], exponents[i].text, outputs[0],
                         exact);
        }
    }
}

/* The exponent is a scalar of the block, then a column in which all values stand. */
TEST_OF(blocks_raise_like_rows, shelf *own, make_shelf, drop_shelf)
{
    for (size_t i = 0; i < COUNT(exponents); i++) {
        const st_program *program = compile_power(own, exponents[i].text);
        for (size_t stride = 0; stride < 2; stride++) {
            const size_t strides[INPUTS] = {1, stride};
            table t = make_table(own, st_program_sheet(program), strides, ROWS);
            for (size_t row = 0; row < ROWS; row++) {
                t.values[X][row] = bases[row % COUNT(bases)];
                t.values[E][row * stride] =
                    exponents[stride == 0 ? i : row % COUNT(exponents)].number;
            }
            assert_block_equals_rows(own, program, &t);
        }
    }
}

/* --- failures -------------------------------------------------------------------------------- */

static const char checked[] = "sheet: t\n"
                              "inputs:\n"
                              "  x: {from: a.x}\n"
                              "  e: {from: a.e}\n"
                              "  p: {from: a.p, unit: bool}\n"
                              "cells:\n"
                              "  ratio: {is: x/e}\n"
                              "checks:\n"
                              "  - {that: x > 1.5, else: x is small}\n"
                              "  - {that: ratio < 2.385, else: the ratio is large}\n"
                              "  - {that: e >= 0, else: e is negative}\n"
                              "  - {that: p, else: p is false}\n"
                              "  - {that: x < 40.5, else: x is large, level: warning}\n";

enum { CHECKS = 5, MISSING = 6 };

/* The number of the first check that fails; MISSING where none does and one has no value. */
static double expect_failure(const double *checks)
{
    double failure = (double)INFINITY;
    for (size_t i = CHECKS; i-- > 0;) {
        bool warning = i == CHECKS - 1;
        if (checks[i] == 0.0 && !warning)
            failure = (double)(i + 1);
        else if (checks[i] != 1.0 && checks[i] != 0.0 && isinf(failure))
            failure = MISSING;
    }
    return failure;
}

static void make_codes(st_check_codes *codes)
{
    for (size_t i = 0; i < CHECKS; i++) {
        double failed = i == CHECKS - 1 ? (double)INFINITY : (double)(i + 1);
        codes[i] = (st_check_codes){.failed = failed, .missing = MISSING};
    }
}

/* Runs the table at two paces: what does not vary moves between two runs of one layout. */
static void check_failures(shelf *own, const st_program *program, table *t)
{
    enum { NUMBERS = 3 };
    st_check_codes codes[CHECKS];
    double failures[ROWS + 1];
    double checks[CHECKS];
    double cell = 0;
    static const uint8_t levels[NUMBERS] = {1, 1, 1};
    st_workspace *workspace = st_workspace_create(program);
    st_workspace *alone = st_workspace_create(program);
    double **outputs = make_columns(own, 1, ROWS);
    st_paced run = {.inputs = t->columns,
                    .rows = ROWS,
                    .outputs = outputs,
                    .codes = codes,
                    .failures = failures};
    make_codes(codes);
    st_paced_begin(workspace, levels);
    for (size_t turn = 0; turn < 2; turn++) {
        failures[ROWS] = -77.25;
        st_paced_run(workspace, &run);
        for (size_t row = 0; row < ROWS; row++) {
            double inputs[NUMBERS];
            for (size_t i = 0; i < NUMBERS; i++)
                inputs[i] = table_value(t, i, row);
            assert_int_equal(st_program_run_one(program, alone, inputs, &cell, checks), ST_OK);
            assert_double(failures[row], expect_failure(checks), "failure");
            assert_double(outputs[0][row], cell, "cell");
        }
        assert_double(failures[ROWS], -77.25, "beyond the last row");
        for (size_t i = 0; i < NUMBERS; i++)
            t->values[i][0] = i == 2 ? 1 - t->values[i][0] : t->values[i][0] + 1.75;
        run.level = 1;
    }
    st_workspace_destroy(workspace);
    st_workspace_destroy(alone);
}

TEST_OF(failures_are_the_first_checks_that_fail, shelf *own, make_shelf, drop_shelf)
{
    const st_program *program = compile(own, checked);
    for (size_t varying = 0; varying < 8; varying++) {
        const size_t strides[] = {varying & 1, varying >> 1 & 1, varying >> 2};
        table t = make_table(own, st_program_sheet(program), strides, ROWS);
        for (size_t row = 0; row < ROWS; row++) {
            t.values[0][row * strides[0]] = bases[row % COUNT(bases)] * 1.375;
            t.values[1][row * strides[1]] = exponents[row % COUNT(exponents)].number;
            t.values[2][row * strides[2]] = row % 5 != 2 ? 1 : 0;
        }
        check_failures(own, program, &t);
    }
}

TESTS(power);
