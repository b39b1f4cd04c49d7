/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of programs share: compiling, running rows alone and in blocks, and providers. */
#ifndef STEPTIME_TESTS_PROGRAMS_H
#define STEPTIME_TESTS_PROGRAMS_H

#include "sheets.h"
#include "program/program.h"
#include "steptime/tool/providers.h"

static inline const st_program *compile_with(shelf *own, const st_sheet *sheet,
                                             const st_program_options *options)
{
    const st_program *program = NULL;
    st_status status = st_program_compile(sheet, options, own->arena, &program, own->errors);
    if (status != ST_OK)
        fail_msg("a good sheet does not compile: %s", said(own));
    return program;
}

/* A program of all cells of a sheet. */
static inline const st_program *compile(shelf *own, const char *text)
{
    return compile_with(own, accept(own, text), NULL);
}

/* A program for some outputs, as a list that NULL ends, and providers likewise. */
static inline const st_program *compile_for(shelf *own, const char *text,
                                            const char *const *outputs,
                                            const st_provider *const *providers)
{
    st_program_options options = {.outputs = outputs, .providers = providers};
    while (outputs != NULL && outputs[options.output_count] != NULL)
        options.output_count++;
    while (providers != NULL && providers[options.provider_count] != NULL)
        options.provider_count++;
    return compile_with(own, accept(own, text), &options);
}

static inline double *new_doubles(shelf *own, size_t count)
{
    double *values = st_arena_alloc(own->arena, count + 1, sizeof *values);
    assert_non_null(values);
    return values;
}

/* The outputs of one row. */
static inline const double *run_row(shelf *own, const st_program *program, const double *inputs)
{
    double *outputs = new_doubles(own, st_program_output_count(program));
    st_workspace *workspace = st_workspace_create(program);
    assert_non_null(workspace);
    assert_int_equal(st_program_run_one(program, workspace, inputs, outputs, NULL), ST_OK);
    st_workspace_destroy(workspace);
    return outputs;
}

/* The value of an output by its name, in one row. */
static inline double output_of(const st_program *program, const double *outputs, const char *name)
{
    for (size_t i = 0; i < st_program_output_count(program); i++) {
        if (strcmp(st_program_output_name(program, i), name) == 0)
            return outputs[i];
    }
    fail_msg("no output '%s'", name);
    return 0;
}

/* Inputs over rows: some vary with a stride, the others are one value for all. */
typedef struct table {
    st_column *columns;
    double **values; /* of each input: rows * stride, at least one */
    size_t input_count;
    size_t rows;
} table;

static inline double table_value(const table *t, size_t input, size_t row)
{
    return t->values[input][row * t->columns[input].stride];
}

/* Values of nobody in particular, never round; some inputs are whole small numbers. */
static inline double sample_value(const st_sheet_input *input, size_t index, size_t row)
{
    if (input->type.kind == ST_TYPE_BOOL)
        return (double)((row / 3 + index) % 2);
    if (input->type.kind == ST_TYPE_ENUM)
        return (double)((row / 2 + index) % input->type.enumeration->count);
    return 2.385 + 0.7312 * (double)index + 0.0419 * (double)((row * 7) % 1013);
}

/* A table for a sheet; `strides` has one per input. */
static inline table make_table(shelf *own, const st_sheet *sheet, const size_t *strides,
                               size_t rows)
{
    table t = {.rows = rows};
    const st_sheet_input *inputs = st_sheet_inputs(sheet, &t.input_count);
    t.columns = st_arena_alloc(own->arena, t.input_count + 1, sizeof *t.columns);
    t.values = st_arena_alloc(own->arena, t.input_count + 1, sizeof *t.values);
    assert_non_null(t.columns);
    assert_non_null(t.values);
    for (size_t i = 0; i < t.input_count; i++) {
        size_t length = rows * strides[i] + 1;
        t.values[i] = new_doubles(own, length);
        for (size_t j = 0; j < length; j++)
            t.values[i][j] = sample_value(&inputs[i], i, j);
        t.columns[i] = (st_column){.values = t.values[i], .stride = strides[i]};
    }
    return t;
}

static inline double **make_columns(shelf *own, size_t count, size_t rows)
{
    double **columns = st_arena_alloc(own->arena, count + 1, sizeof *columns);
    assert_non_null(columns);
    for (size_t i = 0; i < count; i++) {
        columns[i] = new_doubles(own, rows + 1);
        for (size_t row = 0; row <= rows; row++)
            columns[i][row] = -77.25; /* what nobody writes stays */
    }
    return columns;
}

/* Runs a table as a block and row by row; every bit must be the same, and nothing else written. */
static inline void assert_block_equals_rows(shelf *own, const st_program *program, const table *t)
{
    size_t checks = 0;
    size_t outputs = st_program_output_count(program);
    (void)st_sheet_checks(st_program_sheet(program), &checks);
    double **output_columns = make_columns(own, outputs, t->rows);
    double **check_columns = make_columns(own, checks, t->rows);
    double *row_inputs = new_doubles(own, t->input_count);
    double *row_outputs = new_doubles(own, outputs);
    double *row_checks = new_doubles(own, checks);
    st_workspace *workspace = st_workspace_create(program);
    assert_non_null(workspace);
    assert_int_equal(
        st_program_run(program, workspace, t->columns, t->rows, output_columns, check_columns),
        ST_OK);
    for (size_t row = 0; row < t->rows; row++) {
        for (size_t i = 0; i < t->input_count; i++)
            row_inputs[i] = table_value(t, i, row);
        assert_int_equal(
            st_program_run_one(program, workspace, row_inputs, row_outputs, row_checks), ST_OK);
        for (size_t i = 0; i < outputs; i++) {
            if (!same_double(output_columns[i][row], row_outputs[i]))
                fail_msg("%s in row %zu of %zu: %.17g in the block, %.17g alone",
                         st_program_output_name(program, i), row, t->rows, output_columns[i][row],
                         row_outputs[i]);
        }
        for (size_t i = 0; i < checks; i++)
            assert_double(check_columns[i][row], row_checks[i], "check");
    }
    for (size_t i = 0; i < outputs; i++)
        assert_double(output_columns[i][t->rows], -77.25, "beyond the last row");
    st_workspace_destroy(workspace);
}

static inline st_unit unit_of(const char *text)
{
    st_unit unit = st_unit_one();
    assert_int_equal(st_unit_parse(text, strlen(text), (st_place){0}, &unit, NULL), ST_OK);
    return unit;
}

#endif
