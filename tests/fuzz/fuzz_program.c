/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold for the program of every sheet that was accepted; see fuzz.h. */
#include "fuzz.h"
#include "program/program.h"

#include <math.h>
#include <string.h>

enum { ROWS = 5, EXPLAINED_CELLS = 8 };

static bool same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

/* Rows that an input of a number takes: ordinary values, none, and values that overflow. */
static double input_value(const st_sheet_input *input, size_t index, size_t row)
{
    static const double edge[ROWS] = {0, 0, 0.0, -7.5e-3, 1.25e300};
    switch (input->type.kind) {
    case ST_TYPE_BOOL:
        return (double)((index + row) % 2);
    case ST_TYPE_ENUM:
        return (double)((index + row) % input->type.enumeration->count);
    case ST_TYPE_NUMBER:
        break;
    }
    if (row == 0 && input->has_default) {
        return input->default_value;
    }
    return row < 2 ? 2.385 * (double)(index + 1 + 3 * row) : edge[row];
}

typedef struct run {
    size_t inputs;
    size_t outputs;
    size_t checks;
    double *input;  /* [inputs][ROWS] */
    double *output; /* [outputs][ROWS] */
    double *check;  /* [checks][ROWS] */
    double *row_input;
    double *row_output;
    double *row_check;
} run;

static double *numbers(st_arena *arena, size_t count)
{
    double *values = st_arena_alloc(arena, count > 0 ? count : 1, sizeof *values);
    FUZZ_REQUIRE(values != NULL);
    return values;
}

static run make_run(const st_program *program, st_arena *arena)
{
    run r = {.outputs = st_program_output_count(program)};
    const st_sheet *sheet = st_program_sheet(program);
    const st_sheet_input *inputs = st_sheet_inputs(sheet, &r.inputs);
    (void)st_sheet_checks(sheet, &r.checks);
    r.input = numbers(arena, r.inputs * ROWS);
    r.output = numbers(arena, r.outputs * ROWS);
    r.check = numbers(arena, r.checks * ROWS);
    r.row_input = numbers(arena, r.inputs);
    r.row_output = numbers(arena, r.outputs);
    r.row_check = numbers(arena, r.checks);
    for (size_t i = 0; i < r.inputs; i++) {
        for (size_t row = 0; row < ROWS; row++) {
            r.input[i * ROWS + row] = input_value(&inputs[i], i, row);
        }
    }
    return r;
}

static double **row_pointers(double *values, size_t count, st_arena *arena)
{
    double **pointers = st_arena_alloc(arena, count > 0 ? count : 1, sizeof *pointers);
    FUZZ_REQUIRE(pointers != NULL);
    for (size_t i = 0; i < count; i++) {
        pointers[i] = values + i * ROWS;
    }
    return pointers;
}

static void run_block(const st_program *program, st_workspace *workspace, run *r, st_arena *arena)
{
    st_column *columns = st_arena_alloc(arena, r->inputs > 0 ? r->inputs : 1, sizeof *columns);
    FUZZ_REQUIRE(columns != NULL);
    for (size_t i = 0; i < r->inputs; i++) {
        columns[i] = (st_column){r->input + i * ROWS, 1};
    }
    FUZZ_REQUIRE(st_program_run(program, workspace, columns, ROWS,
                                row_pointers(r->output, r->outputs, arena),
                                row_pointers(r->check, r->checks, arena)) == ST_OK);
}

static void check_explanations(const st_program *program, const run *r, st_arena *arena)
{
    size_t explained = r->outputs < EXPLAINED_CELLS ? r->outputs : EXPLAINED_CELLS;
    for (size_t i = 0; i < explained; i++) {
        const st_explanation *explanation = NULL;
        st_errors *errors = st_errors_create();
        FUZZ_REQUIRE(errors != NULL);
        st_status status =
            st_program_explain(program, r->row_input, st_program_output_name(program, i), 3, arena,
                               &explanation, errors);
        fuzz_check_errors(status, errors);
        FUZZ_REQUIRE(status == ST_OK && same_bits(explanation->value, r->row_output[i]));
        st_errors_destroy(errors);
    }
}

static void check_row(const st_program *program, const run *r)
{
    bool finite = true;
    for (size_t i = 0; i < r->outputs; i++) {
        char text[ST_QUANTITY_TEXT];
        const st_type *type = st_program_output_type(program, i);
        finite = finite && isfinite(r->row_output[i]);
        FUZZ_REQUIRE(type->kind == ST_TYPE_NUMBER || !isfinite(r->row_output[i]) ||
                     r->row_output[i] >= 0);
        FUZZ_REQUIRE(
            st_type_format(type, r->row_output[i], ST_STYLE_SCALED, text, sizeof text)[0] != '\0');
    }
    st_errors *errors = st_errors_create();
    FUZZ_REQUIRE(errors != NULL);
    st_status status = st_program_verify(program, r->row_input, errors);
    fuzz_check_errors(status, errors);
    FUZZ_REQUIRE(finite || status == ST_ERR_MATH || status == ST_ERR_CHECK);
    st_errors_destroy(errors);
}

static void check_program(const st_program *program, st_arena *arena)
{
    run r = make_run(program, arena);
    st_workspace *workspace = st_workspace_create(program);
    FUZZ_REQUIRE(workspace != NULL);
    run_block(program, workspace, &r, arena);
    for (size_t row = 0; row < ROWS; row++) {
        for (size_t i = 0; i < r.inputs; i++) {
            r.row_input[i] = r.input[i * ROWS + row];
        }
        FUZZ_REQUIRE(st_program_run_one(program, workspace, r.row_input, r.row_output,
                                        r.row_check) == ST_OK);
        for (size_t i = 0; i < r.outputs; i++) {
            FUZZ_REQUIRE(same_bits(r.row_output[i], r.output[i * ROWS + row]));
        }
        for (size_t i = 0; i < r.checks; i++) {
            FUZZ_REQUIRE(same_bits(r.row_check[i], r.check[i * ROWS + row]));
        }
        check_row(program, &r);
        check_explanations(program, &r, arena);
    }
    st_workspace_destroy(workspace);
}

void fuzz_check_sheet(const st_sheet *sheet, st_arena *arena)
{
    const st_program *program = NULL;
    st_errors *errors = st_errors_create();
    FUZZ_REQUIRE(errors != NULL);
    st_status status = st_program_compile(sheet, &(st_program_options){0}, arena, &program, errors);
    fuzz_check_errors(status, errors);
    if (status == ST_OK) {
        st_buffer listing = {0};
        st_program_print(program, &listing);
        FUZZ_REQUIRE(!listing.failed);
        st_buffer_free(&listing);
        check_program(program, arena);
    }
    st_errors_destroy(errors);
}
