/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running one row again after some of its inputs changed: only the instructions that depend on
 * them, listed once for each input. Lists of several inputs run one after the other: what depends
 * on two of them is right after the later list, which has it, too.
 *
 * After some rows the lists are made anew without what the switches of the row settle or leave out
 * (alike.h), which is most of a sheet. A switch that changes then makes the whole row run, and is
 * none from there on: a job that is changed back and forth gets lists that hold for it.
 */
#include "program/alike.h"
#include "program/program.h"
#include "program/scalar.h"
#include "program/workspace.h"

#include <stdlib.h>
#include <string.h>

enum {
    WORD_BITS = 64,
    ROWS_BEFORE_SHORT = 16 /* the layout takes as long as a few rows */
};

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
    if (workspace->rerun->reaches != NULL)
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
    workspace->rerun->reaches = reaches;
    return reaches != NULL;
}

static bool has_rerun(const st_program *program, st_workspace *workspace)
{
    const size_t inputs = program->sheet->input_count + 1;
    if (workspace->rerun != NULL)
        return true;
    st_rerun *made = calloc(1, sizeof *made);
    if (made == NULL)
        return false;
    made->dependents = calloc(inputs, sizeof *made->dependents);
    made->counts = calloc(inputs, sizeof *made->counts);
    made->rest = calloc(program->instruction_count + 1, sizeof *made->rest);
    made->has_changed = calloc(inputs, sizeof *made->has_changed);
    made->is_switch = calloc(inputs, sizeof *made->is_switch);
    if (made->dependents != NULL && made->counts != NULL && made->rest != NULL &&
        made->has_changed != NULL && made->is_switch != NULL)
        workspace->rerun = made;
    else
        st_rerun_destroy(made, 0);
    return workspace->rerun != NULL;
}

/* Lists the instructions that depend on an input, in the order of single rows, with one of
 * ST_OP_CONSTANT behind them; false when out of memory. */
static bool list_dependents(const st_program *program, st_workspace *workspace, size_t input)
{
    st_rerun *rerun = workspace->rerun;
    if (rerun->dependents[input] != NULL)
        return true;
    st_instruction *list = calloc(program->instruction_count + 1, sizeof *list);
    if (list == NULL || !find_reaches(program, workspace)) {
        free(list);
        return false;
    }
    const size_t row = words_for(program->instruction_count);
    const uint64_t *reached = &rerun->reaches[input * row];
    const st_instruction *instructions = rerun->is_short ? rerun->rest : program->grouped;
    size_t count = 0;
    for (size_t word = 0; word < row; word++) {
        for (uint64_t left = reached[word]; left != 0; left &= left - 1) {
            const st_instruction *each = &instructions[word * WORD_BITS + lowest(left)];
            if (each->op != ST_OP_CONSTANT)
                list[count++] = *each;
        }
    }
    list[count].op = ST_OP_CONSTANT;
    st_instruction *kept = realloc(list, (count + 1) * sizeof *list);
    if (kept != NULL)
        list = kept;
    rerun->dependents[input] = list;
    rerun->counts[input] = count;
    return true;
}

/* Verification looks at the values of all providers that have a formula behind them. */
static bool has_fallbacks(const st_program *program)
{
    for (size_t i = 0; i < program->call_count; i++)
        if (program->calls[i].runs && program->calls[i].provider->fallback)
            return true;
    return false;
}

/* From here on lists have only what the switches leave. */
static void shorten(const st_program *program, st_workspace *workspace, const double *inputs)
{
    st_rerun *rerun = workspace->rerun;
    const size_t count = program->sheet->input_count;
    for (size_t i = 0; i < count; i++) {
        const double zero = 0;
        rerun->is_switch[i] =
            !rerun->has_changed[i] && (program->sheet->inputs[i].type.kind != ST_TYPE_NUMBER ||
                                       memcmp(&inputs[i], &zero, sizeof zero) == 0);
    }
    if (has_fallbacks(program) || !st_alike_rest(workspace, rerun->is_switch, inputs, rerun->rest))
        return;
    workspace->has_row = true; /* the layout was of this very row */
    st_rerun_drop(rerun, count);
    rerun->is_short = true;
}

/* A row that runs whole: what short lists leave out may be needed now. */
static void lengthen(const st_program *program, st_rerun *rerun)
{
    if (rerun->is_short)
        st_rerun_drop(rerun, program->sheet->input_count);
    rerun->is_short = false;
    rerun->rows = 0;
}

/* False where the whole program has to run. */
static bool run_dependents(const st_program *program, st_workspace *workspace, const double *inputs)
{
    enum { MOST = 16 };
    st_rerun *rerun = workspace->rerun;
    double *scalars = workspace->scalars;
    size_t changed[MOST];
    size_t changed_count = 0;
    size_t steps = 0;
    bool is_listed = true;
    const size_t count = program->sheet->input_count;
    for (size_t i = 0; i < count; i++) {
        enum { AT_ONCE = 16 };
        if (i % AT_ONCE == 0)
            while (i + AT_ONCE <= count &&
                   memcmp(&scalars[i], &inputs[i], AT_ONCE * sizeof *scalars) == 0)
                i += AT_ONCE;
        if (i == count || memcmp(&scalars[i], &inputs[i], sizeof *scalars) == 0)
            continue;
        rerun->has_changed[i] = true;
        is_listed = is_listed && changed_count < MOST &&
                    !(rerun->is_short && rerun->is_switch[i]) &&
                    list_dependents(program, workspace, i);
        if (!is_listed)
            continue;
        steps += rerun->counts[i];
        changed[changed_count++] = i;
    }
    if (!is_listed || steps >= program->instruction_count)
        return false;
    for (size_t i = 0; i < changed_count; i++)
        scalars[changed[i]] = inputs[changed[i]];
    for (size_t i = 0; i < changed_count; i++)
        st_scalars_run(program, rerun->dependents[changed[i]], scalars);
    return true;
}

st_status st_program_run_again(const st_program *program, st_workspace *workspace,
                               const double *inputs, double *outputs, double *checks)
{
    if (workspace->has_row && has_rerun(program, workspace) &&
        run_dependents(program, workspace, inputs)) {
        st_scalars_give(program, workspace->scalars, outputs, checks);
        if (++workspace->rerun->rows == ROWS_BEFORE_SHORT)
            shorten(program, workspace, inputs);
        return ST_OK;
    }
    if (workspace->rerun != NULL)
        lengthen(program, workspace->rerun);
    st_alike_forget(workspace); /* lists of dependents need every value */
    st_status status = st_program_run_one(program, workspace, inputs, outputs, checks);
    workspace->has_row = status == ST_OK;
    return status;
}
