/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running a program over rows.
 *
 * What depends on no varying input is computed once per run, as a scalar; the rest runs block by
 * block. The steps of a block (which kernel, which arrays) are laid out once per run, so a block
 * costs one loop over steps and nothing else. Results are copied to their outputs as soon as they
 * exist, which lets their registers be used again.
 */
#include "sheet/paced.h"
#include "sheet/scalar.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A column that is read into a register, block by block. */
typedef struct st_fetch {
    const st_column *column;
    double *target;
} st_fetch;

/* A step that writes an output or lowers the verdicts: its array moves along with the block. */
typedef struct st_copy {
    size_t step;
    size_t output; /* ST_VERDICTS: those */
} st_copy;

#define ST_VERDICTS SIZE_MAX

/* An output that is the same in all rows, or a column of the inputs. */
typedef struct st_fill {
    size_t output;
    bool judged; /* a check of which the verdicts learn, instead of a column of its own */
    uint32_t slot;
    const st_column *column; /* NULL: the slot's scalar */
} st_fill;

/* A provider's turn between two steps. */
typedef struct st_turn {
    size_t step; /* runs before this step */
    const st_program_call *call;
    double *target;
} st_turn;

struct st_workspace {
    const st_program *program;
    st_kernels *kernels;
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
    uint32_t *scalar_list; /* instructions that are the same for all rows, and may change */
    size_t scalar_count;
    uint8_t *levels;       /* per slot, when the inputs have levels */
    bool *needed;          /* per slot, in the current layout */
    uint32_t *next_output; /* outputs and checks of a slot, as a list: index + 1, 0 ends */
    uint32_t *first_output;
};

static st_kernels *choose_kernels(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
        return st_kernels_avx512;
    }
    if (__builtin_cpu_supports("avx2")) {
        return st_kernels_avx2;
    }
#endif
    return st_kernels_baseline;
}

/* Room for `count` blocks at a cache line's start. */
static double *allocate_blocks(size_t count, size_t rows)
{
    size_t bytes = (count + 1) * rows * sizeof(double);
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static void list_outputs(st_workspace *workspace)
{
    const st_program *program = workspace->program;
    size_t count = program->output_count + program->check_count;
    for (size_t i = count; i-- > 0;) {
        uint32_t slot = i < program->output_count ? program->outputs[i].slot
                                                  : program->checks[i - program->output_count].slot;
        workspace->next_output[i] = workspace->first_output[slot];
        workspace->first_output[slot] = (uint32_t)i + 1;
    }
}

/* Some of the memory may be missing; what there is belongs to the workspace. */
static bool is_whole(const st_workspace *workspace)
{
    const void *const parts[] = {
        workspace->scalars,   workspace->varies,      workspace->registers,    workspace->broadcast,
        workspace->arguments, workspace->steps,       workspace->fetches,      workspace->copies,
        workspace->turns,     workspace->fills,       workspace->scalar_list,  workspace->levels,
        workspace->needed,    workspace->next_output, workspace->first_output,
    };
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (parts[i] == NULL) {
            return false;
        }
    }
    return true;
}

st_workspace *st_workspace_create(const st_program *program)
{
    st_workspace *workspace = calloc(1, sizeof(*workspace));
    if (workspace == NULL) {
        return NULL;
    }
    size_t outputs = program->output_count + program->check_count;
    size_t steps = program->instruction_count + outputs;
    workspace->program = program;
    workspace->kernels = choose_kernels();
    workspace->scalars = calloc(program->slot_count + 1, sizeof(double));
    workspace->varies = calloc(program->slot_count + 1, sizeof(bool));
    workspace->registers = allocate_blocks(program->register_count, program->block_rows);
    workspace->broadcast = allocate_blocks(program->argument_count, program->block_rows);
    workspace->arguments = calloc(program->argument_count + 1, sizeof(const double *));
    workspace->steps = calloc(steps + program->check_count + 1, sizeof(st_step));
    workspace->fetches = calloc(program->sheet->input_count + 1, sizeof(st_fetch));
    workspace->copies = calloc(outputs + program->check_count + 1, sizeof(st_copy));
    workspace->turns = calloc(program->instruction_count + 1, sizeof(st_turn));
    workspace->fills = calloc(outputs + program->check_count + 1, sizeof(st_fill));
    workspace->scalar_list = calloc(program->instruction_count + 1, sizeof(uint32_t));
    workspace->levels = calloc(program->slot_count + 1, sizeof(uint8_t));
    workspace->needed = calloc(program->slot_count + 1, sizeof(bool));
    workspace->next_output = calloc(outputs + 1, sizeof(uint32_t));
    workspace->first_output = calloc(program->slot_count + 1, sizeof(uint32_t));
    if (!is_whole(workspace)) {
        st_workspace_destroy(workspace);
        return NULL;
    }
    memcpy(workspace->scalars + st_program_first_constant(program), program->constants,
           program->constant_count * sizeof(double));
    list_outputs(workspace);
    return workspace;
}

void st_workspace_destroy(st_workspace *workspace)
{
    if (workspace == NULL) {
        return;
    }
    free(workspace->scalars);
    free(workspace->varies);
    free(workspace->registers);
    free(workspace->broadcast);
    free(workspace->arguments);
    free(workspace->steps);
    free(workspace->fetches);
    free(workspace->copies);
    free(workspace->turns);
    free(workspace->fills);
    free(workspace->scalar_list);
    free(workspace->levels);
    free(workspace->needed);
    free(workspace->next_output);
    free(workspace->first_output);
    free(workspace);
}

/* --- one row --------------------------------------------------------------------------------- */

st_status st_program_run_one(const st_program *program, st_workspace *workspace,
                             const double *inputs, double *outputs, double *checks)
{
    double *scalars = workspace->scalars;
    for (size_t i = 0; i < program->sheet->input_count; i++) {
        scalars[i] = inputs[i];
    }
    st_scalars_run(program, scalars);
    for (size_t i = 0; i < program->output_count; i++) {
        outputs[i] = st_output(scalars[program->outputs[i].slot]);
    }
    for (size_t i = 0; checks != NULL && i < program->check_count; i++) {
        checks[i] = st_output(scalars[program->checks[i].slot]);
    }
    return ST_OK;
}

/* --- many rows ------------------------------------------------------------------------------- */

/* What a run writes to. */
typedef struct st_targets {
    double *const *outputs;
    double *const *checks;
    size_t rows;
    bool without_scalars; /* checks that are the same in all rows are not written */
    const st_ruling *judges;
    double *verdicts;  /* NULL: none are wanted */
    uint32_t *refused; /* see st_paced */
} st_targets;

static double *target_of(const st_workspace *workspace, const st_targets *targets, size_t output)
{
    size_t count = workspace->program->output_count;
    if (output < count) {
        return targets->outputs[output];
    }
    return targets->checks == NULL ? NULL : targets->checks[output - count];
}

static double *register_of(const st_workspace *workspace, uint32_t slot)
{
    const st_program *program = workspace->program;
    return workspace->registers + (size_t)program->registers[slot] * program->block_rows;
}

/* Rows of a column from `first` on. */
static void read_column(const st_column *column, size_t first, size_t rows, double *target)
{
    if (column->stride == 1) {
        memcpy(target, column->values + first, rows * sizeof(double));
        return;
    }
    for (size_t row = 0; row < rows; row++) {
        target[row] = column->values[(first + row) * column->stride];
    }
}

static void add_copy(st_workspace *workspace, uint32_t slot, size_t output)
{
    workspace->copies[workspace->copy_count++] =
        (st_copy){.step = workspace->step_count, .output = output};
    workspace->steps[workspace->step_count++] =
        (st_step){.op = ST_STEP_COPY, .a = register_of(workspace, slot)};
}

static void add_judge(st_workspace *workspace, uint32_t slot, const st_ruling *judge)
{
    workspace->copies[workspace->copy_count++] =
        (st_copy){.step = workspace->step_count, .output = ST_VERDICTS};
    workspace->steps[workspace->step_count++] =
        (st_step){.op = ST_STEP_JUDGE, .a = register_of(workspace, slot), .judge = judge};
}

/* What the verdicts learn of a check, from its block or once and for all. */
static void judge_output(st_workspace *workspace, uint32_t slot, size_t output,
                         const st_column *column, const st_targets *targets)
{
    size_t count = workspace->program->output_count;
    if (output < count || targets->verdicts == NULL) {
        return;
    }
    if (column == NULL && workspace->varies[slot]) {
        add_judge(workspace, slot, &targets->judges[output - count]);
        return;
    }
    workspace->fills[workspace->fill_count++] =
        (st_fill){.output = output, .judged = true, .slot = slot, .column = column};
}

/* What outputs show of a slot: a column of the inputs, its block as it is computed, or its scalar
 * in all rows. */
static void write_outputs(st_workspace *workspace, uint32_t slot, const st_column *column,
                          const st_targets *targets)
{
    for (uint32_t next = workspace->first_output[slot]; next != 0;
         next = workspace->next_output[next - 1]) {
        judge_output(workspace, slot, next - 1, column, targets);
        if (target_of(workspace, targets, next - 1) == NULL) {
            continue;
        }
        if (column == NULL && workspace->varies[slot]) {
            add_copy(workspace, slot, next - 1);
            continue;
        }
        workspace->fills[workspace->fill_count++] =
            (st_fill){.output = next - 1, .slot = slot, .column = column};
    }
}

/* What the verdicts of rows are before any step: what the checks say that need none. */
static void fill_verdicts(const st_workspace *workspace, const st_targets *targets)
{
    size_t outputs = workspace->program->output_count;
    double least = (double)INFINITY;
    for (size_t i = 0; i < workspace->fill_count; i++) {
        const st_fill *fill = &workspace->fills[i];
        if (fill->judged && fill->column == NULL) {
            double value = st_output(workspace->scalars[fill->slot]);
            least = st_judge(least, value, &targets->judges[fill->output - outputs]);
        }
    }
    for (size_t row = 0; row < targets->rows; row++) {
        targets->verdicts[row] = least;
    }
    for (size_t i = 0; i < workspace->fill_count; i++) {
        const st_fill *fill = &workspace->fills[i];
        const st_column *column = fill->column;
        for (size_t row = 0; fill->judged && column != NULL && row < targets->rows; row++) {
            targets->verdicts[row] =
                st_judge(targets->verdicts[row], column->values[row * column->stride],
                         &targets->judges[fill->output - outputs]);
        }
    }
}

/* Writes the outputs that need no steps. */
static void fill_outputs(const st_workspace *workspace, const st_targets *targets)
{
    for (size_t i = 0; i < workspace->fill_count; i++) {
        const st_fill *fill = &workspace->fills[i];
        if (fill->judged) {
            continue;
        }
        double *target = target_of(workspace, targets, fill->output);
        bool check = fill->output >= workspace->program->output_count;
        if (fill->column != NULL) {
            read_column(fill->column, 0, targets->rows, target);
            continue;
        }
        for (size_t row = 0; row < targets->rows && !(check && targets->without_scalars); row++) {
            target[row] = st_output(workspace->scalars[fill->slot]);
        }
    }
}

static void read_inputs(st_workspace *workspace, const st_column *inputs, const st_targets *targets)
{
    const st_program *program = workspace->program;
    for (uint32_t slot = 0; slot < program->sheet->input_count; slot++) {
        workspace->varies[slot] = inputs[slot].stride != 0;
        if (!workspace->varies[slot]) {
            workspace->scalars[slot] = inputs[slot].values[0];
        } else if (program->registers[slot] != ST_NO_REGISTER) {
            workspace->fetches[workspace->fetch_count++] =
                (st_fetch){.column = &inputs[slot], .target = register_of(workspace, slot)};
        }
        write_outputs(workspace, slot, &inputs[slot], targets);
    }
    for (uint32_t slot = st_program_first_constant(program);
         slot < st_program_first_result(program); slot++) {
        write_outputs(workspace, slot, NULL, targets);
    }
}

static bool operand_varies(const st_workspace *workspace, const st_instruction *instruction)
{
    const bool *varies = workspace->varies;
    if (instruction->op == ST_OP_CALL) {
        const st_program_call *call = &workspace->program->calls[instruction->a];
        for (size_t i = 0; i < call->provider->argument_count; i++) {
            if (varies[call->arguments[i]]) {
                return true;
            }
        }
        return false;
    }
    return varies[instruction->a] || (instruction->op >= ST_OP_ADD && varies[instruction->b]) ||
           (instruction->op == ST_OP_SELECT && varies[instruction->c]);
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
    if (instruction->op != ST_OP_AND && instruction->op != ST_OP_OR) {
        return false;
    }
    return (is_settled(workspace, instruction->a) && scalars[instruction->a] == deciding) ||
           (is_settled(workspace, instruction->b) && scalars[instruction->b] == deciding);
}

/* The branch that a settled condition takes; NULL where it takes none or is not settled. */
static const uint32_t *branch_of(const st_workspace *workspace, const st_instruction *instruction)
{
    if (instruction->op != ST_OP_SELECT || !is_settled(workspace, instruction->c)) {
        return NULL;
    }
    double condition = workspace->scalars[instruction->c];
    return condition == 1.0 ? &instruction->a : condition == 0.0 ? &instruction->b : NULL;
}

/* Whether the result differs from row to row. */
static bool result_varies(const st_workspace *workspace, const st_instruction *instruction)
{
    const uint32_t *branch = branch_of(workspace, instruction);
    if (branch != NULL) {
        return workspace->varies[*branch];
    }
    return !is_decided(workspace, instruction) && operand_varies(workspace, instruction);
}

/* The value of an instruction whose result is the same in all rows. */
static void settle(st_workspace *workspace, const st_instruction *instruction)
{
    const uint32_t *branch = branch_of(workspace, instruction);
    double *target = &workspace->scalars[instruction->target];
    if (branch != NULL) {
        *target = workspace->scalars[*branch];
    } else if (is_decided(workspace, instruction)) {
        *target = instruction->op == ST_OP_OR ? 1.0 : 0.0;
    } else {
        st_scalars_run_one(workspace->program, instruction, workspace->scalars);
    }
}

static const double *operand(const st_workspace *workspace, uint32_t slot, unsigned bit,
                             unsigned *scalars)
{
    if (workspace->varies[slot]) {
        return register_of(workspace, slot);
    }
    *scalars |= bit;
    return &workspace->scalars[slot];
}

static void add_step(st_workspace *workspace, const st_instruction *instruction)
{
    double *out = register_of(workspace, instruction->target);
    if (instruction->op == ST_OP_CALL) {
        workspace->turns[workspace->turn_count++] =
            (st_turn){.step = workspace->step_count,
                      .call = &workspace->program->calls[instruction->a],
                      .target = out};
        return;
    }
    const uint32_t *branch = branch_of(workspace, instruction);
    if (branch != NULL) { /* the other branch was not even computed */
        workspace->steps[workspace->step_count++] =
            (st_step){.op = ST_STEP_COPY, .a = register_of(workspace, *branch), .out = out};
        return;
    }
    st_step step = {.op = instruction->op, .out = out};
    step.a = operand(workspace, instruction->a, ST_SCALAR_A, &step.scalars);
    if (instruction->op >= ST_OP_ADD) {
        step.b = operand(workspace, instruction->b, ST_SCALAR_B, &step.scalars);
    }
    if (instruction->op == ST_OP_SELECT) {
        step.c = operand(workspace, instruction->c, ST_SCALAR_C, &step.scalars);
    }
    workspace->steps[workspace->step_count++] = step;
}

static void need(st_workspace *workspace, uint32_t slot)
{
    workspace->needed[slot] = true;
}

static void need_operands(st_workspace *workspace, const st_instruction *instruction)
{
    const uint32_t *branch = branch_of(workspace, instruction);
    if (branch != NULL) {
        need(workspace, *branch);
        return;
    }
    if (instruction->op == ST_OP_CALL) {
        const st_program_call *call = &workspace->program->calls[instruction->a];
        for (size_t i = 0; i < call->provider->argument_count; i++) {
            need(workspace, call->arguments[i]);
        }
        return;
    }
    need(workspace, instruction->a);
    if (instruction->op >= ST_OP_ADD) {
        need(workspace, instruction->b);
    }
    if (instruction->op == ST_OP_SELECT) {
        need(workspace, instruction->c);
    }
}

/* Marks what the outputs hang on once the settled conditions have chosen: steps, and scalars that
 * change with the inputs of some level. */
static void mark_needed(st_workspace *workspace)
{
    const st_program *program = workspace->program;
    for (size_t i = 0; i < program->slot_count; i++) {
        workspace->needed[i] = workspace->first_output[i] != 0;
    }
    for (size_t i = program->instruction_count; i-- > 0;) {
        const st_instruction *instruction = &program->instructions[i];
        if (workspace->needed[instruction->target] && !is_settled(workspace, instruction->target)) {
            need_operands(workspace, instruction);
        }
    }
}

/*
 * Computes what is the same for all rows and lays out the steps for the rest, without those in
 * branches that no row takes.
 */
static void prepare(st_workspace *workspace, const st_column *inputs, const st_targets *targets)
{
    const st_program *program = workspace->program;
    workspace->step_count = 0;
    workspace->fetch_count = 0;
    workspace->copy_count = 0;
    workspace->turn_count = 0;
    workspace->fill_count = 0;
    workspace->scalar_count = 0;
    read_inputs(workspace, inputs, targets);
    for (size_t i = 0; i < program->instruction_count; i++) {
        const st_instruction *instruction = &program->instructions[i];
        workspace->varies[instruction->target] = result_varies(workspace, instruction);
        if (!workspace->varies[instruction->target]) {
            settle(workspace, instruction);
        }
    }
    mark_needed(workspace);
    for (size_t i = 0; i < program->instruction_count; i++) {
        const st_instruction *instruction = &program->instructions[i];
        bool needed = workspace->needed[instruction->target];
        if (needed && workspace->varies[instruction->target]) {
            add_step(workspace, instruction);
        } else if (needed && !is_settled(workspace, instruction->target)) {
            workspace->scalar_list[workspace->scalar_count++] = (uint32_t)i;
        }
        write_outputs(workspace, instruction->target, NULL, targets);
    }
}

/* 1 + the number of a provider in the program's options; 0 where it need not answer for a NaN. */
static uint32_t number_of(const st_program *program, const st_provider *provider)
{
    for (size_t i = 0; i < program->options.provider_count && !provider->fallback; i++) {
        if (program->options.providers[i] == provider) {
            return (uint32_t)i + 1;
        }
    }
    return 0;
}

/* Rows without a value although all that was asked has one. */
static void note_refusals(const st_workspace *workspace, const st_turn *turn, size_t rows,
                          uint32_t *refused)
{
    uint32_t number = number_of(workspace->program, turn->call->provider);
    for (size_t row = 0; row < rows && number != 0; row++) {
        bool refuses = !isfinite(turn->target[row]) && refused[row] == 0;
        for (size_t i = 0; refuses && i < turn->call->provider->argument_count; i++) {
            refuses = isfinite(workspace->arguments[i][row]);
        }
        refused[row] = refuses ? number : refused[row];
    }
}

/* The same of calls that are the same in all rows. */
static void note_scalar_refusals(const st_workspace *workspace, const st_targets *targets)
{
    const st_program *program = workspace->program;
    uint32_t number = 0;
    for (size_t i = 0; i < workspace->scalar_count && number == 0; i++) {
        const st_instruction *instruction = &program->instructions[workspace->scalar_list[i]];
        if (instruction->op != ST_OP_CALL || isfinite(workspace->scalars[instruction->target])) {
            continue;
        }
        const st_program_call *call = &program->calls[instruction->a];
        bool refuses = true;
        for (size_t k = 0; refuses && k < call->provider->argument_count; k++) {
            refuses = isfinite(workspace->scalars[call->arguments[k]]);
        }
        number = refuses ? number_of(program, call->provider) : 0;
    }
    for (size_t row = 0; row < targets->rows && number != 0; row++) {
        targets->refused[row] = targets->refused[row] == 0 ? number : targets->refused[row];
    }
}

static void run_turn(st_workspace *workspace, const st_turn *turn, size_t rows)
{
    const st_program_call *call = turn->call;
    for (size_t i = 0; i < call->provider->argument_count; i++) {
        uint32_t slot = call->arguments[i];
        double *block = workspace->broadcast + i * workspace->program->block_rows;
        if (workspace->varies[slot]) {
            workspace->arguments[i] = register_of(workspace, slot);
            continue;
        }
        for (size_t row = 0; row < rows; row++) {
            block[row] = workspace->scalars[slot];
        }
        workspace->arguments[i] = block;
    }
    st_provider_call(call->provider, rows, workspace->arguments, turn->target);
}

static void run_block(st_workspace *workspace, const st_targets *targets, size_t first_row,
                      size_t rows)
{
    for (size_t i = 0; i < workspace->fetch_count; i++) {
        const st_fetch *fetch = &workspace->fetches[i];
        read_column(fetch->column, first_row, rows, fetch->target);
    }
    for (size_t i = 0; i < workspace->copy_count; i++) {
        const st_copy *copy = &workspace->copies[i];
        double *target = copy->output == ST_VERDICTS ? targets->verdicts
                                                     : target_of(workspace, targets, copy->output);
        workspace->steps[copy->step].out = target + first_row;
    }
    size_t done = 0;
    for (size_t i = 0; i < workspace->turn_count; i++) {
        const st_turn *turn = &workspace->turns[i];
        workspace->kernels(workspace->steps + done, turn->step - done, rows);
        run_turn(workspace, turn, rows);
        if (targets->refused != NULL) {
            note_refusals(workspace, turn, rows, targets->refused + first_row);
        }
        done = turn->step;
    }
    workspace->kernels(workspace->steps + done, workspace->step_count - done, rows);
}

/* The rows of a run that is laid out. */
static void run_rows(st_workspace *workspace, const st_targets *targets)
{
    size_t block_rows = workspace->program->block_rows;
    fill_outputs(workspace, targets);
    if (targets->verdicts != NULL) {
        fill_verdicts(workspace, targets);
    }
    for (size_t row = 0; row < targets->rows; row += block_rows) {
        size_t left = targets->rows - row;
        run_block(workspace, targets, row, left < block_rows ? left : block_rows);
    }
}

st_status st_program_run(const st_program *program, st_workspace *workspace,
                         const st_column *inputs, size_t rows, double *const *outputs,
                         double *const *checks)
{
    st_targets targets = {.outputs = outputs, .checks = checks, .rows = rows};
    if (rows == 0) {
        return ST_OK;
    }
    prepare(workspace, inputs, &targets);
    (void)program;
    run_rows(workspace, &targets);
    return ST_OK;
}

/* --- rows at several paces ------------------------------------------------------------------- */

static uint8_t higher(uint8_t a, uint8_t b)
{
    return a > b ? a : b;
}

static uint8_t level_of(const st_workspace *workspace, const st_instruction *instruction)
{
    const uint8_t *levels = workspace->levels;
    uint8_t level = 0;
    if (instruction->op == ST_OP_CALL) {
        const st_program_call *call = &workspace->program->calls[instruction->a];
        for (size_t i = 0; i < call->provider->argument_count; i++) {
            level = higher(level, levels[call->arguments[i]]);
        }
        return level;
    }
    level = levels[instruction->a];
    level = instruction->op >= ST_OP_ADD ? higher(level, levels[instruction->b]) : level;
    return instruction->op == ST_OP_SELECT ? higher(level, levels[instruction->c]) : level;
}

void st_paced_begin(st_workspace *workspace, const uint8_t *input_levels)
{
    const st_program *program = workspace->program;
    memset(workspace->levels, 0, program->slot_count * sizeof(uint8_t));
    memcpy(workspace->levels, input_levels, program->sheet->input_count * sizeof(uint8_t));
    for (size_t i = 0; i < program->instruction_count; i++) {
        const st_instruction *instruction = &program->instructions[i];
        workspace->levels[instruction->target] = level_of(workspace, instruction);
    }
}

/* Scalars of a level that has changed, or of a faster one. */
static void renew_scalars(st_workspace *workspace, const st_column *inputs, unsigned level)
{
    const st_program *program = workspace->program;
    for (size_t i = 0; i < program->sheet->input_count; i++) {
        if (!workspace->varies[i] && workspace->levels[i] >= level) {
            workspace->scalars[i] = inputs[i].values[0];
        }
    }
    for (size_t i = 0; i < workspace->scalar_count; i++) {
        const st_instruction *instruction = &program->instructions[workspace->scalar_list[i]];
        if (workspace->levels[instruction->target] >= level) {
            settle(workspace, instruction);
        }
    }
}

void st_paced_run(st_workspace *workspace, const st_paced *run)
{
    st_targets targets = {.outputs = run->outputs,
                          .checks = run->checks,
                          .rows = run->rows,
                          .without_scalars = true,
                          .judges = run->judges,
                          .verdicts = run->verdicts,
                          .refused = run->refused};
    if (run->rows == 0) {
        return;
    }
    if (run->level == 0) {
        prepare(workspace, run->inputs, &targets);
    } else {
        renew_scalars(workspace, run->inputs, run->level);
    }
    if (run->refused != NULL) {
        memset(run->refused, 0, run->rows * sizeof *run->refused);
    }
    run_rows(workspace, &targets);
    if (run->refused != NULL) {
        note_scalar_refusals(workspace, &targets);
    }
}

bool st_paced_scalar_check(const st_workspace *workspace, size_t check, double *value)
{
    uint32_t slot = workspace->program->checks[check].slot;
    *value = st_output(workspace->scalars[slot]);
    return !workspace->varies[slot];
}

size_t st_paced_operations(const st_workspace *workspace, unsigned level)
{
    const st_program *program = workspace->program;
    size_t count = 0;
    for (size_t i = 0; i < program->instruction_count; i++) {
        count += workspace->levels[program->instructions[i].target] == level ? 1 : 0;
    }
    return count;
}
