/* SPDX-License-Identifier: Apache-2.0 */
/* See alike.h. */
#include "program/alike.h"

#include <stdlib.h>
#include <string.h>

static uint64_t bits_of(double value)
{
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static bool same_bits(double a, double b)
{
    return bits_of(a) == bits_of(b);
}

void st_alike_destroy(st_alike *alike)
{
    if (alike == NULL)
        return;
    free(alike->switches);
    free(alike->is_switch);
    free(alike->masks);
    free(alike->list);
    free(alike);
}

void st_alike_forget(st_workspace *workspace)
{
    if (workspace->alike != NULL)
        workspace->alike->rows = 0;
    if (workspace->alike != NULL)
        workspace->alike->is_listed = false;
}

/* NULL when out of memory: rows then run whole. */
static st_alike *make(const st_program *program)
{
    const size_t inputs = program->sheet->input_count + 1;
    st_alike *made = calloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    made->switches = calloc(inputs, sizeof *made->switches);
    made->is_switch = calloc(inputs, sizeof *made->is_switch);
    made->masks = calloc(inputs, sizeof *made->masks);
    made->list = calloc(program->instruction_count + 1, sizeof *made->list);
    if (made->switches != NULL && made->is_switch != NULL && made->masks != NULL &&
        made->list != NULL)
        return made;
    st_alike_destroy(made);
    return NULL;
}

/* Whether the switches are those of the rows before; notes them where they are not. */
static bool has_same_switches(const st_program *program, st_alike *alike, const double *inputs)
{
    const size_t count = program->sheet->input_count;
    uint64_t differs = alike->rows == 0;
    for (size_t i = 0; i < count; i++) /* almost always none: without jumps */
        differs |= (bits_of(alike->switches[i]) ^ bits_of(inputs[i])) & alike->masks[i];
    const bool same = differs == 0;
    for (size_t i = 0; i < count && !same; i++) {
        alike->switches[i] = inputs[i];
        alike->is_switch[i] =
            program->sheet->inputs[i].type.kind != ST_TYPE_NUMBER || same_bits(inputs[i], 0);
        alike->masks[i] = alike->is_switch[i] ? UINT64_MAX : 0;
    }
    return same;
}

/* Lays out a run over the row in which all but the switches varies; false when out of memory. */
static bool lay_out(st_workspace *workspace, const bool *is_switch, const double *inputs)
{
    const st_program *program = workspace->program;
    const size_t shown = program->output_count + program->check_count + 1;
    double nowhere = 0; /* nothing is written */
    st_column *columns = calloc(program->sheet->input_count + 1, sizeof *columns);
    double **targets = calloc(shown, sizeof *targets);
    for (size_t i = 0; columns != NULL && i < program->sheet->input_count; i++)
        columns[i] = (st_column){.values = &inputs[i], .stride = is_switch[i] ? 0 : 1};
    for (size_t i = 0; targets != NULL && i < shown; i++)
        targets[i] = &nowhere;
    const bool is_laid_out = columns != NULL && targets != NULL;
    if (is_laid_out) {
        const st_targets all = {
            .outputs = targets, .checks = targets + program->output_count, .rows = 1};
        st_layout_make(workspace, columns, &all);
    }
    free(targets);
    free(columns);
    return is_laid_out;
}

/* The slot whose value an instruction repeats, to the bit; its own: none. */
static uint32_t repeated(const st_workspace *workspace, const st_instruction *instruction)
{
    const uint32_t a = instruction->a;
    const uint32_t b = instruction->b;
    const bool *varies = workspace->varies;
    const double *scalars = workspace->scalars;
    const uint32_t *branch = st_layout_branch(workspace, instruction);
    if (branch != NULL)
        return *branch;
    if (instruction->op == ST_OP_MULTIPLY && !varies[a] && scalars[a] == 1)
        return b;
    const bool repeats_left =
        !varies[b] && ((instruction->op == ST_OP_MULTIPLY && scalars[b] == 1) ||
                       (instruction->op == ST_OP_SUBTRACT && same_bits(scalars[b], 0)));
    return repeats_left ? a : instruction->target;
}

bool st_alike_rest(st_workspace *workspace, const bool *is_switch, const double *inputs,
                   st_instruction *rest)
{
    const st_program *program = workspace->program;
    if (!lay_out(workspace, is_switch, inputs))
        return false;
    /* No block runs in this layout. */
    uint32_t *sources = workspace->places;
    uint32_t *is_argument = workspace->last_use;
    for (uint32_t slot = 0; slot < program->slot_count; slot++) {
        sources[slot] = slot;
        is_argument[slot] = 0;
    }
    for (size_t i = 0; i < program->call_count; i++)
        for (size_t k = 0; k < program->calls[i].provider->argument_count; k++)
            is_argument[program->calls[i].arguments[k]] = 1;
    for (size_t i = 0; i < program->instruction_count; i++) {
        const st_instruction *each = &program->grouped[i];
        const bool is_read_here = /* by providers, and where outputs are copied */
            is_argument[each->target] != 0 || workspace->first_output[each->target] != 0;
        rest[i] = *each;
        if (each->op != ST_OP_CALL) {
            rest[i].a = sources[each->a];
            rest[i].b = sources[each->b];
            rest[i].c = sources[each->c];
            if (!is_read_here)
                sources[each->target] = repeated(workspace, &rest[i]);
        }
        if (sources[each->target] != each->target || !workspace->needed[each->target] ||
            !workspace->varies[each->target])
            rest[i].op = ST_OP_CONSTANT;
    }
    return true;
}

static bool list_rest(st_workspace *workspace, st_alike *alike, const double *inputs)
{
    size_t count = 0;
    if (!st_alike_rest(workspace, alike->is_switch, inputs, alike->list))
        return false;
    for (size_t i = 0; i < workspace->program->instruction_count; i++)
        if (alike->list[i].op != ST_OP_CONSTANT)
            alike->list[count++] = alike->list[i];
    alike->list[count].op = ST_OP_CONSTANT;
    return true;
}

const st_instruction *st_alike_list(st_workspace *workspace, const double *inputs)
{
    const st_program *program = workspace->program;
    if (workspace->alike == NULL && workspace->has_alike)
        workspace->alike = make(program);
    workspace->has_alike = true; /* a single row needs no memory for this */
    st_alike *alike = workspace->alike;
    if (alike == NULL)
        return program->grouped;
    if (!has_same_switches(program, alike, inputs)) {
        st_alike_forget(workspace);
        alike->rows = 1;
        return program->grouped;
    }
    if (!alike->is_listed && ++alike->rows > ST_ALIKE_ROWS) {
        const bool listed = list_rest(workspace, alike, inputs);
        alike->rows = 1;
        alike->is_listed = listed;
    }
    return alike->is_listed ? alike->list : program->grouped;
}
