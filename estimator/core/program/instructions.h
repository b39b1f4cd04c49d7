/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program from the inside.
 *
 * Slots number everything that an instruction can read: the sheet's inputs, the constants, then one
 * per instruction. A slot of an input or an instruction also has a register, a block of rows that
 * is shared by slots whose lives do not meet.
 */
#ifndef STEPTIME_PROGRAM_INSTRUCTIONS_H
#define STEPTIME_PROGRAM_INSTRUCTIONS_H

#include "program/blocks.h"
#include "program/lower.h"

#define ST_NO_REGISTER UINT32_MAX

typedef struct st_instruction {
    st_op op;
    uint32_t target; /* slot */
    uint32_t a;      /* slots; for a call the index in `calls` */
    uint32_t b;
    uint32_t c;
} st_instruction;

typedef struct st_program_output {
    const char *name; /* NULL for a check */
    const st_type *type;
    uint32_t slot;
} st_program_output;

typedef struct st_program_call {
    const st_provider *provider;
    uint32_t *arguments; /* slots */
    uint32_t target;     /* slot */
    bool runs;           /* some value needs it */
    bool is_nested;      /* it reads what a provider that puts off has answered */
} st_program_call;

struct st_program {
    const st_sheet *sheet;
    st_program_options options;   /* for compiling again when something is to be explained */
    st_instruction *instructions; /* in the graph's order, for blocks; each of the two lists
                                     is ended by one of ST_OP_CONSTANT */
    st_instruction *grouped;      /* by operation, for single rows; the same where they are few */
    size_t instruction_count;
    double *constants;
    size_t constant_count;
    size_t slot_count;
    uint32_t *registers; /* per slot where everything varies: how many a run needs at most */
    size_t register_count;
    size_t block_rows;
    st_program_output *outputs;
    size_t output_count;
    st_program_output *checks; /* as many as the sheet has, or none */
    size_t check_count;
    st_program_call *calls;
    size_t call_count;
    size_t argument_count; /* of the call with most arguments */
};

/* Fills program->grouped; false when out of memory. */
bool st_program_group(st_program *program, st_arena *arena) ST_NODISCARD;

/* Fills is_nested of all calls; false when out of memory. */
bool st_program_find_nested(st_program *program, st_arena *arena) ST_NODISCARD;

/* Every slot that an instruction reads. */
void st_instruction_visit(const st_program *program, const st_instruction *instruction,
                          void (*visit)(void *context, uint32_t slot), void *context);

static inline uint32_t st_program_first_constant(const st_program *program)
{
    return (uint32_t)program->sheet->input_count;
}

static inline uint32_t st_program_first_result(const st_program *program)
{
    return (uint32_t)(program->sheet->input_count + program->constant_count);
}

#endif
