/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running one row again after some of its inputs changed: only the instructions that depend on
 * them, listed once for each input. Lists of several inputs run one after the other: what depends
 * on two of them is right after the later list, which has it, too.
 */
#include "program/alike.h"
#include "program/program.h"
#include "program/scalar.h"
#include "program/workspace.h"

#include <stdlib.h>
#include <string.h>

enum { WORD_BITS = 64 };

static size_t words_for(size_t bits)
{
    return bits / WORD_BITS + 1;
}

/* The place of the lowest bit that is set; there is one. */
static size_t lowest(uint64_t bits)
{
    return (size_t)__builtin_ctzll(bits);
}

static void join(uint64_t *target, const uint64_t *source, size_t words)
{
    for (size_t i = 0; i < words; i++)
        target[i] |= source[i];
}

/* The inputs on which each slot depends, a bit each; NULL when out of memory. */
static uint64_t *find_inputs(const st_program *program, size_t words)
{
    uint64_t *inputs = calloc((program->slot_count + 1) * words, sizeof *inputs);
    for (size_t i = 0; inputs != NULL && i < program->sheet->input_count; i++)
        inputs[i * words + i / WORD_BITS] |= UINT64_C(1) << i % WORD_BITS;
    for (size_t i = 0; inputs != NULL && i < program->instruction_count; i++) {
        const st_instruction *each = &program->instructions[i];
        uint64_t *target = &inputs[each->target * words];
        if (each->op == ST_OP_CALL) {
            const st_program_call *call = &program->calls[each->a];
            for (size_t k = 0; k < call->provider->argument_count; k++)
                join(target, &inputs[call->arguments[k] * words], words);
            continue;
        }
        join(target, &inputs[each->a * words], words);
        if (each->op >= ST_OP_ADD)
            join(target, &inputs[each->b * words], words);
        if (each->op == ST_OP_SELECT)
            join(target, &inputs[each->c * words], words);
    }
    return inputs;
}

/* Bit c of row r becomes bit r of row c: the off-diagonal halves of ever smaller squares change
 * places. */
static void transpose(uint64_t rows[WORD_BITS])
{
    uint64_t mask = UINT64_MAX >> WORD_BITS / 2;
    for (size_t half = WORD_BITS / 2; half != 0; half /= 2, mask ^= mask << half)
        for (size_t r = 0; r < WORD_BITS; r = ((r | half) + 1) & ~half) {
            const uint64_t swap = ((rows[r] >> half) ^ rows[r | half]) & mask;
            rows[r] ^= swap << half;
            rows[r | half] ^= swap;
        }
}

/* Finds for every input the instructions in the order of single rows that depend on it, a bit each;
 * false when out of memory. */
static bool find_reaches(const st_program *program, st_workspace *workspace)
{
    if (workspace->reaches != NULL)
        return true;
    const size_t words = words_for(program->sheet->input_count);
    const size_t row = words_for(program->instruction_count);
    uint64_t *inputs = find_inputs(program, words);
    uint64_t *reaches =
        inputs != NULL ? calloc(program->sheet->input_count * row + 1, sizeof *reaches) : NULL;
    /* Square by square of instructions and inputs. */
    for (size_t first = 0; reaches != NULL && first < program->instruction_count;
         first += WORD_BITS)
        for (size_t word = 0; word < words; word++) {
            uint64_t square[WORD_BITS] = {0};
            for (size_t i = 0; i < WORD_BITS && first + i < program->instruction_count; i++)
                square[i] = inputs[program->grouped[first + i].target * words + word];
            transpose(square);
            for (size_t i = 0; i < WORD_BITS; i++)
                if (word * WORD_BITS + i < program->sheet->input_count)
                    reaches[(word * WORD_BITS + i) * row + first / WORD_BITS] = square[i];
        }
    free(inputs);
    workspace->reaches = reaches;
    return reaches != NULL;
}

/* Lists the instructions that depend on an input, in the order of single rows, with one of
 * ST_OP_CONSTANT behind them; false when out of memory. */
static bool list_dependents(const st_program *program, st_workspace *workspace, size_t input)
{
    if (workspace->dependents[input] != NULL)
        return true;
    st_instruction *list = calloc(program->instruction_count + 1, sizeof *list);
    if (list == NULL || !find_reaches(program, workspace)) {
        free(list);
        return false;
    }
    const size_t row = words_for(program->instruction_count);
    const uint64_t *reached = &workspace->reaches[input * row];
    size_t count = 0;
    for (size_t word = 0; word < row; word++)
        for (uint64_t left = reached[word]; left != 0; left &= left - 1)
            list[count++] = program->grouped[word * WORD_BITS + lowest(left)];
    list[count].op = ST_OP_CONSTANT;
    st_instruction *kept = realloc(list, (count + 1) * sizeof *list);
    if (kept != NULL)
        list = kept;
    workspace->dependents[input] = list;
    workspace->dependent_counts[input] = count;
    return true;
}

static bool has_lists(const st_program *program, st_workspace *workspace)
{
    size_t count = program->sheet->input_count + 1;
    if (workspace->dependent_counts == NULL)
        workspace->dependent_counts = calloc(count, sizeof *workspace->dependent_counts);
    if (workspace->dependents == NULL && workspace->dependent_counts != NULL)
        workspace->dependents = calloc(count, sizeof *workspace->dependents);
    return workspace->dependents != NULL;
}

/* False where the whole program has to run. */
static bool run_dependents(const st_program *program, st_workspace *workspace, const double *inputs)
{
    enum { MOST = 16 };
    double *scalars = workspace->scalars;
    size_t changed[MOST];
    size_t changed_count = 0;
    size_t steps = 0;
    for (size_t i = 0; i < program->sheet->input_count; i++) {
        if (memcmp(&scalars[i], &inputs[i], sizeof *scalars) == 0)
            continue;
        if (changed_count == MOST || !list_dependents(program, workspace, i))
            return false;
        steps += workspace->dependent_counts[i];
        changed[changed_count++] = i;
    }
    if (steps >= program->instruction_count)
        return false;
    for (size_t i = 0; i < changed_count; i++)
        scalars[changed[i]] = inputs[changed[i]];
    for (size_t i = 0; i < changed_count; i++)
        st_scalars_run(program, workspace->dependents[changed[i]], scalars);
    return true;
}

st_status st_program_run_again(const st_program *program, st_workspace *workspace,
                               const double *inputs, double *outputs, double *checks)
{
    if (workspace->has_row && has_lists(program, workspace) &&
        run_dependents(program, workspace, inputs)) {
        st_scalars_give(program, workspace->scalars, outputs, checks);
        return ST_OK;
    }
    st_alike_forget(workspace); /* lists of dependents need every value */
    st_status status = st_program_run_one(program, workspace, inputs, outputs, checks);
    workspace->has_row = status == ST_OK;
    return status;
}
