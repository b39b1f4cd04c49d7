/* SPDX-License-Identifier: Apache-2.0 */
/* Programs: a sheet compiled, and run over rows of inputs. */
#ifndef STEPTIME_TOOL_PROGRAMS_H
#define STEPTIME_TOOL_PROGRAMS_H

#include "steptime/tool/providers.h"

typedef struct st_program st_program;
typedef struct st_workspace st_workspace;

typedef struct st_program_options {
    const char *const *outputs; /* cells or inputs, may repeat; NULL: every cell */
    size_t output_count;
    size_t unjudged; /* the last outputs, which may lack a value without being wrong */
    const st_provider *const *providers;
    size_t provider_count;
    bool without_checks; /* leave the sheet's checks out */
    bool checks_warn;    /* a check that fails is a warning, whatever its level */
    bool few_rows; /* single rows will be few: they run in the order of blocks, which costs nothing
                      to find */
    const struct st_given *given; /* whose denials leave members out; NULL: none is left out */
} st_program_options;

/* Unknown outputs and providers that fit nothing are errors. The program lives in `arena`. */
st_status st_program_compile(const st_sheet *sheet, const st_program_options *options,
                             st_arena *arena, const st_program **program,
                             st_errors *errors) ST_NODISCARD;

/* Scratch memory for one thread; NULL when out of memory. */
st_workspace *st_workspace_create(const st_program *program);
void st_workspace_destroy(st_workspace *workspace); /* NULL is fine */

/* The values of one input over the rows: values[row * stride]; stride 0 is one value for all. */
typedef struct st_column {
    const double *values;
    size_t stride;
} st_column;

/*
 * Runs `rows` rows. `inputs` has a column per input of the sheet, in the sheet's order. Writes
 * outputs[i][row] for every output, unless outputs[i] is NULL, and, where the program has checks
 * and `checks` is not NULL, checks[i][row] (1 holds, 0 fails, not finite: unknown). Allocates
 * nothing.
 */
st_status st_program_run(const st_program *program, st_workspace *workspace,
                         const st_column *inputs, size_t rows, double *const *outputs,
                         double *const *checks) ST_NODISCARD;

/* One row: `inputs`, `outputs` and `checks` are plain arrays of one value each. */
st_status st_program_run_one(const st_program *program, st_workspace *workspace,
                             const double *inputs, double *outputs, double *checks) ST_NODISCARD;

/*
 * Whether st_program_verify has nothing to say about the row that the workspace ran last, alone:
 * every output is finite, every check holds, and no provider may have left its place to a formula.
 */
bool st_program_is_well(const st_program *program, const st_workspace *workspace,
                        const double *outputs, const double *checks);

/*
 * For one row: adds an error for every output and check that is not finite, naming the cell where
 * the error arises, its formula and its operands; an error for every failing check (with its
 * message and numbers), and an entry of its severity for every failing check of level warning or
 * limit, neither of which is a failure here. Returns ST_ERR_MATH, ST_ERR_CHECK, ST_ERR_PROVIDER or
 * ST_OK.
 */
st_status st_program_verify(const st_program *program, const double *inputs,
                            st_errors *errors) ST_NODISCARD;

#endif
