/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs: a sheet compiled to straight-line code over blocks of values, and run.
 *
 * Constants are folded, common subexpressions shared, cells that no output needs dropped. A program
 * is read-only; a workspace belongs to one thread. A row gives the same bits alone, in a block of
 * any size and on any machine with the same C mathematics library.
 *
 * Values that do not exist (division by zero, overflow, logarithm of a negative) travel as values
 * that are not finite and can never turn finite again, except through an `if`, `and` or `or` that
 * does not choose them, or where a formula replaces a provider that refuses.
 */
#ifndef STEPTIME_PROGRAM_PROGRAM_H
#define STEPTIME_PROGRAM_PROGRAM_H

#include "program/impossible.h"
#include "steptime/tool/programs.h"

/* The sheet, and the outputs in the order of st_program_options; `index` is below the count. */
const st_sheet *st_program_sheet(const st_program *program);
size_t st_program_output_count(const st_program *program);
const char *st_program_output_name(const st_program *program, size_t index);
const st_type *st_program_output_type(const st_program *program, size_t index);
/*
 * Operations run per row, after folding and sharing (inputs and constants are not operations), and
 * the values that are held at a time, of a row each.
 */
size_t st_program_operation_count(const st_program *program);
size_t st_program_register_count(const st_program *program);
/*
 * The first check that depends on what a provider of that name gives; the number of checks where
 * none does. `arena` is for scratch; without memory 0, as if all did.
 */
size_t st_program_first_dependent(const st_program *program, const char *provider, st_arena *arena);
/*
 * As st_program_run_one, which it calls where the workspace ran something else last; else only what
 * depends on inputs that changed since then runs, with the same bits.
 */
st_status st_program_run_again(const st_program *program, st_workspace *workspace,
                               const double *inputs, double *outputs, double *checks) ST_NODISCARD;
/* One line per operation, for `sheet show --program` and tests. */
void st_program_print(const st_program *program, st_buffer *buffer);
/* Reports each cell that has no value whatever the inputs are, such as one of 1/0. */
st_status st_program_verify_settled(const st_program *program, st_errors *errors) ST_NODISCARD;

/* What a provider does for a cell in one row. */
typedef struct st_refined {
    const char *cell;
    const st_type *type;
    const st_provider *provider;
    const char *refusal; /* why the formula is used; "" where the provider's value counts */
    const char *origin;  /* what the provider's term "origin" says of the value; "": nothing */
} st_refined;

/*
 * The cells behind the outputs to whose formulas, as the row takes their branches, a provider gives
 * a function, and those whose value one gives; in the sheet's order, each pair once.
 */
st_status st_program_refined(const st_program *program, const double *inputs, st_arena *arena,
                             const st_refined **list, size_t *count,
                             st_errors *errors) ST_NODISCARD;

typedef enum st_explain_kind {
    ST_EXPLAIN_INPUT,
    ST_EXPLAIN_CELL,
    ST_EXPLAIN_FUNCTION /* a call: its formula shows its arguments' values */
} st_explain_kind;

/* A step of an explanation; texts never NULL ("" where there is none). */
typedef struct st_explanation {
    st_explain_kind kind;
    const char *name;
    const char *doc;
    const char *cite;
    const char *formula;  /* as written; an input: its job key */
    const char *numbers;  /* the formula with values in place of names; "" for an input */
    const char *provider; /* who supplied the value instead of the formula; "" normally */
    const char *refusal;  /* why the provider's formula replaces it after all; "" normally */
    const st_provider_term *terms; /* what the provider says about its value */
    size_t term_count;
    double value;         /* base units */
    double formula_value; /* what the formula alone gives; differs from value under a provider */
    st_type type;
    st_place place;
    bool shown_before;                      /* explained further up: operands are left out here */
    bool cut;                               /* has operands that the depth limit left out */
    struct st_explanation *const *operands; /* in the order in which the formula names them; an
                                               operand in an `if` branch not taken is left out */
    size_t operand_count;
    st_style style; /* in which `numbers` shows values */
} st_explanation;

/* What is to be explained, and how. */
typedef struct st_explain_view {
    const char *cell;
    int depth;      /* 0 shows the cell alone, 1 its operands, ...; negative: down to the inputs */
    st_style style; /* of numbers in formulas */
} st_explain_view;

/*
 * Explains a cell or an input for one row of inputs, from the values of the running program.
 * `depth` 0 shows the cell alone, 1 its operands, ...; negative: down to the inputs. The program
 * must have the cell among its outputs. Parts of a provider that do not sum to its value are a
 * warning.
 */
st_status st_program_explain(const st_program *program, const double *inputs, const char *cell,
                             int depth, st_arena *arena, const st_explanation **explanation,
                             st_errors *errors) ST_NODISCARD;
/* The same in a style of one's own. */
st_status st_program_explain_view(const st_program *program, const double *inputs,
                                  const st_explain_view *view, st_arena *arena,
                                  const st_explanation **explanation,
                                  st_errors *errors) ST_NODISCARD;

#endif
