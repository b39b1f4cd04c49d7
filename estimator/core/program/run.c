/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running a program over rows.
 *
 * What depends on no varying input is computed once per run, as a scalar; the rest runs block by
 * block. The steps of a block (which kernel, which arrays) are laid out once per run, with
 * registers for what varies in it alone, so a block costs one loop over steps and nothing else.
 * Results are copied to their outputs as soon as they exist, which lets their registers be used
 * again.
 */
#include "program/alike.h"
#include "program/row_product.h"
#include "program/rates.h"
#include "program/scalar.h"
#include "program/workspace.h"

#include "base/lists.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__) && __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#endif

/* The C library has asked the processor already, which in a virtual machine takes microseconds for
 * each question. Its own macro shifts a sign bit. */
#ifdef CPU_FEATURE_ACTIVE
static bool is_active(unsigned feature)
{
    enum { BITS = 32, REGISTERS = 4 };
    const unsigned bit = feature % (BITS * REGISTERS);
    const struct cpuid_feature *leaf = __x86_get_cpuid_feature_leaf(feature / (BITS * REGISTERS));
    return (leaf->active_array[bit / BITS] >> bit % BITS & 1U) != 0;
}
#define HAS(name, text) is_active(x86_cpu_##name)
#else
#define HAS(name, text) __builtin_cpu_supports(text)
#endif

static st_kernels *choose_kernels(void)
{
#if defined(__x86_64__)
    if (HAS(AVX512F, "avx512f") && HAS(AVX512DQ, "avx512dq") && HAS(AVX512VL, "avx512vl"))
        return st_kernels_avx512;
    if (HAS(AVX2, "avx2"))
        return st_kernels_avx2;
#endif
    return st_kernels_baseline;
}

/* Room for `count` blocks at a cache line's start. */
static double *allocate_blocks(size_t count, size_t rows)
{
    size_t bytes = (count + 1) * rows * sizeof(double);
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

st_workspace *st_workspace_create(const st_program *program)
{
    st_workspace *workspace = calloc(1, sizeof(*workspace));
    if (workspace == NULL)
        return NULL;
    size_t outputs = program->output_count + program->check_count;
    size_t steps = program->instruction_count + outputs;
    workspace->program = program;
    workspace->kernels = choose_kernels();
    workspace->scalars = calloc(program->slot_count + 1, sizeof(double));
    workspace->varies = calloc(program->slot_count + 1, sizeof(bool));
    workspace->registers = allocate_blocks(program->register_count, program->block_rows);
    workspace->broadcast = allocate_blocks(
        program->argument_count + 1, /* and the failures of a block that runs again */
        program->block_rows > ST_LAYOUT_MOST_ROWS ? program->block_rows : ST_LAYOUT_MOST_ROWS);
    workspace->arguments = calloc(program->argument_count + 1, sizeof(const double *));
    workspace->steps = malloc((steps + program->check_count + 1) * sizeof(st_step));
    workspace->fetches = malloc((program->sheet->input_count + 1) * sizeof(st_fetch));
    workspace->copies = malloc((outputs + program->check_count + 1) * sizeof(st_copy));
    workspace->turns = malloc((program->instruction_count + 1) * sizeof(st_turn));
    workspace->fills = malloc((outputs + program->check_count + 1) * sizeof(st_fill));
    workspace->scalar_list = malloc((program->instruction_count + 1) * sizeof(st_instruction));
    workspace->scalar_inputs = malloc((program->sheet->input_count + 1) * sizeof(uint32_t));
    workspace->scalar_calls = malloc((program->call_count + 1) * sizeof(uint32_t));
    workspace->levels = calloc(program->slot_count + 1, sizeof(uint8_t));
    workspace->needed = malloc((program->slot_count + 1) * sizeof(bool));
    workspace->places = malloc((program->slot_count + 1) * sizeof(uint32_t));
    workspace->last_use = malloc((program->slot_count + 1) * sizeof(uint32_t));
    workspace->free_places = malloc((program->slot_count + 1) * sizeof(uint32_t));
    workspace->next_output = calloc(outputs + 1, sizeof(uint32_t));
    workspace->first_output = calloc(program->slot_count + 1, sizeof(uint32_t));
    /* Some of the memory may be missing; what there is belongs to the workspace. */
    bool is_whole = true;
    const void *const parts[] = {
        workspace->scalars,   workspace->varies,   workspace->registers,   workspace->broadcast,
        workspace->arguments, workspace->steps,    workspace->fetches,     workspace->copies,
        workspace->turns,     workspace->fills,    workspace->scalar_list, workspace->scalar_calls,
        workspace->levels,    workspace->needed,   workspace->next_output, workspace->first_output,
        workspace->places,    workspace->last_use, workspace->free_places, workspace->scalar_inputs,
    };
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (parts[i] == NULL) {
            is_whole = false;
            break;
        }
    if (!is_whole) {
        st_workspace_destroy(workspace);
        return NULL;
    }
    memcpy(workspace->scalars + st_program_first_constant(program), program->constants,
           program->constant_count * sizeof(double));
    const st_program *output_program = workspace->program;
    size_t count = output_program->output_count + output_program->check_count;
    for (size_t i = count; i-- > 0;) {
        uint32_t slot = i < output_program->output_count
                            ? output_program->outputs[i].slot
                            : output_program->checks[i - output_program->output_count].slot;
        workspace->next_output[i] = workspace->first_output[slot];
        workspace->first_output[slot] = (uint32_t)i + 1;
    }
    return workspace;
}

void st_rerun_drop(st_rerun *rerun, size_t input_count)
{
    for (size_t i = 0; i < input_count && rerun->dependents != NULL; i++) {
        free(rerun->dependents[i]);
        rerun->dependents[i] = NULL;
    }
}

void st_rerun_destroy(st_rerun *rerun, size_t input_count)
{
    if (rerun == NULL)
        return;
    st_rerun_drop(rerun, input_count);
    free(rerun->dependents);
    free(rerun->counts);
    free(rerun->reaches);
    free(rerun->rest);
    free(rerun->has_changed);
    free(rerun->is_switch);
    free(rerun);
}

void st_workspace_destroy(st_workspace *workspace)
{
    if (workspace == NULL)
        return;
    st_product_destroy(workspace->product);
    st_alike_destroy(workspace->alike);
    st_rerun_destroy(workspace->rerun, workspace->program->sheet->input_count);
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
    free(workspace->scalar_inputs);
    free(workspace->scalar_calls);
    free(workspace->levels);
    free(workspace->needed);
    free(workspace->places);
    free(workspace->last_use);
    free(workspace->free_places);
    free(workspace->next_output);
    free(workspace->first_output);
    free(workspace);
}

/* --- one row --------------------------------------------------------------------------------- */

void st_scalars_give(const st_program *program, const double *scalars, double *outputs,
                     double *checks)
{
    for (size_t i = 0; i < program->output_count; i++)
        outputs[i] = st_output(scalars[program->outputs[i].slot]);
    for (size_t i = 0; checks != NULL && i < program->check_count; i++)
        checks[i] = st_output(scalars[program->checks[i].slot]);
}

st_status st_program_run_one(const st_program *program, st_workspace *workspace,
                             const double *inputs, double *outputs, double *checks)
{
    double *scalars = workspace->scalars;
    workspace->has_row = false;
    const st_instruction *list = st_alike_list(workspace, inputs);
    for (size_t i = 0; i < program->sheet->input_count; i++)
        scalars[i] = inputs[i];
    st_scalars_run(program, list, scalars);
    st_scalars_give(program, scalars, outputs, checks);
    return ST_OK;
}

/* --- many rows ------------------------------------------------------------------------------- */

/* Rows of a column from `first` on. */
static void read_column(const st_column *column, size_t first, size_t rows, double *target)
{
    if (column->stride == 1) {
        memcpy(target, column->values + first, rows * sizeof(double));
        return;
    }
    for (size_t row = 0; row < rows; row++)
        target[row] = column->values[(first + row) * column->stride];
}

/* 1 + the number of a provider in the program's options; 0 where it need not answer for a NaN. */
static uint32_t number_of(const st_program *program, const st_provider *provider)
{
    for (size_t i = 0; i < program->options.provider_count && !provider->fallback; i++)
        if (program->options.providers[i] == provider)
            return (uint32_t)i + 1;
    return 0;
}

/* Whether all providers have answered; with `puts_off` some may have put off what they are asked.
 */
static bool run_steps(st_workspace *workspace, const st_targets *targets, size_t first_row,
                      size_t rows, bool puts_off)
{
    size_t done = 0;
    bool is_whole = true;
    for (size_t i = 0; i < workspace->fetch_count; i++) {
        const st_fetch *fetch = &workspace->fetches[i];
        read_column(fetch->column, first_row, rows, fetch->target);
    }
    for (size_t i = 0; i < workspace->turn_count; i++) {
        const st_turn *turn = &workspace->turns[i];
        workspace->kernels(workspace->steps + done, turn->step - done, rows);
        const st_program_call *call = turn->call;
        const st_provider *provider = call->provider;
        for (size_t j = 0; j < provider->argument_count; j++) {
            uint32_t slot = call->arguments[j];
            double *block = workspace->broadcast + j * workspace->block_rows;
            if (workspace->varies[slot]) {
                workspace->arguments[j] = st_register_of(workspace, slot);
                continue;
            }
            for (size_t row = 0; row < rows; row++)
                block[row] = workspace->scalars[slot];
            workspace->arguments[j] = block;
        }
        const bool waits =
            puts_off && ((call->is_nested && !is_whole) ||
                         (provider->put_off != NULL &&
                          provider->put_off(provider->self, rows, workspace->arguments)));
        for (size_t row = 0; row < rows && waits; row++)
            turn->target[row] = (double)NAN;
        is_whole = is_whole && !waits;
        if (!waits)
            st_provider_call(provider, rows, workspace->arguments, turn->target);
        if (targets->refused != NULL && is_whole) {
            /* Rows without a value although all that was asked has one. */
            uint32_t *refused = targets->refused + first_row;
            uint32_t number = number_of(workspace->program, provider);
            for (size_t row = 0; row < rows && number != 0; row++) {
                bool refuses = !isfinite(turn->target[row]) && refused[row] == 0;
                for (size_t j = 0; refuses && j < provider->argument_count; j++)
                    refuses = isfinite(workspace->arguments[j][row]);
                refused[row] = refuses ? number : refused[row];
            }
        }
        done = turn->step;
    }
    workspace->kernels(workspace->steps + done, workspace->step_count - done, rows);
    return is_whole;
}

static void run_block(st_workspace *workspace, const st_targets *targets, size_t first_row,
                      size_t rows)
{
    enum { MOST_PASSES = 4 }; /* calls of calls of calls; what is left is asked one by one */
    const st_provider *slow = NULL;
    for (size_t i = 0; i < workspace->copy_count; i++) {
        const st_copy *copy = &workspace->copies[i];
        double *target = copy->output == ST_VERDICTS
                             ? targets->failures
                             : st_target_of(workspace, targets, copy->output);
        workspace->steps[copy->step].out = target + first_row;
    }
    for (size_t i = 0; i < workspace->turn_count && slow == NULL; i++)
        if (workspace->turns[i].call->provider->put_off != NULL)
            slow = workspace->turns[i].call->provider;
    double *failures = targets->failures != NULL ? targets->failures + first_row : NULL;
    double *kept =
        workspace->broadcast + workspace->program->argument_count * workspace->block_rows;
    if (slow != NULL && failures != NULL)
        memcpy(kept, failures, rows * sizeof *kept);
    unsigned passes = slow != NULL ? MOST_PASSES : 1;
    while (!run_steps(workspace, targets, first_row, rows, passes > 1) && slow != NULL) {
        passes = slow->catch_up(slow->self) ? passes - 1 : 1;
        if (failures != NULL)
            memcpy(failures, kept, rows * sizeof *kept);
    }
}

/* What the failures of rows are before any step: what the checks say that need none. Whether this
 * is all that is asked, since no check that needs steps comes before it. */
static bool start_failures(const st_workspace *workspace, const st_targets *targets)
{
    size_t outputs = workspace->program->output_count;
    double least = (double)INFINITY;
    for (size_t i = 0; i < workspace->fill_count; i++) {
        const st_fill *fill = &workspace->fills[i];
        if (fill->is_check && fill->column == NULL) {
            double value = st_output(workspace->scalars[fill->slot]);
            least = st_check_apply(least, value, &targets->codes[fill->output - outputs]);
        }
    }
    for (size_t row = 0; row < targets->rows; row++)
        targets->failures[row] = least;
    if (least <= workspace->least_code && targets->outputs == NULL && targets->checks == NULL &&
        targets->refused == NULL)
        return true;
    for (size_t i = 0; i < workspace->fill_count; i++) {
        const st_fill *fill = &workspace->fills[i];
        const st_column *column = fill->column;
        for (size_t row = 0; fill->is_check && column != NULL && row < targets->rows; row++)
            targets->failures[row] =
                st_check_apply(targets->failures[row], column->values[row * column->stride],
                               &targets->codes[fill->output - outputs]);
    }
    return false;
}

/* The rows of a run that is laid out. */
static void run_rows(st_workspace *workspace, const st_targets *targets, const st_product *product)
{
    size_t block_rows = workspace->block_rows;
    /* Writes the outputs that need no steps. */
    for (size_t i = 0; i < workspace->fill_count; i++) {
        const st_fill *fill = &workspace->fills[i];
        if (fill->is_check)
            continue;
        double *target = st_target_of(workspace, targets, fill->output);
        bool check = fill->output >= workspace->program->output_count;
        if (fill->column != NULL) {
            read_column(fill->column, 0, targets->rows, target);
            continue;
        }
        for (size_t row = 0; row < targets->rows && !(check && targets->without_scalars); row++)
            target[row] = st_output(workspace->scalars[fill->slot]);
    }
    if (targets->failures != NULL && start_failures(workspace, targets))
        return;
    if (product != NULL) {
        st_product_run(workspace->product, workspace, product, targets);
        return;
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
    if (rows == 0)
        return ST_OK;
    st_alike_forget(workspace);
    st_layout_make(workspace, inputs, &targets);
    (void)program;
    run_rows(workspace, &targets, NULL);
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
        for (size_t i = 0; i < call->provider->argument_count; i++)
            level = higher(level, levels[call->arguments[i]]);
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

bool st_paced_product(st_workspace *workspace, const uint8_t *input_lists, size_t list_count,
                      size_t most_rows)
{
    st_product_destroy(workspace->product);
    workspace->product = st_product_create(workspace->program, input_lists, list_count, most_rows);
    return workspace->product != NULL;
}

void st_paced_run(st_workspace *workspace, const st_paced *paced)
{
    st_targets targets = {.outputs = paced->outputs,
                          .checks = paced->checks,
                          .rows = paced->rows,
                          .without_scalars = true,
                          .codes = paced->codes,
                          .failures = paced->failures,
                          .refused = paced->refused};
    if (paced->rows == 0)
        return;
    workspace->has_row = false;
    st_alike_forget(workspace);
    if (paced->level == 0) {
        st_layout_make(workspace, paced->inputs, &targets);
    } else {
        /* Scalars of a level that has changed, or of a faster one. */
        const st_column *inputs = paced->inputs;
        const unsigned level = paced->level;
        const st_instruction *list = workspace->scalar_list;
        size_t first = 0;
        for (size_t i = 0; i < workspace->scalar_input_count; i++) {
            const uint32_t input = workspace->scalar_inputs[i];
            if (workspace->levels[input] >= level)
                workspace->scalars[input] = inputs[input].values[0];
        }
        ST_BISECT(first, workspace->scalar_count, workspace->levels[list[middle].target] < level);
        st_scalars_run(workspace->program, list + first, workspace->scalars);
    }
    if (paced->level == 0 && workspace->product != NULL)
        st_product_make(workspace->product, workspace, &targets);
    if (paced->refused != NULL)
        memset(paced->refused, 0, paced->rows * sizeof *paced->refused);
    const bool whole = paced->refused == NULL && st_product_is_ready(workspace->product) &&
                       (paced->product == NULL || paced->product->picked == NULL ||
                        st_product_is_pickable(workspace->product, paced->product));
    run_rows(workspace, &targets, whole ? paced->product : NULL);
    if (paced->refused != NULL) {
        /* The same of calls that are the same in all rows. */
        const st_program *program = workspace->program;
        uint32_t number = 0;
        for (size_t i = 0; i < workspace->scalar_call_count && number == 0; i++) {
            const st_instruction *instruction = &program->instructions[workspace->scalar_calls[i]];
            if (isfinite(workspace->scalars[instruction->target]))
                continue;
            const st_program_call *call = &program->calls[instruction->a];
            bool refuses = true;
            for (size_t k = 0; refuses && k < call->provider->argument_count; k++)
                refuses = isfinite(workspace->scalars[call->arguments[k]]);
            number = refuses ? number_of(program, call->provider) : 0;
        }
        for (size_t row = 0; row < targets.rows && number != 0; row++)
            targets.refused[row] = targets.refused[row] == 0 ? number : targets.refused[row];
    }
}

bool st_paced_scalar_check(const st_workspace *workspace, size_t check, double *value)
{
    uint32_t slot = workspace->program->checks[check].slot;
    *value = st_output(workspace->scalars[slot]);
    return !workspace->varies[slot];
}
