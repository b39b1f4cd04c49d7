/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Laying out a run: which instructions are scalars, which are steps over blocks, in which registers
 * these keep what varies, and what becomes an output where. Conditions that are settled drop the
 * branches that no row takes.
 */
#include "program/scalar.h"
#include "program/workspace.h"

#include <string.h>

/* What the failures learn of a check, from its block or once and for all. */
static void check_output(st_workspace *workspace, uint32_t slot, size_t output,
                         const st_column *column, const st_targets *targets)
{
    size_t count = workspace->program->output_count;
    if (output < count || targets->failures == NULL)
        return;
    const st_check_codes *codes = &targets->codes[output - count];
    if (workspace->varies[slot])
        workspace->least_code = fmin(workspace->least_code, fmin(codes->failed, codes->missing));
    if (column == NULL && workspace->varies[slot]) {
        workspace->copies[workspace->copy_count++] =
            (st_copy){.step = workspace->step_count, .output = ST_VERDICTS};
        workspace->steps[workspace->step_count++] =
            (st_step){.op = ST_STEP_CHECK, .a = st_register_of(workspace, slot), .codes = codes};
        return;
    }
    workspace->fills[workspace->fill_count++] =
        (st_fill){.output = output, .is_check = true, .slot = slot, .column = column};
}

/* What outputs show of a slot: a column of the inputs, its block as it is computed, or its scalar
 * in all rows. */
static void write_outputs(st_workspace *workspace, uint32_t slot, const st_column *column,
                          const st_targets *targets)
{
    for (uint32_t next = workspace->first_output[slot]; next != 0;
         next = workspace->next_output[next - 1]) {
        check_output(workspace, slot, next - 1, column, targets);
        if (st_target_of(workspace, targets, next - 1) == NULL)
            continue;
        if (column == NULL && workspace->varies[slot]) {
            const size_t output = next - 1;
            workspace->copies[workspace->copy_count++] =
                (st_copy){.step = workspace->step_count, .output = output};
            workspace->steps[workspace->step_count++] =
                (st_step){.op = ST_STEP_COPY, .a = st_register_of(workspace, slot)};
            continue;
        }
        workspace->fills[workspace->fill_count++] =
            (st_fill){.output = next - 1, .slot = slot, .column = column};
    }
}

/* Marks the slots that an output that is written, or the failures, show; nothing else yet. */
static void need_outputs(st_workspace *workspace, const st_targets *targets)
{
    const st_program *program = workspace->program;
    memset(workspace->needed, 0, program->slot_count * sizeof *workspace->needed);
    memset(workspace->last_use, 0, program->slot_count * sizeof *workspace->last_use);
    for (size_t i = 0; i < program->output_count; i++)
        if (st_target_of(workspace, targets, i) != NULL)
            workspace->needed[program->outputs[i].slot] = true;
    for (size_t i = 0; i < program->check_count; i++)
        if (targets->failures != NULL ||
            st_target_of(workspace, targets, program->output_count + i) != NULL)
            workspace->needed[program->checks[i].slot] = true;
}

/* Whether the scalars are those of a row whose other inputs are the same, and all of them. */
static bool is_settled_row(const st_workspace *workspace, const st_column *inputs)
{
    bool same = workspace->has_row && (workspace->rerun == NULL || !workspace->rerun->is_short);
    for (size_t i = 0; i < workspace->program->sheet->input_count && same; i++)
        same = inputs[i].stride != 0 ||
               memcmp(&workspace->scalars[i], inputs[i].values, sizeof(double)) == 0;
    return same;
}

/* The same in all rows, and in all runs until the next layout. */
static bool is_settled(const st_workspace *workspace, uint32_t slot)
{
    return !workspace->varies[slot] && workspace->levels[slot] == 0;
}

/* `and` with what is false, `or` with what is true: no matter what the other operand is. */
static bool is_decided(const st_workspace *workspace, const st_instruction *instruction)
{
    double deciding = instruction->op == ST_OP_OR ? 1.0 : 0.0;
    const double *scalars = workspace->scalars;
    if (instruction->op != ST_OP_AND && instruction->op != ST_OP_OR)
        return false;
    return (is_settled(workspace, instruction->a) && scalars[instruction->a] == deciding) ||
           (is_settled(workspace, instruction->b) && scalars[instruction->b] == deciding);
}

const uint32_t *st_layout_branch(const st_workspace *workspace, const st_instruction *instruction)
{
    if (instruction->op != ST_OP_SELECT || !is_settled(workspace, instruction->c))
        return NULL;
    double condition = workspace->scalars[instruction->c];
    return condition == 1.0 ? &instruction->a : condition == 0.0 ? &instruction->b : NULL;
}

/* Whether the result differs from row to row. */
static bool result_varies(const st_workspace *workspace, const st_instruction *instruction)
{
    const bool *varies = workspace->varies;
    const st_op op = instruction->op;
    if (op == ST_OP_CALL) {
        const st_program_call *call = &workspace->program->calls[instruction->a];
        for (size_t i = 0; i < call->provider->argument_count; i++)
            if (varies[call->arguments[i]])
                return true;
        return false;
    }
    if (!varies[instruction->a] && !(op >= ST_OP_ADD && varies[instruction->b]) &&
        !(op == ST_OP_SELECT && varies[instruction->c]))
        return false;
    const uint32_t *branch = st_layout_branch(workspace, instruction);
    return branch != NULL ? varies[*branch] : !is_decided(workspace, instruction);
}

void st_layout_settle(st_workspace *workspace, const st_instruction *instruction)
{
    const uint32_t *branch = st_layout_branch(workspace, instruction);
    double *target = &workspace->scalars[instruction->target];
    if (branch != NULL)
        *target = workspace->scalars[*branch];
    else if (is_decided(workspace, instruction))
        *target = instruction->op == ST_OP_OR ? 1.0 : 0.0;
    else
        st_scalars_run_one(workspace->program, instruction, workspace->scalars);
}

static const double *operand(const st_workspace *workspace, uint32_t slot, unsigned bit,
                             unsigned *scalars)
{
    if (workspace->varies[slot])
        return st_register_of(workspace, slot);
    *scalars |= bit;
    return &workspace->scalars[slot];
}

static void add_step(st_workspace *workspace, const st_instruction *instruction)
{
    double *out = st_register_of(workspace, instruction->target);
    if (instruction->op == ST_OP_CALL) {
        workspace->turns[workspace->turn_count++] =
            (st_turn){.step = workspace->step_count,
                      .call = &workspace->program->calls[instruction->a],
                      .target = out};
        return;
    }
    const uint32_t *branch = st_layout_branch(workspace, instruction);
    if (branch != NULL) { /* the other branch was not even computed */
        workspace->steps[workspace->step_count++] =
            (st_step){.op = ST_STEP_COPY, .a = st_register_of(workspace, *branch), .out = out};
        return;
    }
    st_step step = {.op = instruction->op, .out = out};
    step.a = operand(workspace, instruction->a, ST_SCALAR_A, &step.scalars);
    if (instruction->op >= ST_OP_ADD)
        step.b = operand(workspace, instruction->b, ST_SCALAR_B, &step.scalars);
    if (instruction->op == ST_OP_SELECT)
        step.c = operand(workspace, instruction->c, ST_SCALAR_C, &step.scalars);
    workspace->steps[workspace->step_count++] = step;
}

void st_layout_visit(const st_workspace *workspace, const st_instruction *instruction,
                     void (*visit)(void *context, uint32_t slot), void *context)
{
    const uint32_t *branch = st_layout_branch(workspace, instruction);
    if (branch != NULL)
        visit(context, *branch);
    else
        st_instruction_visit(workspace->program, instruction, visit, context);
}

/* A look at the slots that an instruction reads. */
typedef struct look {
    st_workspace *workspace;
    uint32_t now; /* the instruction's index plus one */
} look;

/* From the last instruction to the first, so that the first to ask for a slot is the last to read
 * it. */
static void need(void *context, uint32_t slot)
{
    const look *search = context;
    search->workspace->needed[slot] = true;
    if (search->workspace->last_use[slot] == 0)
        search->workspace->last_use[slot] = search->now;
}

static void take_place(st_workspace *workspace, uint32_t slot)
{
    workspace->places[slot] = workspace->free_count > 0
                                  ? workspace->free_places[--workspace->free_count]
                                  : (uint32_t)workspace->place_count++;
}

static void release_place(void *context, uint32_t slot)
{
    const look *search = context;
    st_workspace *workspace = search->workspace;
    if (workspace->varies[slot] && workspace->last_use[slot] == search->now) {
        workspace->free_places[workspace->free_count++] = workspace->places[slot];
        workspace->last_use[slot] = 0; /* once only, even when it is read twice */
    }
}

/* Registers for what varies, no more than the program has for everything. */
static void assign_places(st_workspace *workspace, const st_column *inputs)
{
    const st_program *program = workspace->program;
    workspace->free_count = 0;
    workspace->place_count = 0;
    for (uint32_t slot = 0; slot < program->sheet->input_count; slot++) {
        if (workspace->varies[slot] && workspace->last_use[slot] != 0) {
            take_place(workspace, slot);
            workspace->fetches[workspace->fetch_count++].column = &inputs[slot];
        }
    }
    for (uint32_t i = 0; i < program->instruction_count; i++) {
        const st_instruction *instruction = &program->instructions[i];
        if (!workspace->needed[instruction->target] || !workspace->varies[instruction->target])
            continue;
        /* The target is taken first: a kernel never writes where it reads. */
        take_place(workspace, instruction->target);
        bool read = workspace->last_use[instruction->target] != 0;
        look search = {workspace, i + 1};
        st_layout_visit(workspace, instruction, release_place, &search);
        if (!read) { /* an output that no instruction reads: it is copied out at once */
            workspace->free_places[workspace->free_count++] =
                workspace->places[instruction->target];
        }
    }
    /* The fewer registers, the longer they may be. */
    const st_program *row_program = workspace->program;
    size_t room = (row_program->register_count + 1) * row_program->block_rows;
    size_t rows = room / (workspace->place_count + 1) / 16 * 16;
    rows = rows > ST_LAYOUT_MOST_ROWS ? ST_LAYOUT_MOST_ROWS : rows;
    workspace->block_rows = rows > row_program->block_rows ? rows : row_program->block_rows;
    for (size_t i = 0; i < workspace->fetch_count; i++) {
        st_fetch *fetch = &workspace->fetches[i];
        fetch->target = st_register_of(workspace, (uint32_t)(fetch->column - inputs));
    }
}

/* What depends on a level depends on none behind it. */
static void list_scalars(st_workspace *workspace)
{
    const st_program *program = workspace->program;
    unsigned last = 0;
    for (size_t i = 0; i < program->instruction_count; i++) {
        const unsigned level = workspace->levels[program->grouped[i].target];
        last = level > last ? level : last;
    }
    for (unsigned level = 1; level <= last; level++)
        for (size_t i = 0; i < program->instruction_count; i++) {
            const st_instruction *instruction = &program->grouped[i];
            if (workspace->needed[instruction->target] && !workspace->varies[instruction->target] &&
                workspace->levels[instruction->target] == level)
                workspace->scalar_list[workspace->scalar_count++] = *instruction;
        }
    workspace->scalar_list[workspace->scalar_count].op = ST_OP_CONSTANT;
}

void st_layout_make(st_workspace *workspace, const st_column *inputs, const st_targets *targets)
{
    const st_program *program = workspace->program;
    /* What settles is there already, and stays the row's. */
    workspace->has_row = is_settled_row(workspace, inputs);
    workspace->step_count = 0;
    workspace->fetch_count = 0;
    workspace->copy_count = 0;
    workspace->turn_count = 0;
    workspace->fill_count = 0;
    workspace->scalar_count = 0;
    workspace->scalar_input_count = 0;
    workspace->scalar_call_count = 0;
    workspace->least_code = (double)INFINITY;
    const st_program *input_program = workspace->program;
    for (uint32_t slot = 0; slot < input_program->sheet->input_count; slot++) {
        workspace->varies[slot] = inputs[slot].stride != 0;
        if (!workspace->varies[slot])
            workspace->scalars[slot] = inputs[slot].values[0];
        if (!workspace->varies[slot] && workspace->levels[slot] > 0)
            workspace->scalar_inputs[workspace->scalar_input_count++] = slot;
        write_outputs(workspace, slot, &inputs[slot], targets);
    }
    for (uint32_t slot = st_program_first_constant(input_program);
         slot < st_program_first_result(input_program); slot++)
        write_outputs(workspace, slot, NULL, targets);
    for (size_t i = 0; i < program->instruction_count; i++) {
        const st_instruction *instruction = &program->instructions[i];
        workspace->varies[instruction->target] = result_varies(workspace, instruction);
        if (!workspace->varies[instruction->target] && !workspace->has_row)
            st_layout_settle(workspace, instruction);
    }
    /* Marks what the outputs depend on once the settled conditions have chosen: steps, and
     * scalars that change with the inputs of some level. */
    need_outputs(workspace, targets);
    for (size_t i = program->instruction_count; i-- > 0;) {
        const st_instruction *instruction = &program->instructions[i];
        look search = {workspace, (uint32_t)i + 1};
        /* What is settled needs nothing any more, but for whoever asks why it has no value. */
        if (workspace->needed[instruction->target] &&
            (!is_settled(workspace, instruction->target) ||
             !isfinite(workspace->scalars[instruction->target])))
            st_layout_visit(workspace, instruction, need, &search);
    }
    assign_places(workspace, inputs);
    for (size_t i = 0; i < program->instruction_count; i++) {
        const st_instruction *instruction = &program->instructions[i];
        bool needed = workspace->needed[instruction->target];
        if (needed && workspace->varies[instruction->target])
            add_step(workspace, instruction);
        if (needed && instruction->op == ST_OP_CALL && !workspace->varies[instruction->target])
            workspace->scalar_calls[workspace->scalar_call_count++] = (uint32_t)i;
        if (workspace->first_output[instruction->target] != 0)
            write_outputs(workspace, instruction->target, NULL, targets);
    }
    list_scalars(workspace);
}
