/* SPDX-License-Identifier: Apache-2.0 */
/* A workspace from the inside; used by run.c, which runs what layout.c lays out. */
#ifndef STEPTIME_PROGRAM_WORKSPACE_H
#define STEPTIME_PROGRAM_WORKSPACE_H

#include "program/instructions.h"

/* Rows of a block, unless a program has so few registers that it has chosen more. */
enum { ST_LAYOUT_MOST_ROWS = 256 };

/* A column that is read into a register, block by block. */
typedef struct st_fetch {
    const st_column *column;
    double *target;
} st_fetch;

/* A step that writes an output or lowers the failures: its array moves along with the block. */
typedef struct st_copy {
    size_t step;
    size_t output; /* ST_VERDICTS: those */
} st_copy;

#define ST_VERDICTS SIZE_MAX

/* An output that is the same in all rows, or a column of the inputs. */
typedef struct st_fill {
    size_t output;
    bool is_check; /* a check that reports to the failures, instead of a column of its own */
    uint32_t slot;
    const st_column *column; /* NULL: the slot's scalar */
} st_fill;

/* A provider's turn between two steps. */
typedef struct st_turn {
    size_t step; /* runs before this step */
    const st_program_call *call;
    double *target;
} st_turn;

typedef struct st_product_layout st_product_layout;
typedef struct st_alike st_alike;

/* Rows that run again; see rerun.c. */
typedef struct st_rerun {
    st_instruction **dependents; /* per input; NULL: not listed yet */
    size_t *counts;
    uint64_t *reaches;    /* per input: the instructions that depend on it, a bit each */
    st_instruction *rest; /* of which short lists are made; see st_alike_rest */
    bool *has_changed;    /* per input, ever */
    bool *is_switch;      /* per input: short lists count on its value */
    bool is_short;
    size_t rows; /* since the lists were whole */
} st_rerun;

struct st_workspace {
    const st_program *program;
    st_product_layout *product; /* NULL: rows come one by one */
    st_kernels *kernels;
    st_alike *alike;   /* NULL: none yet; see alike.h */
    bool has_alike;    /* a single row has run */
    bool has_row;      /* of st_program_run_again: the scalars are those of its last row */
    st_rerun *rerun;   /* NULL: no row was run again */
    double *scalars;   /* per slot */
    bool *varies;      /* per slot, in the current run */
    double *registers; /* register_count blocks */
    double *broadcast; /* argument_count blocks, for providers */
    const double **arguments;
    st_step *steps;
    size_t step_count;
    st_fetch *fetches;
    size_t fetch_count;
    st_copy *copies;
    size_t copy_count;
    st_turn *turns;
    size_t turn_count;
    st_fill *fills;
    size_t fill_count;
    /* Instructions that are the same for all rows, and may change: by level, and in one level in
     * the order of single rows; one of ST_OP_CONSTANT ends them. */
    st_instruction *scalar_list;
    size_t scalar_count;
    uint32_t *scalar_inputs; /* inputs of the same kind */
    size_t scalar_input_count;
    uint32_t *scalar_calls; /* calls that are the same in all rows, as instructions */
    size_t scalar_call_count;
    uint8_t *levels;       /* per slot, when the inputs have levels */
    bool *needed;          /* per slot, in the current layout */
    uint32_t *places;      /* per slot: its register, in the current layout */
    uint32_t *last_use;    /* per slot: instruction + 1 that reads it last */
    uint32_t *free_places; /* registers that nobody lives in */
    size_t free_count;
    size_t place_count;
    size_t block_rows;     /* of the current layout */
    double least_code;     /* of checks that differ from row to row; infinity: there are none */
    uint32_t *next_output; /* outputs and checks of a slot, as a list: index + 1, 0 ends */
    uint32_t *first_output;
};

/* What a run writes to. */
typedef struct st_targets {
    double *const *outputs;
    double *const *checks;
    size_t rows;
    bool without_scalars; /* checks that are the same in all rows are not written */
    const st_check_codes *codes;
    double *failures;  /* NULL: none are wanted */
    uint32_t *refused; /* see st_paced */
} st_targets;

static inline double *st_target_of(const st_workspace *workspace, const st_targets *targets,
                                   size_t output)
{
    size_t count = workspace->program->output_count;
    if (output < count)
        return targets->outputs == NULL ? NULL : targets->outputs[output];
    return targets->checks == NULL ? NULL : targets->checks[output - count];
}

static inline double *st_register_of(const st_workspace *workspace, uint32_t slot)
{
    return workspace->registers + (size_t)workspace->places[slot] * workspace->block_rows;
}

/*
 * Computes what is the same for all rows and lays out the steps for the rest, without those in
 * branches that no row takes.
 */
void st_layout_make(st_workspace *workspace, const st_column *inputs, const st_targets *targets);

/* Lists are made again where they are asked for. */
void st_rerun_drop(st_rerun *rerun, size_t input_count);
void st_rerun_destroy(st_rerun *rerun, size_t input_count); /* NULL is fine */

/* The branch that a settled condition takes; NULL where it takes none or is not settled. */
const uint32_t *st_layout_branch(const st_workspace *workspace, const st_instruction *instruction);
/* Every slot that an instruction reads, but those of branches that are not taken. */
void st_layout_visit(const st_workspace *workspace, const st_instruction *instruction,
                     void (*visit)(void *context, uint32_t slot), void *context);

/* The value of an instruction whose result is the same in all rows. */
void st_layout_settle(st_workspace *workspace, const st_instruction *instruction);

#endif
